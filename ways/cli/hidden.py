"""Hidden commands with fixed names, for scripts and for looking into the engine (spec: command line)."""

from __future__ import annotations

import os

import click

from ways.cli import place
from ways.core.errors import USAGE, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable


@click.command(name="show", hidden=True)
@click.argument("way_id", metavar="ID")
@click.option("--path", "only_path", is_flag=True, help="Print the file's path instead.")
def show(way_id: str, only_path: bool) -> None:
    """Print the guidance of the way ID as it stands in its file. Records nothing, runs no macro."""
    from ways.catalogue.body import body

    way = place.here(resolve()).way(way_id)
    if only_path:
        click.echo(printable(way.path))
        return
    try:
        click.echo(printable(body(way.path)), nl=False)
    except OSError as error:
        raise UserError(f"{way.path}: {error.strerror or error}", "ways status", WRONG) from error


@click.command(name="scan", hidden=True)
@click.argument("event")
def scan(event: str) -> None:
    """Print what the hook EVENT would answer to the payload on standard input.

    It runs with a session state of its own that is thrown away, so nothing is recorded.
    """
    from ways.cli.sandbox import sandbox
    from ways.lanes.dispatch import LANES
    from ways.lanes.dispatch import main as hook

    if event not in LANES:
        raise UserError(
            f"there is no hook {event!r}; there are {', '.join(LANES)}", "ways scan prompt", USAGE
        )
    with sandbox(resolve().projection) as box:
        hook([event], 0, box.environment)


@click.command(name="project-slug", hidden=True)
@click.argument("folder", required=False)
def project_slug(folder: str | None) -> None:
    """Print the name under which Claude Code keeps the history of FOLDER (default: this folder)."""
    from ways.projects.slug import slug_of

    try:
        click.echo(slug_of(os.path.abspath(folder or os.getcwd())))
    except FileNotFoundError as error:
        raise UserError("the current folder has been deleted", "cd PROJECT", USAGE) from error
