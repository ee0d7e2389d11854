"""`ways session ways`: what is in a session's context now, by its state directory."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ways.cli import report
from ways.cli.session_pick import cadences, events_of, pick, place_of
from ways.core import roots as core_roots
from ways.readers import forecast, state

if TYPE_CHECKING:
    from ways.core.roots import Roots
    from ways.readers.forecast import Cadences
    from ways.readers.state import AgentState, ShownWay


@dataclass(frozen=True)
class Row:
    """One way in an agent's context; `left` as in readers.timeline.Active."""

    way: str
    trigger: str
    fires: int
    shown_at: int
    epoch: int | None
    distance: int | None
    left: int | None
    forecast: str


@dataclass(frozen=True)
class View:
    """One agent: tokens in use, the window, its epoch, its ways (shown last first) and checks."""

    agent: str
    team: str | None
    model: str
    position: int
    window: int
    window_source: str
    epoch: int
    core_shown: bool
    ways: tuple[Row, ...]
    checks: dict[str, int]


@click.command("ways")
@click.argument("session", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(session: str | None, as_json: bool) -> None:
    """Show which ways SESSION has in its context, and when each may show again.

    Distance is how many prompts, commands and edits ago it was shown.
    """
    roots = core_roots.resolve()
    name = pick(roots, session)
    found = views(roots, name)
    if as_json:
        report.echo_json({"session": name, "agents": [asdict(view) for view in found]})
        return
    if not any(view.ways or view.epoch for view in found):
        click.echo(f"Session {name} has no state. `ways session fires {name}` shows what the log has of it.")
        return
    parts: list[Any] = []
    for view in found:
        parts.extend(_parts(view))
    report.show(f"Session {name}", *parts)


def views(roots: Roots, name: str) -> list[View]:
    """Every agent of the session that has state."""
    from ways.session.state import open_session

    opened = open_session(roots, name)
    if opened is None or not os.path.isdir(opened.directory):
        return []
    events = events_of(roots, name)
    project, target = place_of(roots, events)
    known = cadences(roots, project, target)
    triggers = {
        (event.get("agent_id") or "main", event.get("way", "")): event.get("trigger", "")
        for event in events
        if event["event"] in {"way_fired", "way_redisclosed", "way_pulled"}
    }
    return [_view(agent, name, target, known, triggers) for agent in state.agents(opened)]


def _view(
    agent: AgentState, session: str, target: str, known: Cadences, triggers: dict[tuple[str, str], str]
) -> View:
    from ways.session import transcript, window

    path = transcript.locate("", session, agent.agent, target)
    seen = transcript.read(path, sidechain=agent.agent != state.MAIN, prose=False)
    size = window.resolve(seen.model, os.environ)
    # Without a transcript the newest marker is the least that the position can be.
    position = seen.position or max((way.shown_at for way in agent.ways), default=0)
    rows = [
        _row(way, agent, position, size.tokens, known, triggers.get((agent.agent, way.way), ""))
        for way in agent.ways
    ]
    return View(
        agent.agent,
        agent.team,
        seen.model,
        position,
        size.tokens,
        size.source,
        agent.epoch,
        agent.core_shown,
        tuple(rows),
        agent.checks,
    )


def _row(way: ShownWay, agent: AgentState, position: int, window: int, known: Cadences, trigger: str) -> Row:
    cadence = known.of(way.way)
    left = forecast.tokens_left(cadence, position, way.shown_at, window)
    distance = None if way.epoch is None else max(0, agent.epoch - way.epoch)
    words = forecast.in_words(cadence, left)
    return Row(way.way, trigger, way.fires, way.shown_at, way.epoch, distance, left, words)


def _parts(view: View) -> list[Any]:
    team = f", team {view.team}" if view.team else ""
    head = (
        f"{view.agent}{team}: epoch {view.epoch}, {view.position:,} of {view.window:,} tokens"
        f" ({view.window_source}){', core shown' if view.core_shown else ''}"
    )
    made = report.table("Way", "Trigger", ">Shown", ">At", ">Distance", "May show again", title=head)
    for row in view.ways:
        distance = "?" if row.distance is None else str(row.distance)
        report.row(made, row.way, row.trigger, row.fires, f"{row.shown_at:,}", distance, row.forecast)
    parts: list[Any] = ["", made]
    if view.checks:
        counts = ", ".join(f"{name} {count}×" for name, count in view.checks.items())
        parts.append(f"Checks: {counts}")
    return parts
