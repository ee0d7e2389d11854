"""What a hook and the resident embedder say to each other (frames: ways/core/local_socket.py).

    request   version, operation, flags, deadline in ms, sizes; program version, corpus path, texts
    answer    version, status, sizes; program version, message, corpus hash, scores

Little-endian. The first three bytes (version, operation or status) mean the same in every version, so
a resident of another version can always be asked to stop, and can always say that it is one.
"""

from __future__ import annotations

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VERSION = 1
SCORE, STATUS, STOP = 1, 2, 3
OK, ERROR, OTHER_VERSION, LATE = 0, 1, 2, 3
MAX_REQUEST = 1 << 20
MAX_ANSWER = 1 << 26
MAX_TEXTS = 64
MAX_DEADLINE_MS = 60_000

# Bytes of the numbers in a request before its texts (a hook does without `struct`): version, operation,
# flags, deadline, lengths of the program's version and of the path, number of texts.
_REQUEST = (2, 1, 1, 4, 2, 2, 2)
# Of an answer: version, status, flags, lengths of the program's version and of the message; then the hash.
_ANSWER = (2, 1, 1, 2, 2)
_HASH = 32
_START = (2, 1)
_SIZE = 4
FLOAT = 4


class WireError(Exception):
    """Bytes that are no request or answer of this version."""


@record
class Request:
    """One request. `deadline_ms` counts from its arrival. `corpus` is the path of a sidecar."""

    operation: int
    program: str
    deadline_ms: int = 0
    corpus: str = ""
    texts: tuple[str, ...] = ()


@record
class Answer:
    """One answer. `scores` are those of `cosine.reduce_rows`, in the order of the corpus's ids."""

    status: int
    program: str
    message: str = ""
    corpus_hash: bytes = bytes(32)
    scores: bytes | memoryview = b""


def operation(data: bytes) -> tuple[int, int]:
    """(version, operation) of a request of any version. Raises WireError."""
    version, number = _numbers(data, _START)
    return version, number


def _numbers(data: bytes, sizes: tuple[int, ...]) -> list[int]:
    """The numbers at the beginning of `data`. Raises WireError when it is cut short."""
    if len(data) < sum(sizes):
        raise WireError("cut short")
    found = []
    at = 0
    for size in sizes:
        found.append(int.from_bytes(data[at : at + size], "little"))
        at += size
    return found


def _packed(numbers: Sequence[int], sizes: Sequence[int]) -> bytes:
    return b"".join(number.to_bytes(size, "little") for number, size in zip(numbers, sizes, strict=True))


def encode_request(request: Request) -> bytes:
    """Raises WireError for more than a request may hold."""
    program, corpus = request.program.encode("utf-8"), request.corpus.encode("utf-8", "surrogateescape")
    texts = [text.encode("utf-8", "replace") for text in request.texts]
    size = sum(map(len, texts))
    if len(texts) > MAX_TEXTS or size > MAX_REQUEST - 16384 or len(corpus) > 8192 or len(program) > 256:
        raise WireError(f"{len(texts)} texts of {size} bytes are more than a request holds")
    deadline = max(0, min(request.deadline_ms, MAX_DEADLINE_MS))
    numbers = (VERSION, request.operation, 0, deadline, len(program), len(corpus), len(texts))
    sizes = _packed([len(text) for text in texts], [_SIZE] * len(texts))
    return b"".join((_packed(numbers, _REQUEST), program, corpus, sizes, *texts))


def parse_request(data: bytes) -> Request:
    """Raises WireError for anything that encode_request would not have written."""
    try:
        version, number, _, deadline, program_size, corpus_size, count = _numbers(data, _REQUEST)
        if version != VERSION or number not in {SCORE, STATUS, STOP} or count > MAX_TEXTS:
            raise WireError("not a request of this version")
        start = sum(_REQUEST)
        at = start + program_size + corpus_size
        program = data[start : start + program_size].decode("utf-8")
        corpus = data[start + program_size : at].decode("utf-8", "surrogateescape")
        sizes = _numbers(data[at:], (_SIZE,) * count)
        at += _SIZE * count
        if at + sum(sizes) != len(data):
            raise WireError("its sizes do not add up")
        texts = []
        for size in sizes:
            texts.append(data[at : at + size].decode("utf-8"))
            at += size
    except UnicodeDecodeError as error:
        raise WireError(str(error)) from error
    return Request(number, program, min(deadline, MAX_DEADLINE_MS), corpus, tuple(texts))


def encode_answer(answer: Answer) -> bytes:
    """The bytes of an answer; a long message is cut."""
    program, message = answer.program.encode("utf-8")[:256], answer.message.encode("utf-8", "replace")[:4096]
    head = _packed((VERSION, answer.status, 0, len(program), len(message)), _ANSWER)
    return b"".join((head, answer.corpus_hash, program, message, answer.scores))


def parse_answer(data: bytes) -> Answer:
    """Raises WireError. An answer of another version has its status alone (OTHER_VERSION)."""
    version, status = operation(data)
    if version != VERSION:
        return Answer(OTHER_VERSION, "")
    try:
        _, _, _, program_size, message_size = _numbers(data, _ANSWER)
        start = sum(_ANSWER) + _HASH
        middle = start + program_size
        end = middle + message_size
        if end > len(data):
            raise WireError("cut short")
        program = data[start:middle].decode("utf-8")
        message = data[middle:end].decode("utf-8", "replace")
    except UnicodeDecodeError as error:
        raise WireError(str(error)) from error
    return Answer(status, program, message, data[start - _HASH : start], memoryview(data)[end:])


def split_reduced(
    answer: bytes | memoryview, ids: int, texts: int
) -> list[tuple[memoryview[float], memoryview[float]]] | None:
    """Per text (alias scores, body scores) of what `cosine.reduce_rows` made; None when the length is
    wrong."""
    if len(answer) != texts * ids * 2 * FLOAT:
        return None
    values = memoryview(answer).cast("f")
    starts = [number * ids * 2 for number in range(texts)]
    return [(values[start : start + ids], values[start + ids : start + 2 * ids]) for start in starts]


def is_older(version: str, than: str) -> bool:
    """True when program version `version` is an earlier one; unequal ones without order count as earlier."""

    def key(text: str) -> list[int]:
        return [int(part) for part in text.split("+", maxsplit=1)[0].split(".")]

    try:
        return key(version) < key(than)
    except ValueError:
        return version != than


def texts_fit(texts: Sequence[str]) -> bool:
    """True when the texts may go into one request."""
    return len(texts) <= MAX_TEXTS and sum(map(len, texts)) * 4 <= MAX_REQUEST - 16384
