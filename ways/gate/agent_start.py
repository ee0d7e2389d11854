"""Starting the agent from a hook: on demand, one for all racing hooks, never for longer than 1.5 s.

The started process is detached and gets a cleared environment: nothing that an `ANTHROPIC_API_KEY` or
an `SSLKEYLOGFILE` in the session's environment could reach (spec: judge and agent, Agent).
"""

from __future__ import annotations

import os
import sys
import time

from ways.core import clock, debuglog, environment, files, locking
from ways.gate import fallback, paths
from ways.gate.fallback import Fallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    from ways.core.roots import Roots

    C = TypeVar("C")

START_SECONDS = 1.5
BACKOFF_SECONDS = 300.0
_POLL_SECONDS = 0.02

_KEPT = frozenset(
    {
        # who and where
        *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
        # our roots
        *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("WAYS_APP_ROOT", "WAYS_CONFIG_ROOT", "WAYS_STATE_ROOT", "WAYS_CACHE_ROOT", "WAYS_SESSIONS_ROOT"),
        *("WAYS_AGENT_SOCK", "WAYS_DEBUG"),
        # the way to the provider
        *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
        # what a Windows process cannot do without
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "USERNAME"),
        *("TEMP", "TMP", "PATHEXT", "COMSPEC"),
    }
)


def agent_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that the agent may have. Proxy names count in either case."""
    return {name: value for name, value in environ.items() if name.upper() in _KEPT}


def program() -> tuple[list[str], str]:
    """Command line and folder to start an agent with. Raises Fallback(agent_missing) when our own
    program has gone from the disk (an update in progress)."""
    executable = sys.executable or ""
    if not executable or not os.path.isfile(executable):
        raise Fallback(fallback.AGENT_MISSING, f"no program at {executable or 'sys.executable'}")
    if getattr(sys, "frozen", False):
        return [executable, "agent", "serve"], os.path.dirname(executable)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not os.path.isfile(os.path.join(package, "ways", "agent", "__main__.py")):
        raise Fallback(fallback.AGENT_MISSING, f"no agent in {package}")
    return [executable, "-m", "ways.agent"], package


def spawn(roots: Roots, socket: str) -> Callable[[], int | None]:
    """Start an agent that serves `socket` with these roots. Raises Fallback."""
    from ways.core import local_socket

    command, folder = program()
    environ = agent_environment(environment.child_environment())
    environ.update(
        WAYS_CONFIG_ROOT=roots.config,
        WAYS_STATE_ROOT=roots.state,
        WAYS_CACHE_ROOT=roots.cache,
        WAYS_APP_ROOT=roots.app,
    )
    environ[paths.SOCKET_VARIABLE] = socket
    try:
        return local_socket.spawn_detached(command, environ, folder)
    except OSError as error:
        raise Fallback(fallback.AGENT_START, error.strerror or str(error)) from error


def backing_off(roots: Roots) -> bool:
    """True within 5 minutes of a start after which no agent listened."""
    try:
        age = clock.now() - os.stat(paths.start_record(roots)).st_mtime
    except OSError:
        return False
    # A record from the future (the clock was set back) must not hold for longer than one period.
    return -BACKOFF_SECONDS < age < BACKOFF_SECONDS


def record_attempt(roots: Roots) -> None:
    """Begin a back-off period; the agent ends it when it listens (`clear_attempt`)."""
    try:
        files.make_private(paths.agent_folder(roots))
        files.write_atomic(paths.start_record(roots), b"")
    except OSError as error:
        debuglog.note(roots.state, "gate", f"a failed start cannot be recorded: {error}")


def clear_attempt(roots: Roots) -> None:
    """End a back-off period."""
    try:
        files.remove_if_there(paths.start_record(roots))
    except OSError as error:
        debuglog.note(roots.state, "agent", f"the record of a failed start cannot be removed: {error}")


def start_and_connect(roots: Roots, socket: str, connect: Callable[[], C | None]) -> C:
    """The connection to an agent that this hook, or one racing with it, starts within 1.5 s.

    `connect` gives a connection, or None when nobody listens; it raises Fallback for anything else.
    Raises Fallback (agent_missing, agent_start, agent_start_backoff).
    """
    if backing_off(roots):
        raise Fallback(fallback.AGENT_START_BACKOFF)
    program()
    deadline = time.monotonic() + START_SECONDS
    lock = locking.Lock(paths.start_lock(roots), 0)
    ours: Callable[[], int | None] | None = None
    held = False
    try:
        while True:
            connection = connect()
            if connection is not None:
                return connection
            if ours is None and not held:
                held = _take(lock, roots)
                # Someone may have started one between our look and our lock: look once more.
                connection = connect() if held else None
                if connection is not None:
                    return connection
                if held:
                    if backing_off(roots):
                        raise Fallback(fallback.AGENT_START_BACKOFF)
                    ours = spawn(roots, socket)
            code = ours() if ours is not None else None
            if code:
                raise Fallback(fallback.AGENT_START, f"the agent ended with exit code {code}")
            if time.monotonic() >= deadline:
                raise Fallback(fallback.AGENT_START, f"no agent listened within {START_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
    except Fallback as failure:
        if held and fallback.word_of(failure.reason) == fallback.AGENT_START:
            record_attempt(roots)
        raise
    finally:
        lock.release()


def replace_in_background(roots: Roots, socket: str) -> None:
    """Start an agent that takes the place of what cannot be trusted, without waiting for it.

    This prompt goes unjudged; the next one meets the new agent. At most once in 5 minutes.
    """
    if backing_off(roots):
        return
    lock = locking.Lock(paths.start_lock(roots), 0)
    try:
        if _take(lock, roots) and not backing_off(roots):
            record_attempt(roots)
            spawn(roots, socket)
    except Fallback as failure:
        debuglog.note(roots.state, "gate", failure.reason)
    finally:
        lock.release()


def _take(lock: locking.Lock, roots: Roots) -> bool:
    """True when we may start: the lock is ours, or the file system knows no locks (the agent's own
    rename and lock then decide between two)."""
    try:
        lock.acquire()
    except locking.LockTimeout as error:
        if error.why.startswith("held"):
            return False
        debuglog.note(roots.state, "gate", f"starting without a lock: {error}")
    return True
