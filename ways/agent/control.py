"""What `ways agent status|load|unload` do with the running agent."""

from __future__ import annotations

import time
from typing import Any

from ways.agent import key_commands, spending
from ways.core.errors import WRONG, UserError
from ways.core.roots import Roots
from ways.gate import fallback, link, paths
from ways.gate.fallback import Fallback

ASK_SECONDS = 3.0
UNLOAD_SECONDS = 15.0
RECENT_SECONDS = 86_400.0


def running(roots: Roots) -> dict[str, Any] | None:
    """The running agent's own status, None when none runs. Raises UserError when it cannot be asked."""
    try:
        reply = link.ask(roots, {"op": "status"}, ASK_SECONDS, start=False)
    except Fallback as failure:
        if fallback.word_of(failure.reason) == fallback.AGENT_MISSING:
            return None
        raise UserError(
            f"the agent cannot be asked: {failure.reason}", "ways agent unload", WRONG
        ) from failure
    report = reply.get("status")
    return report if isinstance(report, dict) else {}


def load(roots: Roots) -> int:
    """Start an agent unless one runs; its process id. Raises UserError."""
    try:
        return int(link.ask(roots, {"op": "ping"}, ASK_SECONDS).get("pid", 0))
    except Fallback as failure:
        raise UserError(f"no agent was started: {failure.reason}", "ways doctor", WRONG) from failure


def unload(roots: Roots) -> bool:
    """Ask the running agent to leave and wait until its socket is closed. False when none runs.

    Raises UserError when it stays.
    """
    try:
        link.ask(roots, {"op": "stop"}, ASK_SECONDS, start=False)
    except Fallback as failure:
        word = fallback.word_of(failure.reason)
        if word == fallback.AGENT_MISSING:
            return False
        # A frozen agent was ended by the attempt to talk to it; one that hung up is leaving.
        if word not in {fallback.DEADLINE, fallback.AGENT_CLOSED}:
            raise UserError(f"the agent cannot be asked: {failure.reason}", "", WRONG) from failure
    deadline = time.monotonic() + UNLOAD_SECONDS
    while time.monotonic() < deadline:
        try:
            link.open_connection(roots, paths.socket_path(roots), start=False).close()
        except Fallback:
            return True
        time.sleep(0.05)
    raise UserError("the agent was asked to leave and still listens", "ways agent status", WRONG)


def overview(roots: Roots) -> dict[str, Any]:
    """Everything that `ways agent status` shows, as plain data. Raises UserError."""
    gate = key_commands.load_settings(roots)
    profile = gate.profile
    keys = {row.provider: row for row in key_commands.status(roots, gate)}
    own = keys.get(profile.provider)
    return {
        "mode": gate.mode,
        "engine": gate.engine,
        "provider": profile.provider,
        "model": profile.model,
        "base_url": profile.base_url,
        "threshold": profile.threshold,
        "turns": profile.turns,
        "key": None
        if own is None
        else {"masked": own.masked, "state": own.state, "problem": own.problem, "checked_at": own.checked_at},
        "agent": running(roots),
        "last_day": spending.recent_gate_events(roots.events, RECENT_SECONDS),
    }
