"""`ways session subagents`: the switch of one session."""

from __future__ import annotations

import click

from ways.cli import report
from ways.cli.session_pick import pick
from ways.core import roots
from ways.core.errors import USAGE, WRITE_FAILED, UserError
from ways.core.ids import is_session_id
from ways.disclosure import switches


@click.command("subagents")
@click.argument("state", type=click.Choice(["on", "off", "show"]), default="show")
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(state: str, session: str | None, as_json: bool) -> None:
    """Switch ways for subagents on or off in SESSION, or show the switch.

    The setting ways.subagents does the same for every session.
    """
    where = roots.resolve()
    # A session may be switched before any hook has run in it: a whole id need not be known.
    name = session if session is not None and len(session) >= 32 else pick(where, session)
    if not is_session_id(name):
        raise UserError(f"not a session id: {name!r}", "ways session list", USAGE)
    if state != "show":
        try:
            switches.set_session_subagents(where.state, name, state == "on")
        except OSError as error:
            raise UserError(f"{where.state}: {error.strerror or error}", "", WRITE_FAILED) from error
    off = switches.session_subagents_off(where.state, name)
    if as_json:
        report.echo_json({"session": name, "subagents": not off})
    else:
        click.echo(f"Ways for subagents are {'off' if off else 'on'} in session {name}.")
