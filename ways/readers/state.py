"""What a session's directory holds, as plain records: read only, nothing is made or changed."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ways.core.ids import is_session_id, is_way_id
from ways.session.state import MAIN, Agent, Session

__all__ = ["MAIN", "AgentState", "ShownWay", "agents"]

_MARKER = ".marker."


@dataclass(frozen=True)
class ShownWay:
    """A way that was shown to an agent: token position and epoch of the last time (epoch None: not on
    record), how often since the last reset."""

    way: str
    shown_at: int
    epoch: int | None
    fires: int


@dataclass(frozen=True)
class AgentState:
    """One agent: `team` is None for an agent that is no teammate; `checks` maps a check to its fires."""

    agent: str
    epoch: int
    team: str | None
    core_shown: bool
    ways: tuple[ShownWay, ...]
    checks: dict[str, int]


def agents(session: Session) -> list[AgentState]:
    """The main agent, then the subagents by id. A damaged file counts as absent."""
    try:
        names = sorted(name for name in os.listdir(session.path("agents")) if is_session_id(name))
    except OSError:
        names = []
    markers = _markers(session.path("ways"))
    found = []
    for name in [MAIN, *names, *sorted(set(markers) - {MAIN, *names})]:
        agent = session.agent(name)
        if agent is not None:
            found.append(_agent(agent, markers.get(name, [])))
    return found


def _agent(agent: Agent, ways: list[str]) -> AgentState:
    engagement = agent.engagement()
    shown = []
    for way in ways:
        known = engagement.get(way)
        marker = agent.marker(way)
        if marker is not None:
            epoch, fires = (known["epoch"], known["fires"]) if known else (None, 1)
            shown.append(ShownWay(way, marker, epoch, fires))
    shown.sort(key=lambda way: (-way.shown_at, way.way))
    checks = {
        name: agent.check_fires(name)
        for name in _below(os.path.join(agent.directory, "check-fires"), ".fires")
    }
    return AgentState(agent.agent_id, agent.epoch(), agent.team(), agent.core_shown(), tuple(shown), checks)


def _markers(folder: str) -> dict[str, list[str]]:
    """Way ids by agent."""
    found: dict[str, list[str]] = {}
    for where, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        way = os.path.relpath(where, folder).replace(os.sep, "/")
        for name in names:
            if name.startswith(_MARKER) and is_way_id(way):
                found.setdefault(name[len(_MARKER) :], []).append(way)
    return found


def _below(folder: str, name: str) -> list[str]:
    """The ids whose folder holds a file of that name."""
    found = []
    for where, _folders, names in os.walk(folder, followlinks=False):
        way = os.path.relpath(where, folder).replace(os.sep, "/")
        if name in names and is_way_id(way):
            found.append(way)
    return sorted(found)
