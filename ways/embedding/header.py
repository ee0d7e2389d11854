"""The header of a sidecar: what a corpus is, told by its first 192 bytes (layout: ways.embedding.sidecar).

Apart from the rest, and without `struct` or `zlib`, because it is all that a hook reads of a corpus to which
nothing comes near.
"""

from __future__ import annotations

import os

from ways.core.checksum import SIZE, checksum
from ways.core.record import record

MAGIC = b"WAYSVEC1"
VERSION = 2
HASH_SIZE = 16
ROW_ALIGNMENT = 64
MAX_DIMENSIONS = 8192
HEADER_SIZE = 192
SPAN_SIZE = 16
# Where things stand: after the magic four uint32 and six uint64, then two hashes of 32 bytes, the fit
# (two float64), the checksums of the tables and of the rows; at the end the header's own.
_SMALL, _LARGE, _HASHES, _FIT, _SUMS = 8, 24, 72, 136, 152
_OWN = HEADER_SIZE - SIZE


@record
class Problem:
    """Why there is no corpus: `missing` is True when it was simply never built."""

    reason: str
    missing: bool = False


@record
class Header:
    """The fields of a header. `ids`, `rows` are counts, the names that end in `_at` offsets in bytes; the
    hashes are bytes; `fit` is (a, b), None while the lane is uncalibrated."""

    dimensions: int
    ids: int
    rows: int
    ids_at: int
    ids_size: int
    spans_at: int
    hashes_at: int
    rows_at: int
    total: int
    model_hash: bytes
    corpus_hash: bytes
    fit: tuple[float, float] | None
    tables_checksum: bytes
    rows_checksum: bytes


def path_in(cache: str, lane: str) -> str:
    """Where the sidecar of a lane lies in a cache root."""
    return os.path.join(cache, f"ways-corpus-{lane}.bin")


def read(path: str) -> Header | Problem:
    """The header of the file at `path`, or why there is none. Raises nothing for any content."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return Problem("not built yet", missing=True)
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    try:
        data = os.read(descriptor, HEADER_SIZE)
        size = os.fstat(descriptor).st_size
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    finally:
        os.close(descriptor)
    return parse(memoryview(data), size)


def parse(data: memoryview, size: int) -> Header | Problem:
    """The fields of a file of `size` bytes that begins with `data`, after every check that needs no other
    byte of it."""
    if len(data) < HEADER_SIZE or bytes(data[: len(MAGIC)]) != MAGIC:
        return Problem("not a corpus file")
    version, dimensions, ids, rows = data[_SMALL:_LARGE].cast("I")
    if version != VERSION:
        return Problem(f"written in format {version}, this program reads {VERSION}")
    if checksum(data[:_OWN]) != bytes(data[_OWN:HEADER_SIZE]):
        return Problem("the header does not match its checksum")
    ids_at, ids_size, spans_at, hashes_at, rows_at, total = data[_LARGE:_HASHES].cast("Q")
    a, b = data[_FIT:_SUMS].cast("d")
    fit = (a, b) if -1e300 < a < 1e300 and -1e300 < b < 1e300 and a > 0 else None  # NaN fails every test
    if total != size:
        return Problem("cut short" if size < total else "longer than it says")
    laid_out = layout(dimensions, ids, rows, ids_size)
    if not 0 < dimensions <= MAX_DIMENSIONS or laid_out != (ids_at, spans_at, hashes_at, rows_at, total):
        return Problem("the header contradicts itself")
    return Header(
        dimensions=dimensions,
        ids=ids,
        rows=rows,
        ids_at=ids_at,
        ids_size=ids_size,
        spans_at=spans_at,
        hashes_at=hashes_at,
        rows_at=rows_at,
        total=total,
        model_hash=bytes(data[_HASHES : _HASHES + 32]),
        corpus_hash=bytes(data[_HASHES + 32 : _FIT]),
        fit=fit,
        tables_checksum=bytes(data[_SUMS : _SUMS + SIZE]),
        rows_checksum=bytes(data[_SUMS + SIZE : _SUMS + 2 * SIZE]),
    )


def encode(header: Header) -> bytes:
    """The bytes of a header."""
    small = (VERSION, header.dimensions, header.ids, header.rows)
    large = (header.ids_at, header.ids_size, header.spans_at, header.hashes_at, header.rows_at, header.total)
    fit = memoryview(bytearray(16)).cast("d")
    fit[0], fit[1] = header.fit if header.fit is not None else (float("nan"), float("nan"))
    data = b"".join(
        (
            MAGIC,
            *(number.to_bytes(4, "little") for number in small),
            *(number.to_bytes(8, "little") for number in large),
            header.model_hash,
            header.corpus_hash,
            fit.tobytes(),
            header.tables_checksum,
            header.rows_checksum,
        )
    ).ljust(_OWN, b"\0")
    return data + checksum(data)


def layout(dimensions: int, ids: int, rows: int, ids_size: int) -> tuple[int, int, int, int, int]:
    """Where ids, spans, hashes and rows begin, and the total size."""
    ids_at = HEADER_SIZE
    spans_at = _aligned(ids_at + ids_size, 8)
    hashes_at = spans_at + ids * SPAN_SIZE
    rows_at = _aligned(hashes_at + rows * HASH_SIZE, ROW_ALIGNMENT)
    return ids_at, spans_at, hashes_at, rows_at, rows_at + rows * dimensions * 4


def _aligned(offset: int, step: int) -> int:
    return -(-offset // step) * step
