"""`ways session reset`: forget what a session was shown."""

from __future__ import annotations

import os

import click

from ways.cli import report
from ways.cli.session_pick import pick
from ways.core import clock, roots
from ways.core.errors import USAGE, WRITE_FAILED, UserError
from ways.session.state import open_session


@click.command("reset")
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(session: str | None, as_json: bool) -> None:
    """Forget what SESSION was shown, so that every way can show again."""
    where = roots.resolve()
    name = pick(where, session)
    opened = open_session(where, name)
    if opened is None or not os.path.isdir(opened.directory):
        raise UserError(f"session {name!r} has no state in {where.sessions}", "ways session list", USAGE)
    try:
        # The time makes the record unlike any other: two resets by hand are two resets.
        opened.reset(f"command {clock.now():.3f}", clock.now())
    except OSError as error:
        raise UserError(f"{opened.directory}: {error.strerror or error}", "", WRITE_FAILED) from error
    if as_json:
        report.echo_json({"session": name, "reset": True})
    else:
        click.echo(f"Reset {name}.")
