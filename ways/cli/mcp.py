"""`ways mcp`: serve guidance to an agent that asks for it, over stdio (Model Context Protocol)."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.core import active
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve

if TYPE_CHECKING:
    from ways.cli.place import Place
    from ways.core.roots import Roots
    from ways.matching.types import Scores
    from ways.mcp.lookup import Library


@click.command(name="mcp")
@click.option("--register", is_flag=True, help="Print the command that registers it, and stop.")
def command(register: bool) -> None:
    """Serve guidance to an agent that asks for it.

    Speaks the Model Context Protocol on standard input and output; Claude Code starts it. Tools: ways_search,
    ways_read, ways_neighbors.
    """
    if register:
        click.echo(registration())
        return
    if sys.stdin.isatty():
        raise UserError("`ways mcp` is started by an MCP client, not by hand", "ways mcp --register", USAGE)
    from ways import __version__
    from ways.mcp import server

    roots = resolve()
    here = place.here(roots)
    server.serve(
        library(here), __version__, lambda way_id, client: _pulled(roots, here.project, way_id, client)
    )


def registration() -> str:
    """The command that registers the server with Claude Code, for every project of the user."""
    found = shutil.which("ways")
    name = "ways" if found else active.program(resolve().app)
    quoted = f'"{name}"' if os.name == "nt" and " " in name else shlex.quote(name)
    return f"claude mcp add --scope user ways -- {quoted} mcp"


def library(here: Place) -> Library:
    """What the tools answer from, in this place. Settings and ways are read anew for each request."""
    from ways.cli.place import Place
    from ways.mcp.lookup import Library

    def fresh() -> Place:
        return Place(here.roots, here.project)

    return Library(
        catalogue=lambda: fresh().catalogue,
        switches=lambda: fresh().settings.uses_way,
        meaning=lambda text: _meaning(fresh(), text),
        near=lambda corpus_id, others: _near(here, corpus_id, others),
    )


def _meaning(here: Place, text: str) -> Scores:
    from ways.embedding.scoring import semantic_scores

    settings = here.settings
    found = semantic_scores(
        text,
        (),
        here.roots,
        localized=settings.language != "en",
        resident=settings.engine_resident,
        idle_minutes=settings.engine_idle_minutes,
    )
    return found.scores


def _near(here: Place, corpus_id: str, others: Sequence[str]) -> list[tuple[str, float]]:
    """Nearest first; nothing without a corpus, which a lookup does not need."""
    from ways.embedding import sidecar
    from ways.embedding.neighbours import alias_vectors, nearest

    corpus = sidecar.load(sidecar.path_in(here.roots.cache, "en"))
    if isinstance(corpus, sidecar.Problem):
        return []
    vectors = alias_vectors(corpus, [corpus_id, *others])
    own = vectors.pop(corpus_id, None)
    return [] if own is None else nearest(own, vectors)


def _pulled(roots: Roots, project: str, way_id: str, client: str) -> None:
    from ways.mcp import pulls
    from ways.telemetry import log

    if pulls.is_left_to_the_hook(client, roots.projection):
        return
    fields = {"way": way_id, "domain": way_id.split("/", 1)[0], "project": project or None}
    log.append(roots.events, [log.event("way_pulled", **fields, client=client or None)])
