"""`ways author lint`: what is wrong with ways, for people and for CI."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from ways.authoring import cosines, findings, fixes
from ways.authoring.lint import NEAR_COSINE, Knowledge, lint
from ways.catalogue.way import CORE, Catalogue, Check, Way, WayRoots
from ways.cli import place
from ways.core.errors import DONE, USAGE, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.authoring.goldens import Trial
    from ways.cli.place import Place


@click.command("lint")
@click.argument("names", metavar="[ID|FILE]...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Shipped ways too.")
@click.option("--root", type=click.Path(), default=None, help="The ways in this folder instead.")
@click.option("--fix", is_flag=True, help="First repair what is certain: misspelt fields of your own ways.")
@click.option(
    "--golden", is_flag=True, help="Golden prompts too: they are there and show their way. Loads the model."
)
@click.option("--check", is_flag=True, help="Let warnings fail too; for CI.")
@click.option("--format", "form", type=click.Choice(findings.FORMATS), default="text", help="Output.")
def command(
    names: tuple[str, ...],
    everything: bool,
    root: str | None,
    fix: bool,
    golden: bool,
    check: bool,
    form: str,
) -> int:
    """Say what is wrong with the project's ways and your own, or with those named.

    Exits with 1 on an error, with --check on a warning too. Notes never fail. --format sarif and github are
    for code scanning and for annotations in GitHub Actions.
    """
    from ways import __version__

    here = place.here(resolve())
    if fix:
        catalogue = _catalogue(here, root)
        for item in _items(catalogue, _chosen(catalogue, names, everything)):
            _fix(item)
        here = place.here(resolve())
    catalogue = _catalogue(here, root)
    only = _chosen(catalogue, names, everything)
    found = lint(catalogue, _knowledge(here, catalogue, golden), only)
    if not names:
        found = findings.ordered([*found, *_broken(catalogue, everything, found)])
    text = findings.written(found, form, os.path.realpath(here.project or os.curdir), __version__)
    click.echo(text if form in ("json", "sarif") else printable(text), nl=False)
    if form == "text" and not only and not found:
        click.echo("There are no ways of yours here; --all looks at the shipped ones.")
    return WRONG if findings.is_wrong(found, strict=check) else DONE


def _catalogue(here: Place, root: str | None) -> Catalogue:
    """The ways that hold here, or those of one folder."""
    if root is None:
        return here.catalogue
    folder = os.path.abspath(os.path.expanduser(root))
    if not os.path.isdir(folder):
        raise UserError(f"{printable(folder)} is not a folder", "ways author lint --root FOLDER", USAGE)
    from ways.catalogue.cache import load

    return load(WayRoots(user=folder), here.roots.cache)


def _chosen(catalogue: Catalogue, names: tuple[str, ...], everything: bool) -> set[str]:
    """The ids to look at. Raises UserError for a name that is no way here."""
    if not names:
        return {way.id for way in catalogue.ways if everything or way.root_kind != CORE}
    paths = {os.path.realpath(way.path): way.id for way in catalogue.ways}
    paths |= {os.path.realpath(check.path): check.id for check in catalogue.checks}
    chosen = set()
    for name in names:
        way_id = name if catalogue.find(name) is not None else paths.get(os.path.realpath(name))
        if way_id is None:
            broken = next(
                (one for one in catalogue.broken if os.path.realpath(one.path) == os.path.realpath(name)),
                None,
            )
            if broken is not None:
                where = f"{broken.path}:{broken.line}:{broken.column}"
                raise UserError(f"{printable(where)}: {printable(broken.message)}", "", WRONG)
            raise UserError(f"there is no way {printable(name)!r} here", "ways author tree", USAGE)
        chosen.add(way_id)
    return chosen


def _items(catalogue: Catalogue, ids: Collection[str]) -> list[Way | Check]:
    items: list[Way | Check] = [way for way in catalogue.ways if way.id in ids]
    return items + [check for check in catalogue.checks if check.id in ids]


def _fix(item: Way | Check) -> None:
    planned = fixes.plan(item)
    for one in fixes.apply(planned) if planned else ():
        click.echo(printable(f"Repaired {one.path}:{one.line}: {one.wrong} is now {one.right}"), err=True)


def _broken(catalogue: Catalogue, everything: bool, known: list[findings.Finding]) -> list[findings.Finding]:
    """The files that no lane can use; of the shipped ones only with --all."""
    core = os.path.join("hooks", "ways", "")
    seen = {one.path for one in known if one.rule == "broken"}
    return [
        findings.Finding("broken", findings.ERROR, one.path, one.line, one.column, "", one.message)
        for one in catalogue.broken
        if one.path not in seen and (everything or core not in one.path)
    ]


def _knowledge(here: Place, catalogue: Catalogue, golden: bool) -> Knowledge:
    ids = [way.corpus_id for way in catalogue.ways if way.embeddable]
    return Knowledge(
        presets=tuple(here.settings.refire_presets),
        cosines=cosines.above(here.roots.cache, ids, NEAR_COSINE, cosines.products(here.roots)),
        golden=golden,
        trial=_trial(here, catalogue) if golden else None,
    )


def _trial(here: Place, catalogue: Catalogue) -> Trial:
    """Scans with the user's corpus and settings; each engine is opened once."""
    from functools import cache

    from ways.authoring.goldens import Trial
    from ways.authoring.scan import Scanner, candidates_on
    from ways.embedding.engine import open_engine
    from ways.matching.types import PROMPT, TASK

    scope = here.settings.default_scope
    opener, localized = cache(open_engine), here.settings.language != "en"
    prompts, tasks = (
        Scanner(
            catalogue,
            candidates_on(catalogue, surface, scope),
            here.roots,
            here.tuning,
            localized,
            opener,
        )
        for surface in (PROMPT, TASK)
    )
    return Trial(prompts, tasks, tuple(scope))
