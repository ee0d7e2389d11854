"""The catalogue cache (spec: the way format, "The catalogue cache"; docs/decisions/catalogue-cache.md).

One file per set of roots. Its head holds what every hook needs: the stamps by which the cache is
judged, and per field the literals that sieve the ways. Its tail holds the ways, the checks and
the compiled regexes, and is read when one of them is wanted. A hook trusts the file after one
`stat` per directory and per way file; anything else (missing, damaged, written by another
interpreter, stale) leads to a rebuild. It is never the truth: deleting it changes no result.
"""

from __future__ import annotations

import marshal
import os
import sys

from ways.catalogue.tables import Lazy, Tables
from ways.catalogue.way import Broken, Catalogue, Check, Way, When
from ways.core.checksum import SIZE, checksum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ways.catalogue.way import WayRoots

PREFIX, ENDING = "catalogue-", ".bin"
MAGIC = b"ways-cat"
FORMAT = 7
# Magic, then length and checksum of the head, then length and checksum of the tail.
_NUMBER = 4
_PART = _NUMBER + SIZE
_PREAMBLE = len(MAGIC) + 2 * _PART
_MASK = (1 << 64) - 1
# The stamp of what is not there.
_NOTHING = (-1, -1, -1, -1)
_ABSENT = (_MASK,) * 4
# Enough for the head of an ordinary set of roots in one read.
_FIRST_READ = 1 << 16


def load(roots: WayRoots, cache_dir: str) -> Catalogue:
    """The catalogue of these roots, from the cache when it holds, else built and cached.

    Never raises for what is on disk: what cannot be read ends its own subtree, and a cache that
    cannot be written is done without.
    """
    roots = present(roots)
    path = cache_path(roots, cache_dir)
    file = open_cache(path)
    if file is not None and file.head["roots"] == identity(roots) and holds(file.head):
        return catalogue(file.head, Tail(file, roots, path))
    return rebuild(roots, path, file)


def rebuild(roots: WayRoots, path: str, former: CacheFile | None = None) -> Catalogue:
    """Build the catalogue, taking over from a former cache what has not changed, and write it to `path`."""
    from ways.catalogue import build

    head, tail = build.content(roots, former)
    build.write(path, encode(head, tail))
    return catalogue(head, Tail(CacheFile(head, ready=tail), roots, path))


def present(roots: WayRoots) -> WayRoots:
    """The roots without a project that has no ways: all such projects share one cache."""
    if roots.project and not os.path.lexists(roots.project_ways):
        return type(roots)(project="", user=roots.user, core=roots.core)
    return roots


def identity(roots: WayRoots) -> tuple[str, str, str]:
    """What the cached catalogue was made from."""
    return roots.project, roots.user, roots.core


def cache_path(roots: WayRoots, cache_dir: str) -> str:
    """The cache file of a set of roots. Two sets that share a name would only rebuild in turns."""
    name = "\0".join(identity(roots)).encode("utf-8", "surrogatepass")
    return os.path.join(cache_dir, f"{PREFIX}{checksum(name).hex()}{ENDING}")


def interpreter() -> tuple[Any, ...]:
    """What compiled regexes and marshalled values depend on."""
    import _sre  # type: ignore[import-not-found,unused-ignore]

    return FORMAT, sys.hexversion, _sre.MAGIC, os.name


def encode(head: dict[str, Any], tail: bytes) -> bytes:
    """The bytes of a cache file."""
    packed = marshal.dumps(head)
    parts = [len(part).to_bytes(_NUMBER, "little") + checksum(part) for part in (packed, tail)]
    return b"".join((MAGIC, *parts, packed, tail))


