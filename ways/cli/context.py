"""`ways context`: tokens used and left in a session, and where the size of the window is from."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from ways.cli import report
from ways.cli.session_pick import events_of, pick, place_of
from ways.core import roots as core_roots

if TYPE_CHECKING:
    from ways.core.roots import Roots

SOURCES = {
    "env_override": "an environment variable says so",
    "model_table": "the model's entry in the table",
    "default": "the default, as the model is not in the table",
}


@dataclass(frozen=True)
class Use:
    """One agent's context in tokens. `transcript` is "" when there is none; then nothing is known."""

    agent: str
    model: str
    used: int
    left: int
    window: int
    window_source: str
    transcript: str

    @property
    def percent(self) -> float:
        """How much of the window is used."""
        return 100 * self.used / self.window


@click.command("context")
@click.argument("session", required=False)
@click.option("--agents", "subagents", is_flag=True, help="Subagents too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(session: str | None, subagents: bool, as_json: bool) -> None:
    """Show how many tokens of its context window SESSION uses, and how many are left.

    Used is what the newest answer in the transcript says: input, cache creation and cache reads. Without
    SESSION the newest session is meant.
    """
    roots = core_roots.resolve()
    name = pick(roots, session)
    found = uses(roots, name, subagents)
    if as_json:
        agents = [{**asdict(use), "percent": round(use.percent, 2)} for use in found]
        report.echo_json({"session": name, "agents": agents})
        return
    if not found[0].transcript:
        click.echo(f"Session {name}: its transcript is not there, so nothing is known of its context.")
    made = report.table("Agent", "Model", ">Used", ">Left", ">Window", ">Percent")
    for use in found:
        if use.transcript:
            numbers = (f"{use.used:,}", f"{use.left:,}", f"{use.window:,}", f"{use.percent:.1f} %")
            report.row(made, use.agent, use.model or "unknown", *numbers)
    if made.row_count:
        source = SOURCES.get(found[0].window_source, found[0].window_source)
        report.show(f"Session {name}", made, f"Window: {source} ({found[0].window_source}).")


def uses(roots: Roots, session: str, subagents: bool) -> list[Use]:
    """The main agent, then with `subagents` those that the log or the session directory knows."""
    events = events_of(roots, session)
    _project, target = place_of(roots, events)
    agents = ["main"]
    if subagents:
        agents += sorted({event.get("agent_id") or "main" for event in events} - {"main"})
        agents += sorted(set(_in_directory(roots, session)) - set(agents))
    return [_use(session, agent, target) for agent in agents]


def _in_directory(roots: Roots, session: str) -> list[str]:
    from ways.core.ids import is_session_id

    try:
        return [
            name
            for name in os.listdir(os.path.join(roots.sessions, session, "agents"))
            if is_session_id(name)
        ]
    except OSError:
        return []


def _use(session: str, agent: str, target: str) -> Use:
    from ways.session import transcript, window

    path = transcript.locate("", session, agent, target)
    seen = transcript.read(path, sidechain=agent != "main", prose=False)
    size = window.resolve(seen.model, os.environ)
    left = max(0, size.tokens - seen.position)
    return Use(agent, seen.model, seen.position, left, size.tokens, size.source, path)
