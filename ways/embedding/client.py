"""A hook's side of the resident embedder (spec: matching, "Embedding").

Asking is bounded in time and never raises: a value with its reason comes back, and the caller
embeds in its own process. When no resident runs, one is started in the background for the next
hook; waiting for it would take longer than embedding here (docs/decisions/engine.md).
"""

from __future__ import annotations

import sys
import time

from ways import __version__
from ways.core.record import record
from ways.embedding import paths, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Sequence

    from ways.core.roots import Roots
    from ways.embedding.sidecar import Sidecar

    # Per text the alias scores and the body scores of all ids.
    Scores = list[tuple[memoryview[float], memoryview[float]]]

CONNECT_SECONDS = 0.05
ANSWER_SECONDS = 0.75
IDLE_MINUTES = 10.0


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
    """Per text (alias scores, body scores) in the order of `corpus.ids`, NaN for none, or NoAnswer: `ask`,
    and what it says of this corpus."""
    if not texts:
        return []
    answer = ask(
        roots,
        model,
        corpus.path,
        texts,
        seconds=seconds,
        start=start,
        idle_minutes=idle_minutes,
        version=version,
    )
    if isinstance(answer, NoAnswer):
        return answer
    return scores_of(answer, corpus.corpus_hash, len(corpus.ids), len(texts))


def ask(
    roots: Roots,
    model: str,
    corpus_path: str,
    texts: Sequence[str],
    *,
    seconds: float = ANSWER_SECONDS,
    start: bool = True,
    idle_minutes: float = IDLE_MINUTES,
    version: str = __version__,
) -> wire.Answer | NoAnswer:
    """What the resident answers of these texts, or NoAnswer.

    Takes at most 50 ms to connect and `seconds` for the answer. When no resident runs and `start` is
    true, one is started in the background. A resident of an earlier program version is asked to leave
    once it has answered.
    """
    if not wire.texts_fit(texts):
        return NoAnswer("the texts are more than a request holds")
    connection = _connect(roots, model)
    if isinstance(connection, NoAnswer):
        if start and not connection.running:
            from ways.embedding.starting import start_in_background

            started = start_in_background(roots, model, idle_minutes)
            return NoAnswer(f"{connection.reason}; {started}")
        return connection
    request = wire.Request(wire.SCORE, version, int(seconds * 1000), corpus_path, tuple(texts))
    try:
        answer = _exchange(connection, request, seconds)
        if isinstance(answer, NoAnswer):
            return answer
        if answer.status == wire.OTHER_VERSION or wire.is_older(answer.program, version):
            _ask_to_stop(connection, version)
    finally:
        connection.close()
    return answer


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


def scores_of(answer: wire.Answer, corpus_hash: str, ids: int, texts: int) -> Scores | NoAnswer:
    """The scores in an answer about a corpus with this hash and so many ids, or why there are none."""
    if answer.status == wire.OTHER_VERSION:
        return NoAnswer("the resident is of another version", running=True)
    if answer.status == wire.LATE:
        return NoAnswer("deadline", running=True)
    if answer.status != wire.OK:
        return NoAnswer(answer.message or "the resident has no scores", running=True)
    if answer.corpus_hash.hex() != corpus_hash:
        return NoAnswer("the corpus has just changed", running=True)
    split = wire.split_reduced(answer.scores, ids, texts)
    return NoAnswer("the answer has the wrong size", running=True) if split is None else split