class CacheFile:
    """A cache file whose head has been read: from disk, or just built (`ready` is its tail).

    On POSIX the file stays open until the tail is wanted, so that another process may replace it
    meanwhile; elsewhere an open file could not be replaced, and the tail is read at once.
    """

    def __init__(
        self,
        head: dict[str, Any],
        ready: bytes | None = None,
        descriptor: int = -1,
        place: tuple[int, int, bytes] = (0, 0, b""),
    ) -> None:
        self.head = head
        self._tail = ready
        self._descriptor = descriptor
        self._place = place

    def tail(self) -> bytes | None:
        """The tail, None when it is damaged or cannot be read."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            self._tail = _read_tail(descriptor, *self._place)
        return self._tail

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        # Bound as a default, because at the end of the interpreter `os` may be gone first.
        if self._descriptor >= 0:
            close(self._descriptor)


def open_cache(path: str) -> CacheFile | None:
    """The cache file at `path`; None when it is missing, damaged or foreign."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError:
        return None
    kept = False
    try:
        start = os.read(descriptor, _FIRST_READ)
        if start[: len(MAGIC)] != MAGIC or len(start) < _PREAMBLE:
            return None
        head_length, head_sum = _part(start, len(MAGIC))
        tail_length, tail_sum = _part(start, len(MAGIC) + _PART)
        packed = start[_PREAMBLE : _PREAMBLE + head_length]
        size = os.fstat(descriptor).st_size
        if size != _PREAMBLE + head_length + tail_length:
            return None
        if len(packed) < head_length:
            packed += _read_exactly(descriptor, head_length - len(packed))
        # The checksum comes first: marshal must not see bytes that we did not write.
        if checksum(packed) != head_sum:
            return None
        head = marshal.loads(packed)
        if not isinstance(head, dict) or head.get("interpreter") != interpreter():
            return None
        place = (_PREAMBLE + head_length, tail_length, tail_sum)
        if os.name == "nt":
            return CacheFile(head, ready=_read_tail(os.dup(descriptor), *place))
        kept = True
        return CacheFile(head, descriptor=descriptor, place=place)
    except (OSError, ValueError, EOFError, TypeError):
        return None
    finally:
        if not kept:
            os.close(descriptor)


def _part(start: bytes, at: int) -> tuple[int, bytes]:
    """Length and checksum of head or tail, from the preamble."""
    return int.from_bytes(start[at : at + _NUMBER], "little"), start[at + _NUMBER : at + _PART]


def _read_exactly(descriptor: int, length: int) -> bytes:
    parts = []
    while length > 0:
        part = os.read(descriptor, length)
        if not part:
            break
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _read_tail(descriptor: int, offset: int, length: int, expected: bytes) -> bytes | None:
    """The tail behind a descriptor, which is closed; None when it is damaged."""
    try:
        os.lseek(descriptor, offset, os.SEEK_SET)
        data = _read_exactly(descriptor, length)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) == length and checksum(data) == expected else None


def grouped(watch: dict[str, Any], folders: list[str]) -> tuple[tuple[str, tuple[str, ...], bytes], ...]:
    """The watched paths and their stamps as (folder, names below it, stamps), the folder "" for whole paths.

    A look from an open folder takes half the time of one that begins at the root; and the stamps, 8 bytes a
    number, are compared in one go.
    """
    groups: dict[str, list[tuple[str, Any]]] = {"": []}
    for path, stamp in watch.items():
        folder = next((each for each in folders if path.startswith(each + os.sep)), "")
        name = path[len(folder) + 1 :] if folder else path
        groups.setdefault(folder, []).append((name, stamp))
    return tuple(
        (folder, tuple(name for name, _stamp in pairs), _packed(stamp for _name, stamp in pairs))
        for folder, pairs in groups.items()
        if pairs
    )


def _packed(found: Iterable[tuple[int, ...] | None]) -> bytes:
    numbers = (number & _MASK for stamp in found for number in (stamp or _NOTHING))
    return b"".join(number.to_bytes(8, sys.byteorder) for number in numbers)


def stamps(head: dict[str, Any]) -> dict[str, tuple[int, ...] | None]:
    """The watched paths with their stamps, as `comparable` gives them."""
    found: dict[str, tuple[int, ...] | None] = {}
    for folder, names, packed in head["watched"]:
        numbers = memoryview(packed).cast("Q").tolist()
        for at, name in enumerate(names):
            found[os.path.join(folder, name)] = comparable(tuple(numbers[at * 4 : at * 4 + 4]))
    return found


