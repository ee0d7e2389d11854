"""`ways author template`: a way to start from, printed or put in place."""

from __future__ import annotations

import os

import click

from installer.project import TEMPLATE
from ways.cli import place
from ways.core import files
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.core.ids import is_way_id
from ways.core.roots import resolve
from ways.embedding.projects import ways_folder


@click.command("template")
@click.argument("way_id", metavar="[ID]", required=False)
@click.option("--user", is_flag=True, help="Among your own ways, for all projects, not in this project.")
def command(way_id: str | None, user: bool) -> None:
    """Print a template, or with ID (domain/name) write it where that way belongs.

    A file that is there is never overwritten.
    """
    if way_id is None:
        if user:
            raise UserError("--user needs an ID", "ways author template --help", USAGE)
        click.echo(TEMPLATE.decode(), nl=False)
        return
    click.echo(write(target(way_id, user)))


def target(way_id: str, user: bool) -> str:
    """The path at which the way of that id stands. Raises UserError when there is no such place."""
    if not is_way_id(way_id) or "/" not in way_id or any(part[0] in "._" for part in way_id.split("/")):
        raise UserError(f"{way_id!r} is no id of a way; it is domain/name", "ways author tree", USAGE)
    here = place.here(resolve())
    if user:
        root = here.roots.user_ways
    elif here.project:
        root = ways_folder(here.project)
    else:
        raise UserError(
            "there is no project here with ways of its own", f"ways author template {way_id} --user", USAGE
        )
    return os.path.join(root, *way_id.split("/"), f"{way_id.rsplit('/', 1)[-1]}.md")


def write(path: str) -> str:
    """Create the file and answer its path. Raises UserError when something is there, or on a failed write."""
    if os.path.lexists(path):
        raise UserError(f"{path} is there already", "", REFUSED)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        files.write_atomic(path, TEMPLATE)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", WRITE_FAILED) from error
    return path
