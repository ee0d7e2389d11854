"""`ways author reflow`: re-wrap the paragraphs of your own ways."""

from __future__ import annotations

import os
import stat

import click

from ways.authoring import reflow
from ways.catalogue.body import MAX_BYTES
from ways.catalogue.way import CORE, Check, Way
from ways.cli import place
from ways.core import files
from ways.core.errors import DONE, REFUSED, WRITE_FAILED, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable


@click.command("reflow")
@click.argument("way_ids", metavar="[ID]...", nargs=-1)
@click.option(
    "--width",
    type=click.IntRange(reflow.MIN_WIDTH, reflow.MAX_WIDTH),
    default=reflow.DEFAULT_WIDTH,
    show_default=True,
    help="Characters in a line.",
)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 when something would change.")
def command(way_ids: tuple[str, ...], width: int, check: bool) -> int:
    """Re-wrap the paragraphs of your ways and of the project's, without changing what they say.

    Lists, tables, code, headings and quotes stay as they are, and shipped ways are left alone.
    """
    here = place.here(resolve())
    chosen = [here.way(name) for name in way_ids]
    shipped = [way.id for way in chosen if way.root_kind == CORE]
    if shipped:
        raise UserError(f"{', '.join(shipped)} is shipped; copy it to your own ways first", "", REFUSED)
    ids = {way.id for way in chosen or here.catalogue.ways}
    items: list[Way | Check] = [way for way in here.catalogue.ways if way.id in ids]
    items += [found for found in here.catalogue.checks if found.id in ids]
    changed = [item.path for item in items if item.root_kind != CORE and _reflow(item.path, width, check)]
    for path in changed:
        click.echo(printable(f"{'Would re-wrap' if check else 'Re-wrapped'} {path}"))
    return WRONG if check and changed else DONE


def _reflow(path: str, width: int, check: bool) -> bool:
    """True when the file changes. One that does not fit is named and left alone."""
    try:
        data = files.read_bytes(path, MAX_BYTES + 1)
        new = reflow.reflowed(data, width)
        if new == data or check:
            return new != data
        if files.read_bytes(path, MAX_BYTES + 1) != data:
            raise reflow.Unfit("was changed by another program just now")
        files.write_atomic(os.path.realpath(path), new, stat.S_IMODE(os.stat(path).st_mode), durable=True)
    except reflow.Unfit as error:
        click.echo(printable(f"ways: {path} {error}; it is left alone"), err=True)
        return False
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", WRITE_FAILED) from error
    return True
