"""Where the agent is met and what is kept about it (spec: judge and agent, Agent).

One agent a user: the socket's place does not depend on a session or a project. The agent's own lock
stands beside its socket; records stand in `{state}/agent/`.
"""

from __future__ import annotations

import os
import sys

from ways.core import roots as core_roots
from ways.core.local_socket import MAX_SOCKET_PATH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ways.core.roots import Roots

SOCKET_VARIABLE = "WAYS_AGENT_SOCK"
SOCKET_NAME = "agent-ways.sock"


def agent_folder(roots: Roots) -> str:
    """Records about the agent: failed starts, key checks, and the start lock."""
    return os.path.join(roots.state, "agent")


def keys_folder(roots: Roots) -> str:
    """The keys, one file a provider."""
    return os.path.join(roots.config, "keys")


def key_file(roots: Roots, provider: str) -> str:
    """One provider's key."""
    return os.path.join(keys_folder(roots), provider)


def start_lock(roots: Roots) -> str:
    """Held by the hook that starts an agent."""
    return os.path.join(agent_folder(roots), "start.lock")


def start_record(roots: Roots) -> str:
    """Present since a start was tried and until an agent listened; its age is the back-off."""
    return os.path.join(agent_folder(roots), "start-failed")


def serve_lock(socket: str) -> str:
    """Held by an agent as long as it listens; holds its process id as text."""
    return socket + ".lock"


def socket_path(roots: Roots, environ: Mapping[str, str] | None = None) -> str:
    """The agent's socket: `$WAYS_AGENT_SOCK`, else `$XDG_RUNTIME_DIR/agent-ways.sock`, else in a private
    folder under the state root (under /tmp where that path is too long for a socket).

    A runtime folder that does not exist or is not the user's alone (left over from `su`) is passed
    over; a folder named by `$WAYS_AGENT_SOCK` is not: it is refused when it is met.
    """
    environ = os.environ if environ is None else environ
    explicit = environ.get(SOCKET_VARIABLE, "")
    if explicit:
        return os.path.abspath(explicit)
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime) and not core_roots.unsafe_folder(runtime):
        return os.path.join(runtime, SOCKET_NAME)
    private = os.path.join(agent_folder(roots), SOCKET_NAME)
    if len(os.fsencode(private)) <= MAX_SOCKET_PATH or sys.platform == "win32":
        return private
    return f"/tmp/.agent-ways-{os.getuid()}/{SOCKET_NAME}"
