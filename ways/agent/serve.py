"""The agent's life: alone, listening, idle, replaced, ended (spec: judge and agent, Agent)."""

from __future__ import annotations

import os
import sys

from ways.agent import single
from ways.core import debuglog, local_socket, locking, roots
from ways.gate import agent_start, paths

IDLE_SECONDS = 1800.0
ENDED, LOST = 0, 1


def run(idle_seconds: float = IDLE_SECONDS) -> int:
    """Serve until idle, replaced, asked to stop or signalled. 0 as well when an agent is running already;
    1 when the socket cannot be had."""
    clear_environment()
    resolved = roots.resolve()
    socket = paths.socket_path(resolved)
    os.umask(0o077)
    _forbid_core_files()
    if sys.platform == "win32":
        from ways.agent import pipe_server

        return pipe_server.run(resolved, idle_seconds)
    try:
        lock = single.acquire(resolved, socket)
        if lock is None:
            return ENDED
        listener = local_socket.listen(socket)
    except (locking.LockTimeout, local_socket.Untrusted, OSError) as error:
        debuglog.note(resolved.state, "agent", f"cannot serve {socket}: {error}")
        return LOST
    agent_start.clear_attempt(resolved)
    os.chdir("/")
    # asyncio and httpx come after the socket listens, so that a hook waits for a bind and no more.
    import asyncio

    from ways.agent import life

    asyncio.run(life.serve(resolved, socket, listener, lock, idle_seconds))
    return ENDED


def clear_environment() -> None:
    """Keep what the agent needs; whatever else the starter had, keys above all, is gone."""
    kept = agent_start.agent_environment(os.environ)
    for name in list(os.environ):
        if name not in kept:
            del os.environ[name]


def _forbid_core_files() -> None:
    """A crash must not write the key to the disk."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
