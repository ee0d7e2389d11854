"""`ways finish-install`: what the install scripts have the new version do (hidden)."""

from __future__ import annotations

import os

import click

from ways.core import roots as core_roots
from ways.core.errors import DONE, WRITE_FAILED, UserError
from ways.core.text import printable


@click.command(name="finish-install", hidden=True)
@click.option("--check", is_flag=True, help="Only say whether every file is as it was shipped.")
@click.option("--what-next", "next_only", is_flag=True, help="Only say what to type next.")
@click.option("--method", default="install.sh", help="The script that put the version in place.")
@click.option("--base", default="", help="The release base that it came from, without credentials.")
@click.option("--no-path", is_flag=True, help="No link, no line in a start file, no entry in the registry.")
@click.option("--allow-downgrade", is_flag=True, help="Also when a newer version is the current one.")
@click.option("--made-folder", "made", multiple=True, help="A folder made above the app root.")
def command(
    check: bool,
    next_only: bool,
    method: str,
    base: str,
    no_path: bool,
    allow_downgrade: bool,
    made: tuple[str, ...],
) -> int:
    """Make the version whose program this is the current one, and `ways` callable by its name."""
    from installer import finish
    from projection.system import RealSystem

    system, roots = RealSystem(), core_roots.resolve()
    if check:
        finish.check(system)
        return DONE
    if next_only:
        for line in finish.what_next(system, roots, os.environ):
            click.echo(printable(line))
        return DONE
    choices = finish.Choices(method, base, not no_path, allow_downgrade, made)
    try:
        outcome = finish.finish(system, roots, choices, os.environ)
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror or error}", "", WRITE_FAILED) from error
    click.echo(f"ways {outcome.version} is installed in {printable(roots.app)}")
    for note in outcome.notes:
        click.echo(f"ways: {printable(note)}", err=True)
    return outcome.exit_code
