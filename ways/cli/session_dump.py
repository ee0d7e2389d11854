"""`ways session dump`: everything that is on record about a session."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ways.cli import report
from ways.cli.session_pick import events_of, pick
from ways.core import roots as core_roots
from ways.core.text import printable
from ways.disclosure import switches
from ways.readers import state
from ways.session.state import open_session

if TYPE_CHECKING:
    from ways.core.roots import Roots


@click.command("dump")
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(session: str | None, as_json: bool) -> None:
    """Print all state and all events of SESSION, for a bug report or a script.

    Events hold parts of prompts and commands: look through them before you give them away.
    """
    roots = core_roots.resolve()
    name = pick(roots, session)
    document = collect(roots, name)
    if as_json:
        report.echo_json(document)
        return
    lines = [f"session    {name}", f"directory  {document['directory'] or 'none: it ended and was pruned'}"]
    lines += [f"{key:<10} {value}" for key, value in document["reset"].items()]
    lines.append(f"subagents  {'on' if document['subagents'] else 'off'}")
    for agent in document["agents"]:
        team = f" team={agent['team']}" if agent["team"] else ""
        lines.append(f"agent      {agent['agent']} epoch={agent['epoch']} core={agent['core_shown']}{team}")
        lines += [f"  way      {_pairs(way)}" for way in agent["ways"]]
        lines += [f"  check    {check} fires={count}" for check, count in agent["checks"].items()]
    lines += [f"event      {_pairs(event)}" for event in document["events"]]
    report.show(printable("\n".join(lines)))


def collect(roots: Roots, name: str) -> dict[str, Any]:
    """The document: `agents` is empty when the session has no directory any more."""
    opened = open_session(roots, name)
    exists = opened is not None and os.path.isdir(opened.directory)
    return {
        "session": name,
        "directory": opened.directory if opened is not None and exists else "",
        "reset": opened.last_reset() if opened is not None and exists else {},
        "subagents": not switches.session_subagents_off(roots.state, name),
        "agents": [asdict(agent) for agent in state.agents(opened)] if opened is not None and exists else [],
        "events": events_of(roots, name),
    }


def _pairs(fields: dict[str, Any]) -> str:
    return " ".join(f"{name}={_quoted(value)}" for name, value in fields.items())


def _quoted(value: object) -> str:
    """The value, in quotes where it would not read as one word."""
    import json

    text = str(value)
    return text if text and not set(text) & set(' "\n\t=') else json.dumps(text, ensure_ascii=False)
