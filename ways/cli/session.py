"""`ways session`: what a session holds, and its resets and switches."""

from __future__ import annotations

import json
import os

import click

from ways.core import clock, roots
from ways.core.errors import USAGE, WRITE_FAILED, UserError
from ways.core.ids import is_session_id
from ways.disclosure import switches
from ways.session.state import open_session


@click.group(name="session")
def command() -> None:
    """What a session has been shown, and its resets."""


@command.command(name="reset")
@click.argument("session_id", required=False)
def reset(session_id: str | None) -> None:
    """Forget what SESSION_ID was shown, so that every way can show again (default: the newest session)."""
    where = roots.resolve()
    name = session_id or newest(where)
    session = open_session(where, name)
    if session is None or not os.path.isdir(session.directory):
        raise UserError(f"there is no session {name!r} in {where.sessions}", "ways session list", USAGE)
    try:
        # The time makes the record unlike any other: two resets by hand are two resets.
        session.reset(f"command {clock.now():.3f}", clock.now())
    except OSError as error:
        raise UserError(f"{session.directory}: {error.strerror or error}", "", WRITE_FAILED) from error
    click.echo(f"Reset {name}.")


@command.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List the sessions that have state, newest first."""
    rows = sessions(roots.resolve())
    if as_json:
        click.echo(
            json.dumps([{"session": name, "touched": clock.utc_iso(touched)} for name, touched in rows])
        )
        return
    for name, touched in rows:
        click.echo(f"{clock.utc_iso(touched)}  {name}")
    if not rows:
        click.echo("No session has state.")


@command.command(name="subagents")
@click.argument("state", type=click.Choice(["on", "off", "show"]), default="show")
@click.argument("session_id", required=False)
def subagents(state: str, session_id: str | None) -> None:
    """Switch ways for subagents on or off in SESSION_ID (default: the newest session)."""
    where = roots.resolve()
    name = session_id or newest(where)
    if not is_session_id(name):
        raise UserError(f"not a session id: {name!r}", "ways session list", USAGE)
    if state != "show":
        try:
            switches.set_session_subagents(where.state, name, state == "on")
        except OSError as error:
            raise UserError(f"{where.state}: {error.strerror or error}", "", WRITE_FAILED) from error
    off = switches.session_subagents_off(where.state, name)
    click.echo(f"Ways for subagents are {'off' if off else 'on'} in session {name}.")


def sessions(where: roots.Roots) -> list[tuple[str, float]]:
    """(session id, seconds of its last change) of each session directory, newest first."""
    try:
        entries = list(os.scandir(where.sessions))
    except OSError:
        return []
    rows = []
    for entry in entries:
        if is_session_id(entry.name) and entry.is_dir(follow_symlinks=False):
            rows.append((entry.name, entry.stat(follow_symlinks=False).st_mtime))
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def newest(where: roots.Roots) -> str:
    """The session that changed last. Raises UserError when there is none."""
    rows = sessions(where)
    if not rows:
        raise UserError(f"no session has state in {where.sessions}", "start Claude Code in a project", USAGE)
    return rows[0][0]
