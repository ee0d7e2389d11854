"""Which scope a running agent has (spec: disclosure, Scope)."""

from __future__ import annotations

from ways.catalogue.way import AGENT, TEAMMATE


def of_agent(team: str | None) -> str:
    """`teammate` when the agent's state holds the teammate marker, else `agent` (a plain subagent
    is `agent` on its own tool lanes)."""
    return AGENT if team is None else TEAMMATE
