"""`ways session fires`: what a session was shown and what was held back, in order of time."""

from __future__ import annotations

import click

from ways.cli import report
from ways.cli.session_pick import events_of, pick
from ways.core import roots as core_roots
from ways.readers import describe

SHOWN = frozenset({describe.FIRED, describe.AGAIN, describe.PULLED, describe.CHECK})
JUDGED = frozenset({describe.BLOCKED, describe.WOULD_BLOCK})


@click.command("fires")
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="Near misses, held and passed ways too.")
@click.option("--way", "wanted", help="Only this way, or the ways below it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON: the events as they are logged.")
def command(session: str | None, everything: bool, wanted: str | None, as_json: bool) -> None:
    """List what SESSION was shown, and what the judge blocked.

    ● shown, ↻ shown again, ◆ looked up, ✓ check, ⊘ blocked, ◌ would be blocked; with --all also · held,
    ~ near miss, ○ passed by the judge.
    """
    roots = core_roots.resolve()
    name = pick(roots, session)
    found = [
        event
        for event in events_of(roots, name)
        if _is_wanted(event, wanted) and (everything or describe.kind_of(event) in SHOWN | JUDGED)
    ]
    if as_json:
        report.echo_json({"session": name, "events": found})
        return
    if not found:
        click.echo(f"Nothing was shown in session {name}.")
        return
    made = report.table("Time", "", "Way", "Agent", "Trigger", ">Tokens", "~What")
    for event in found:
        line = describe.describe(event)
        report.row(
            made,
            event.get("ts", "")[11:19],
            line.mark,
            line.way,
            event.get("agent_id", ""),
            line.trigger.removeprefix("semantic:"),
            _tokens(event),
            line.detail,
        )
    report.show(f"Session {name}, {event_days(found)}", made)


def event_days(events: list[dict[str, str]]) -> str:
    """The day or the days (UTC) of events."""
    days = sorted({event.get("ts", "")[:10] for event in events} - {""})
    return " to ".join(dict.fromkeys((days[0], days[-1]))) if days else "no date"


def _is_wanted(event: dict[str, str], wanted: str | None) -> bool:
    if wanted is None:
        return True
    way = event.get("way", "")
    return way == wanted or way.startswith(wanted.rstrip("/*") + "/")


def _tokens(event: dict[str, str]) -> str:
    text = event.get("token_position", "")
    return f"{int(text):,}" if text.isascii() and text.isdigit() and len(text) < 16 else text[:16]
