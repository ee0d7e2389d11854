"""Which scope a running agent has, and which scopes a Task may stash (spec: disclosure, Scope)."""

from __future__ import annotations

from ways.catalogue.way import AGENT, SUBAGENT, TEAMMATE


def of_agent(team: str | None) -> str:
    """`teammate` when the agent's state holds the teammate marker, else `agent` (a plain subagent
    is `agent` on its own tool lanes)."""
    return AGENT if team is None else TEAMMATE


def of_task(team: str) -> tuple[str, ...]:
    """A Task with a team stashes ways of scope teammate and subagent, another only subagent."""
    return (TEAMMATE, SUBAGENT) if team else (SUBAGENT,)
