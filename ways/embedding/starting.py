"""Starting the resident embedder from a hook, in the background and for the next hook."""

from __future__ import annotations

import os
import sys

from ways.core import clock, files, locking
from ways.embedding import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ways.core.roots import Roots

START_AGAIN_SECONDS = 60.0
IDLE_MINUTES = 10.0
_KEPT = frozenset(
    [
        *("HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "PYTHONPATH"),
        *("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("WAYS_ENGINE_LIB", "WAYS_MODELS_DIR", "WAYS_DEBUG"),
        *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "USERPROFILE", "LOCALAPPDATA", "APPDATA", "TEMP", "TMP"),
    ]
)


def start_in_background(
    roots: Roots, model: str, idle_minutes: float = IDLE_MINUTES, on_start: Callable[[], object] | None = None
) -> str:
    """Start a resident that outlives this process, at most one a minute and never two at once.

    Returns what was done in words. `on_start` replaces the start itself (tests). Never raises.
    """
    lock = locking.Lock(paths.start_lock(roots, model), 0)
    try:
        if _just_started(roots, model):
            return "one was started a moment ago"
        lock.acquire()
    except locking.LockTimeout as error:
        return "another hook is starting one" if error.why.startswith("held") else f"not started: {error}"
    try:
        if _just_started(roots, model):
            return "one was started a moment ago"
        files.write_atomic(paths.start_record(roots, model), b"")
        (on_start or (lambda: _spawn(roots, model, idle_minutes)))()
        return "one was started"
    except OSError as error:
        return f"not started: {error.strerror or error}"
    finally:
        lock.release()


def _just_started(roots: Roots, model: str) -> bool:
    try:
        age = clock.now() - os.stat(paths.start_record(roots, model)).st_mtime
    except OSError:
        return False
    return -START_AGAIN_SECONDS < age < START_AGAIN_SECONDS  # a record from the future holds no longer either


def _spawn(roots: Roots, model: str, idle_minutes: float) -> None:
    """Start a resident that holds nothing of ours. Raises OSError."""
    command = [*program(), "way-embed", "--model", model, "--idle-minutes", f"{idle_minutes:g}"]
    environ = resident_environment(roots)
    if os.name == "nt":
        from ways.core import local_socket

        local_socket.spawn_detached(command, environ, roots.home)
    else:
        spawn_quickly(command, environ)


def spawn_quickly(command: list[str], environ: Mapping[str, str]) -> int:
    """As local_socket.spawn_detached, without `subprocess`, whose import costs more than the start.

    Every handle but the three standard ones is closed, those that we were given by accident too, and
    these are the null device (case h19). The folder stays ours until the new process leaves it.
    Returns the process id. Raises OSError.
    """
    actions: list[tuple[int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    actions += [(os.POSIX_SPAWN_CLOSE, number) for number in _inheritable()]
    try:
        return os.posix_spawn(command[0], command, environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # an older libc: the resident makes a session of its own
        return os.posix_spawn(command[0], command, environ, file_actions=actions)


def _inheritable() -> list[int]:
    """Handles beyond the standard ones that a new process would get from us."""
    found = []
    for name in os.listdir("/dev/fd"):
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except (OSError, ValueError):
            continue  # the handle of the listing itself, closed by now
    return found


def program() -> list[str]:
    """How this program is started. From a checkout the package is named by path and the current folder
    is left out of the search (-P): a hook runs in the user's project, whose files are not ours."""
    if getattr(sys, "frozen", False):
        return [sys.executable]
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    code = f"import sys; sys.path.insert(0, {package!r}); from ways.entry import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", code]


def resident_environment(roots: Roots, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the resident may know of our environment: where things are, and no keys of anyone's."""
    from ways.core.environment import child_environment

    kept = {name: value for name, value in child_environment(environ).items() if name.upper() in _KEPT}
    kept.update(
        WAYS_APP_ROOT=roots.app,
        WAYS_CONFIG_ROOT=roots.config,
        WAYS_STATE_ROOT=roots.state,
        WAYS_CACHE_ROOT=roots.cache,
        WAYS_SESSIONS_ROOT=roots.sessions,
    )
    return kept