def comparable(stamp: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """A stamp as it comes out of a cache file: every number in 64 bits without a sign."""
    wrapped = tuple(number & _MASK for number in stamp or _NOTHING)
    return None if wrapped == _ABSENT else wrapped


def holds(head: dict[str, Any]) -> bool:
    """True when nothing that the cached catalogue depends on has changed since it was built.

    A cache whose files had changed within the last two seconds before it was built is not trusted: a
    later change in the same clock tick would leave the same times.
    """
    return bool(head["settled"]) and all(_unchanged(*group) for group in head["watched"])


def _unchanged(folder: str, names: tuple[str, ...], packed: bytes) -> bool:
    """True when the files below a folder have these stamps."""
    opened = None
    if folder and os.name == "nt":
        names = tuple(os.path.join(folder, name) for name in names)
    elif folder:
        try:
            opened = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
    found: list[int] = []
    stat = os.stat
    try:
        for name in names:
            try:
                info = stat(name, dir_fd=opened)
            except (OSError, ValueError):
                found += _NOTHING
                continue
            found += (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    finally:
        if opened is not None:
            os.close(opened)
    expected = memoryview(packed).cast("Q").tolist()
    return found == expected or [number & _MASK for number in found] == expected


class Tail:
    """The ways, checks and regexes of a cache file, unpacked when they are first wanted.

    A damaged tail is replaced by what the files themselves say. A way whose file vanished in that very
    moment becomes an empty one, which nothing can match.
    """

    def __init__(self, file: CacheFile, roots: WayRoots, path: str) -> None:
        self._file = file
        self._roots = roots
        self._path = path
        self._content: dict[str, bytes] | None = None
        self._codes = b""

    def content(self) -> dict[str, bytes]:
        """The rows of `ways`, `checks` and `book`, each marshalled."""
        if self._content is None:
            raw = self._file.tail()
            if raw is not None:
                self._content, self._codes = unpack_tail(raw)
            else:
                from ways.catalogue import build

                self._content, self._codes = build.recovered(self._roots, self._file.head, self._path)
        return self._content

    def ids(self) -> tuple[str, ...]:
        """The ids of the ways in tree order."""
        ids: tuple[str, ...] = marshal.loads(self._file.head["names"])[0]
        return ids

    def ways(self) -> tuple[bytes, ...]:
        """The rows of the ways."""
        rows: tuple[bytes, ...] = marshal.loads(self.content()["ways"])
        return rows

    def checks(self) -> tuple[bytes, ...]:
        """The rows of the checks."""
        rows: tuple[bytes, ...] = marshal.loads(self.content()["checks"])
        return rows

    def book(self) -> tuple[dict[str, tuple[Any, ...]], bytes]:
        """The rows of the regexes, and the bytes that hold compiled code."""
        return marshal.loads(self.content()["book"]), self._codes


def pack_tail(content: dict[str, bytes], codes: bytes) -> bytes:
    """The bytes of a tail."""
    packed = marshal.dumps(content)
    return b"".join((len(packed).to_bytes(4, "little"), packed, codes))


def unpack_tail(raw: bytes) -> tuple[dict[str, bytes], bytes]:
    """The content of a tail that is known to be whole, and the compiled regexes behind it."""
    length = int.from_bytes(raw[:4], "little")
    content: dict[str, bytes] = marshal.loads(raw[4 : 4 + length])
    return content, raw[4 + length :]


def catalogue(head: dict[str, Any], tail: Tail) -> Catalogue:
    """The catalogue that a cache file describes."""
    early = {index: row for index, _id, _kind, row in head["lists"]["trigger"]}
    ways: Any = Lazy(head["counts"][0], tail.ways, make_way, early)
    checks: Any = Lazy(head["counts"][1], tail.checks, make_check)
    return Catalogue(
        ways=ways,
        checks=checks,
        broken=tuple(Broken(*row) for row in head["broken"]),
        shadowed=head["shadowed"],
        tables=Tables(tail.ids, head["fields"], head["lists"], tail.book, head["scopes"]),
    )


def _fields(row: bytes) -> dict[str, Any]:
    values: dict[str, Any] = marshal.loads(row)
    if "when" in values:
        values["when"] = When(**values["when"])
    return values


def make_way(row: bytes) -> Way:
    """The way of a marshalled row."""
    return Way(**_fields(row))


def make_check(row: bytes) -> Check:
    """The check of a marshalled row."""
    return Check(**_fields(row))
