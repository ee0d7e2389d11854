"""Where a corpus gets its texts: core ways, the user's, and those of every known project.

No shadowing here: a core way that one project hides is still shown in another, so every root is
embedded whole, under its own key.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from ways import __version__
from ways.catalogue import body, frontmatter
from ways.catalogue.rootkey import check_corpus_id, corpus_id, root_key
from ways.catalogue.walk import stamp, walk
from ways.catalogue.way import CORE, PROJECT, USER, Broken
from ways.core import files
from ways.embedding import calibrate, projects
from ways.embedding.corpus import Sources
from ways.embedding.rows import Texts, is_inside, locales_path, read_locales

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.catalogue.walk import WayFile
    from ways.core.roots import Roots


@dataclass(frozen=True)
class Root:
    """One folder of ways: its kind, its key in corpus ids, and for a project the project's folder."""

    kind: str
    key: str
    folder: str
    project: str = ""


def roots_of_ways(roots: Roots) -> tuple[Root, ...]:
    """The core root (the app's, where there is none the target's), the user's, and that of each known
    project."""
    core = os.path.join(roots.app, "hooks", "ways")
    if not os.path.isdir(core):
        core = os.path.join(roots.projection, "hooks", "ways")
    found = [
        Root(CORE, root_key(CORE), core),
        Root(USER, root_key(USER), roots.user_ways),
    ]
    for project in projects.known(roots):
        folder = projects.ways_folder(project.path)
        found.append(Root(PROJECT, root_key(PROJECT, project.path), folder, project.path))
    return tuple(found)


def sources_of(roots: Roots) -> Sources:
    """The sources of a whole corpus. The list of projects is looked up once, now."""
    places = roots_of_ways(roots)
    probes = calibrate.PROBES_FILE
    return Sources(lambda: signature(places, probes), lambda: list(texts(places)), probes)


def signature(places: Iterable[Root], probes: str) -> str:
    """A digest over the stat results of everything that `texts` would read, and of the probes.

    The program's version takes part, because another version may make other texts of a way.
    """
    digest = blake2b(__version__.encode(), digest_size=16)
    digest.update(repr(stamp(probes)).encode())
    for place in places:
        found = walk(place.kind, place.folder, place.project)
        digest.update(f"\0{place.key}\0{place.folder}\0".encode("utf-8", "surrogateescape"))
        locales = {path: stamp(path) for path in (locales_path(file.path) for file in found.files)}
        for path, state in sorted({**found.watch, **locales}.items()):
            digest.update(f"{path}\0{state}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def texts(places: Iterable[Root]) -> Iterable[Texts]:
    """What every embeddable way and check of the roots gives to be embedded.

    Files that cannot be read or parsed give nothing; `ways author lint` names them.
    """
    for place in places:
        for file in walk(place.kind, place.folder, place.project).files:
            way = _way_texts(place, file)
            check = _check_texts(place, file)
            yield from (found for found in (way, check) if found is not None)


def _way_texts(place: Root, file: WayFile) -> Texts | None:
    data = _contents(file.path)
    if data is None:
        return None
    way = frontmatter.parse_way(data, file.id, file.path, place.kind)
    if isinstance(way, Broken) or not way.embeddable:
        return None
    words = body.split(body.normalise(data))[1]
    locales = locales_path(file.path)
    # A link out of a project is not followed, here as everywhere.
    allowed = not place.project or is_inside(locales, place.project)
    return Texts(corpus_id(place.key, file.id), way.alias, words, read_locales(locales) if allowed else ())


def _check_texts(place: Root, file: WayFile) -> Texts | None:
    data = _contents(file.check_path) if file.check_path else None
    if data is None:
        return None
    check = frontmatter.parse_check(data, file.id, file.check_path, place.kind)
    if isinstance(check, Broken) or not check.description:
        return None
    return Texts(check_corpus_id(place.key, file.id), check.alias)


def _contents(path: str) -> bytes | None:
    """A file's bytes; None when it cannot be read or is longer than a way may be."""
    data = files.read_bytes_or_none(path, body.MAX_BYTES + 1)
    return data if data is not None and len(data) <= body.MAX_BYTES else None
