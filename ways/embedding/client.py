"""A hook's side of the resident embedder (spec: matching, "Embedding").

Asking is bounded in time and never raises: a value with its reason comes back, and the caller
embeds in its own process. When no resident runs, one is started in the background for the next
hook; waiting for it would take longer than embedding here (docs/decisions/engine.md).
"""

from __future__ import annotations

import os
import sys
import time

from ways import __version__
from ways.core import clock, files, locking
from ways.core.record import record
from ways.embedding import cosine, paths, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Callable, Mapping, Sequence

    from ways.core.roots import Roots
    from ways.embedding.sidecar import Sidecar

    Scores = list[tuple[memoryview[float], memoryview[float]]]

CONNECT_SECONDS = 0.05
ANSWER_SECONDS = 0.75
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


@record
class NoAnswer:
    """Why there is none. `running` is True when a resident was met, though it gave no scores."""

    reason: str
    running: bool = False


def score(
    roots: Roots,
    model: str,
    corpus: Sidecar,
    texts: Sequence[str],
    *,
    seconds: float = ANSWER_SECONDS,
    start: bool = True,
    idle_minutes: float = IDLE_MINUTES,
    version: str = __version__,
) -> Scores | NoAnswer:
    """Per text (alias scores, body scores) in the order of `corpus.ids`, NaN for none, or NoAnswer.

    Takes at most 50 ms to connect and `seconds` for the answer. When no resident runs and `start` is
    true, one is started in the background. A resident of an earlier program version is asked to leave
    once it has answered.
    """
    if not texts:
        return []
    if not wire.texts_fit(texts):
        return NoAnswer("the texts are more than a request holds")
    connection = _connect(roots, model)
    if isinstance(connection, NoAnswer):
        if start and not connection.running:
            started = start_in_background(roots, model, idle_minutes)
            return NoAnswer(f"{connection.reason}; {started}")
        return connection
    request = wire.Request(wire.SCORE, version, int(seconds * 1000), corpus.path, tuple(texts))
    try:
        answer = _exchange(connection, request, seconds)
        if isinstance(answer, NoAnswer):
            return answer
        if answer.status == wire.OTHER_VERSION or wire.is_older(answer.program, version):
            _ask_to_stop(connection, version)
    finally:
        connection.close()
    return _scores(answer, corpus, len(texts))


def status(roots: Roots, model: str, seconds: float = ANSWER_SECONDS) -> dict[str, str] | NoAnswer:
    """Facts about the resident: `version`, `pid`, `model`, `requests`, `up_seconds`. Starts nothing."""
    answer = _ask(roots, model, wire.STATUS, seconds)
    if isinstance(answer, NoAnswer):
        return answer
    return dict(line.split("=", 1) for line in answer.message.split("\n") if "=" in line)


def stop(roots: Roots, model: str, seconds: float = ANSWER_SECONDS) -> NoAnswer | None:
    """Ask the resident to leave. None when it said that it will."""
    answer = _ask(roots, model, wire.STOP, seconds)
    return answer if isinstance(answer, NoAnswer) else None


def _ask(roots: Roots, model: str, operation: int, seconds: float) -> wire.Answer | NoAnswer:
    connection = _connect(roots, model)
    if isinstance(connection, NoAnswer):
        return connection
    try:
        return _exchange(connection, wire.Request(operation, __version__), seconds)
    finally:
        connection.close()


def _connect(roots: Roots, model: str) -> Socket | NoAnswer:
    from ways.core import local_socket

    path = paths.socket_path(roots, model)
    try:
        if sys.platform == "win32":
            from windows import named_pipe

            pipe = named_pipe.connect(paths.pipe_folder(roots, model), CONNECT_SECONDS)
            return pipe  # type: ignore[return-value]  # it has the methods of a socket that frames need
        return local_socket.connect(path, CONNECT_SECONDS)
    except local_socket.Untrusted as error:
        return NoAnswer(f"untrusted: {error}", running=True)
    except (FileNotFoundError, ConnectionRefusedError):
        return NoAnswer("no resident runs")
    except TimeoutError:
        return NoAnswer("the resident does not accept connections", running=True)
    except OSError as error:
        return NoAnswer(f"connect: {error.strerror or error}", running=True)


def _exchange(connection: Socket, request: wire.Request, seconds: float) -> wire.Answer | NoAnswer:
    from ways.core import local_socket

    deadline = time.monotonic() + seconds
    try:
        local_socket.send_frame(connection, wire.encode_request(request), deadline)
        return wire.parse_answer(local_socket.receive_frame(connection, deadline, wire.MAX_ANSWER))
    except TimeoutError:
        return NoAnswer("deadline", running=True)
    except (local_socket.PeerClosed, local_socket.FrameError, wire.WireError) as error:
        return NoAnswer(f"the resident's answer: {error or 'closed'}", running=True)
    except OSError as error:
        return NoAnswer(f"exchange: {error.strerror or error}", running=True)


def _ask_to_stop(connection: Socket, version: str) -> None:
    """Best effort: the next hook that meets it asks again."""
    from ways.core import local_socket

    data = wire.encode_request(wire.Request(wire.STOP, version))
    try:
        local_socket.send_frame(connection, data, time.monotonic() + CONNECT_SECONDS)
    except OSError:
        return


def _scores(answer: wire.Answer, corpus: Sidecar, texts: int) -> Scores | NoAnswer:
    if answer.status == wire.OTHER_VERSION:
        return NoAnswer("the resident is of another version", running=True)
    if answer.status == wire.LATE:
        return NoAnswer("deadline", running=True)
    if answer.status != wire.OK:
        return NoAnswer(answer.message or "the resident has no scores", running=True)
    if answer.corpus_hash.hex() != corpus.corpus_hash:
        return NoAnswer("the corpus has just changed", running=True)
    split = cosine.split_reduced(answer.scores, len(corpus.ids), texts)
    return NoAnswer("the answer has the wrong size", running=True) if split is None else split


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
