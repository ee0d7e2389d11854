"""The binary sidecar of a corpus: vectors that a hook can map without parsing JSON (spec: matching).

    header   192 bytes: magic, version, sizes, offsets, model hash, corpus hash, fit, checksums
    ids      corpus ids in ascending order, UTF-8, joined by newlines
    spans    per id four uint32: first alias row, alias rows, first body row, body rows
    hashes   per row the 16-byte hash of its text, so that a build can reuse the vector
    rows     per row `dimensions` float32, every vector of length 1

Everything is little-endian. All alias rows stand before all body rows, each in the order of the
ids, so that scoring a surface against the aliases touches one run of pages. The fit is kept here
as well as in the manifest: vectors and calibration are then always from the same build.

A damaged file is never an exception: `load` answers a `Problem` that says what is wrong. The
checksum of the rows is only compared by `verify` (it reads every page); the header's and the
tables' on every load.
"""

from __future__ import annotations

import os
import sys
from operator import add

from ways.core.checksum import checksum
from ways.core.record import record
from ways.embedding import header as headers
from ways.embedding.header import HASH_SIZE, HEADER_SIZE, SPAN_SIZE, Header, Problem, path_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HASH_SIZE", "HEADER_SIZE", "Entry", "Problem", "Sidecar", "Span", "encode", "load", "path_in"]


@record
class Span:
    """The rows of one corpus id: [alias, alias + aliases) and [body, body + bodies)."""

    alias: int
    aliases: int
    body: int
    bodies: int


class Sidecar:
    """An opened sidecar. `ids` in file order, `index` their positions, `spans` four numbers per id.

    `rows` is a flat view of float32; row r is `rows[r * dimensions : (r + 1) * dimensions]`.
    `fit` is (a, b), None while the lane is uncalibrated. Hashes are hex. The views stay valid for
    as long as this object lives, also after the file was replaced.
    """

    def __init__(self, path: str, data: memoryview, header: Header, ids: list[str]) -> None:
        self.path = path
        self._data = data
        self.dimensions = header.dimensions
        self.row_count = header.rows
        self.ids = ids
        self.index = dict(zip(ids, range(len(ids)), strict=True))
        self.spans = data[header.spans_at : header.spans_at + len(ids) * SPAN_SIZE].cast("I")
        self.text_hashes = data[header.hashes_at : header.hashes_at + header.rows * HASH_SIZE]
        self.rows: memoryview[float] = data[header.rows_at : header.total].cast("f")
        self.model_hash = header.model_hash.hex()
        self.corpus_hash = header.corpus_hash.hex()
        self.fit = header.fit

    @property
    def alias_rows(self) -> int:
        """The number of alias rows, which stand first."""
        return sum(self.spans[1::4])

    def span(self, position: int) -> Span:
        """The rows of the id at `position`."""
        start = position * 4
        return Span(*self.spans[start : start + 4])

    def text_hash(self, row: int) -> bytes:
        """The hash of the text that row was made from."""
        return bytes(self.text_hashes[row * HASH_SIZE : (row + 1) * HASH_SIZE])

    def row(self, row: int) -> memoryview[float]:
        """The float32 values of one row."""
        return self.rows[row * self.dimensions : (row + 1) * self.dimensions]


def text_hash(text: str) -> bytes:
    """The 16-byte hash of a text by which its vector is found again."""
    from hashlib import blake2b

    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_SIZE).digest()


def load(path: str, mapped: bool = True) -> Sidecar | Problem:
    """The sidecar at `path`, or why it cannot be used. Raises nothing for any content.

    The file is mapped; on Windows, or with `mapped=False`, it is read, because a mapped file cannot
    be replaced there by the next build.
    """
    if sys.byteorder != "little":
        return Problem("the corpus is little-endian and this machine is not")
    data = _contents(path, mapped)
    if isinstance(data, Problem):
        return data
    fields = headers.parse(data, len(data))
    if isinstance(fields, Problem):
        return Problem(f"{path}: {fields.reason}")
    ids = _parse_tables(data, fields)
    if isinstance(ids, Problem):
        return Problem(f"{path}: {ids.reason}")
    return Sidecar(path, data, fields, ids)


def verify(path: str) -> Problem | None:
    """A full check of the file, rows included: None when it is sound. Reads every byte."""
    opened = load(path)
    if isinstance(opened, Problem):
        return opened
    fields = headers.parse(opened._data, len(opened._data))
    assert not isinstance(fields, Problem)  # load has just parsed the same bytes
    if checksum(opened._data[fields.rows_at : fields.total]) != fields.rows_checksum:
        return Problem(f"{path}: the vectors do not match their checksum")
    return None


def _contents(path: str, mapped: bool) -> memoryview | Problem:
    """All bytes of a regular file as one view."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return Problem("not built yet", missing=True)
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    try:
        info = os.fstat(descriptor)
        if info.st_mode & 0o170000 != 0o100000:
            return Problem(f"{path}: not a regular file")
        if info.st_size < HEADER_SIZE:
            return Problem(f"{path}: cut short")
        if mapped and os.name != "nt":
            import mmap

            return memoryview(mmap.mmap(descriptor, info.st_size, access=mmap.ACCESS_READ))
        return memoryview(_read(descriptor, info.st_size))
    except (OSError, ValueError) as error:
        return Problem(f"{path}: {error}")
    finally:
        os.close(descriptor)


def _read(descriptor: int, size: int) -> bytes:
    parts = []
    while size > 0:
        part = os.read(descriptor, min(size, 1 << 20))
        if not part:
            break
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _parse_tables(data: memoryview, fields: Header) -> list[str] | Problem:
    """The ids, after checking that every span lies inside the rows."""
    if checksum(data[fields.ids_at : fields.rows_at]) != fields.tables_checksum:
        return Problem("the tables do not match their checksum")
    blob = bytes(data[fields.ids_at : fields.ids_at + fields.ids_size])
    try:
        ids = blob.decode("utf-8").split("\n") if blob else []
    except UnicodeDecodeError:
        return Problem("the ids are not text")
    if len(ids) != fields.ids:
        return Problem("the number of ids is wrong")
    spans = data[fields.spans_at : fields.spans_at + fields.ids * SPAN_SIZE].cast("I")
    ends = (max(map(add, spans[at::4], spans[at + 1 :: 4]), default=0) for at in (0, 2))
    if max(ends) > fields.rows:
        return Problem("a row lies outside the file")
    return ids


@record
class Entry:
    """One row to be written: the id it belongs to, whether it is a body chunk, its text's hash."""

    corpus_id: str
    body: bool
    text_hash: bytes


def entry_order(entry: Entry) -> tuple[bool, str]:
    """The order of rows in the file (a stable sort keeps the order within one id)."""
    return entry.body, entry.corpus_id


def encode(
    entries: Sequence[Entry],
    vectors: bytes,
    dimensions: int,
    *,
    model_hash: str,
    corpus_hash: str,
    fit: tuple[float, float] | None,
) -> bytes:
    """The bytes of a sidecar. `entries` stand in `entry_order`; `vectors` are their float32 rows,
    little-endian, one after another. Raises ValueError when the parts do not fit together."""
    if len(vectors) != len(entries) * dimensions * 4:
        raise ValueError(f"{len(entries)} rows of {dimensions} values do not make {len(vectors)} bytes")
    ids = sorted({entry.corpus_id for entry in entries})
    if any("\n" in name or not name for name in ids):
        raise ValueError("a corpus id is empty or holds a newline")
    blob = "\n".join(ids).encode("utf-8")
    at = headers.layout(dimensions, len(ids), len(entries), len(blob))
    ids_at, spans_at, hashes_at, rows_at, total = at
    tables = bytearray(rows_at - ids_at)
    tables[: len(blob)] = blob
    numbers = (number for span in _spans(entries, ids) for number in span)
    spans = b"".join(number.to_bytes(4, "little") for number in numbers)
    tables[spans_at - ids_at : spans_at - ids_at + len(spans)] = spans
    hashes = b"".join(entry.text_hash for entry in entries)
    tables[hashes_at - ids_at : hashes_at - ids_at + len(hashes)] = hashes
    head = Header(
        dimensions=dimensions,
        ids=len(ids),
        rows=len(entries),
        ids_at=ids_at,
        ids_size=len(blob),
        spans_at=spans_at,
        hashes_at=hashes_at,
        rows_at=rows_at,
        total=total,
        model_hash=bytes.fromhex(model_hash),
        corpus_hash=bytes.fromhex(corpus_hash),
        fit=fit,
        tables_checksum=checksum(bytes(tables)),
        rows_checksum=checksum(vectors),
    )
    return b"".join((headers.encode(head), tables, vectors))


def _spans(entries: Sequence[Entry], ids: list[str]) -> list[tuple[int, int, int, int]]:
    first: dict[tuple[bool, str], int] = {}
    count: dict[tuple[bool, str], int] = {}
    previous = (False, "")
    for row, entry in enumerate(entries):
        key = entry_order(entry)
        if key < previous:
            raise ValueError("the rows are not in order")
        previous = key
        first.setdefault(key, row)
        count[key] = count.get(key, 0) + 1
    none = 0
    return [
        (
            first.get((False, name), none),
            count.get((False, name), 0),
            first.get((True, name), none),
            count.get((True, name), 0),
        )
        for name in ids
    ]
