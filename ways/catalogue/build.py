"""Builds the content of a catalogue cache: walk, parse, shadow, sieve (spec: the way format).

Files that have not changed since a former cache are taken over from it, so that a hook that meets one
edited way does not parse the others again.
"""

from __future__ import annotations

import marshal
import os
import time

from ways.catalogue import cache, literals, patterns, rootkey, walk
from ways.catalogue.body import MAX_BYTES
from ways.catalogue.frontmatter import parse_check, parse_way
from ways.catalogue.way import CORE, PROJECT, Broken, Check, Way, WayRoots, When
from ways.core import clock, files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Coarsest clock of a file system in use (FAT); a change younger than that is not settled.
SETTLE_NS = 2_000_000_000
# Processor time that the files of one root may take; a thousand ordinary ways take less than one second.
ROOT_SECONDS = 3.0
KEEP_SECONDS = 30 * 86400.0
KEEP_TEMPORARY_SECONDS = 3600.0
WAY_REGEXES = ("pattern", "commands", "files", "postcheck_on")
CHECK_REGEXES = ("commands", "files")


def content(roots: WayRoots, former: cache.CacheFile | None = None) -> tuple[dict[str, Any], bytes]:
    """The head and the tail of a cache file, taking over from a former one what has not changed."""
    builder = _Builder(roots, _Former(former, roots), clock.now_ns())
    for kind, folder in roots.folders:
        builder.take_root(kind, folder)
    return builder.finish()


def recovered(roots: WayRoots, head: dict[str, Any], path: str) -> tuple[dict[str, bytes], bytes]:
    """The content and the codes of the tail that belongs to `head`, made from the files because the tail
    is damaged; the cache at `path` is replaced."""
    fresh_head, tail = content(roots)
    write(path, cache.encode(fresh_head, tail))
    fresh, codes = cache.unpack_tail(tail)
    ids, check_ids = marshal.loads(head["names"])
    ways, checks = (
        {marshal.loads(row)["id"]: row for row in marshal.loads(fresh[part])} for part in ("ways", "checks")
    )
    rows = (ways.get(way_id) or _row(Way(way_id, "", CORE)) for way_id in ids)
    check_rows = (checks.get(way_id) or _row(Check(way_id, "", CORE)) for way_id in check_ids)
    return {**fresh, "ways": marshal.dumps(tuple(rows)), "checks": marshal.dumps(tuple(check_rows))}, codes


def unsettled(stamp: tuple[int, ...] | None, now_ns: int) -> bool:
    """True when a further change could leave the same stamp, because the last one is too recent."""
    if stamp is None:
        return False
    return abs(now_ns - max(stamp[1], stamp[2])) < SETTLE_NS


class _Former:
    """What a former cache knows: stamps, rows by path, regexes. Empty without one."""

    def __init__(self, file: cache.CacheFile | None, roots: WayRoots) -> None:
        tail = file.tail() if file is not None and file.head["roots"] == cache.identity(roots) else None
        self.stamps: dict[str, Any] = {}
        self.rows: dict[str, bytes] = {}
        self.book: dict[str, tuple[Any, ...]] = {}
        self.codes = b""
        self.built = 0
        if file is not None and tail is not None:
            known, self.codes = cache.unpack_tail(tail)
            self.stamps = cache.stamps(file.head)
            rows = (*marshal.loads(known["ways"]), *marshal.loads(known["checks"]))
            self.rows = {marshal.loads(row)["path"]: row for row in rows}
            self.book = marshal.loads(known["book"])
            self.built = file.head["built"]


class _Builder:
    """Collects the ways of the roots, highest root first."""

    def __init__(self, roots: WayRoots, former: _Former, started: int) -> None:
        self.roots = roots
        self.former = former
        self.started = started
        self.watch: dict[str, Any] = {}
        self.ways: dict[str, Way] = {}
        self.checks: dict[str, Check] = {}
        self.broken: list[Broken] = []
        self.shadowed: list[tuple[str, str]] = []

    def take_root(self, kind: str, folder: str) -> None:
        """Walk one root and take what no higher root has."""
        found = walk.walk(kind, folder, self.roots.project if kind == PROJECT else "")
        self.watch.update(found.watch)
        self.broken.extend(found.broken)
        key = rootkey.root_key(kind, self.roots.project)
        begun = time.process_time()
        for count, file in enumerate(found.files):
            if time.process_time() - begun > ROOT_SECONDS:
                left = len(found.files) - count
                self.broken.append(
                    Broken(
                        folder, f"its files take longer than {ROOT_SECONDS:g} s to read; {left} are left out"
                    )
                )
                return
            self.take_file(file, kind, key)

    def take_file(self, file: walk.WayFile, kind: str, key: str) -> None:
        if file.id in self.ways:
            self.shadowed.append((file.id, file.path))
            return
        way = self.unchanged(file.path)
        if way is None:
            data = self.read(file.path)
            if data is None:
                return
            parsed = parse_way(
                data,
                file.id,
                file.path,
                kind,
                siblings=file.siblings,
                corpus_id=rootkey.corpus_id(key, file.id),
            )
            if isinstance(parsed, Broken):
                self.broken.append(parsed)
                return
            way = parsed
        self.ways[file.id] = way
        if file.check_path:
            self.take_check(file, kind, key)

    def take_check(self, file: walk.WayFile, kind: str, key: str) -> None:
        check = self.unchanged(file.check_path)
        if check is None:
            data = self.read(file.check_path)
            if data is None:
                return
            parsed = parse_check(
                data, file.id, file.check_path, kind, corpus_id=rootkey.check_corpus_id(key, file.id)
            )
            if isinstance(parsed, Broken):
                self.broken.append(parsed)
                return
            check = parsed
        self.checks[file.id] = check

    def read(self, path: str) -> bytes | None:
        try:
            return files.read_bytes(path, MAX_BYTES + 1)
        except OSError as error:
            self.broken.append(Broken(path, f"cannot be read: {error.strerror or error}"))
            return None

    def unchanged(self, path: str) -> Any:
        """The record of a file that, with its directory, is as it was when the former cache was built."""
        row = self.former.rows.get(path)
        if row is None:
            return None
        for place in (path, os.path.dirname(path)):
            known = self.former.stamps.get(place)
            if (
                known is None
                or known != cache.comparable(self.watch.get(place))
                or unsettled(known, self.former.built)
            ):
                return None
        return cache.make_check(row) if path.endswith(walk.CHECK_ENDING) else cache.make_way(row)

    def finish(self) -> tuple[dict[str, Any], bytes]:
        ids = sorted(self.ways, key=lambda way_id: way_id.split("/"))
        ways = [self.ways[way_id] for way_id in ids]
        checks = [self.checks[way_id] for way_id in ids if way_id in self.checks]
        book = _BookWriter(self.former)
        fields = {field: book.field(ways, field) for field in WAY_REGEXES}
        fields |= {f"check.{field}": book.field(checks, field) for field in CHECK_REGEXES}
        head = {
            "interpreter": cache.interpreter(),
            "roots": cache.identity(self.roots),
            "built": self.started,
            "settled": not any(unsettled(stamp, self.started) for stamp in self.watch.values()),
            "watched": cache.grouped(self.watch, [folder for _kind, folder in self.roots.folders]),
            "counts": (len(ways), len(checks)),
            "names": marshal.dumps((tuple(ids), tuple(check.id for check in checks))),
            "broken": tuple((b.path, b.message, b.line, b.column) for b in self.broken),
            "shadowed": tuple(self.shadowed),
            "fields": fields,
            "scopes": {index: way.scope for index, way in enumerate(ways) if way.scope},
            "lists": {
                # What a hook looks at each time is in the head, so that it need not read the tail.
                "trigger": tuple(
                    (index, way.id, way.trigger, _row(way)) for index, way in enumerate(ways) if way.trigger
                ),
                "postcheck": tuple(
                    (index, bool(way.postcheck_on)) for index, way in enumerate(ways) if way.postcheck_file
                ),
            },
        }
        tail = {
            "ways": marshal.dumps(tuple(_row(way) for way in ways)),
            "checks": marshal.dumps(tuple(_row(check) for check in checks)),
            "book": marshal.dumps(book.rows),
        }
        return head, cache.pack_tail(tail, bytes(book.data))


class _BookWriter:
    """Analyses and compiles each regex once, taking over what a former cache knew."""

    def __init__(self, former: _Former) -> None:
        self.former = former
        self.rows: dict[str, tuple[Any, ...]] = {}
        self.data = bytearray()

    def field(self, records: Iterable[Way | Check], name: str) -> bytes:
        """Marshalled (index, literals) pairs of the records that have a regex in that field."""
        pairs = []
        for index, item in enumerate(records):
            source = getattr(item, name)
            if source:
                pairs.append((index, self.row(source)[0]))
        return marshal.dumps(tuple(pairs))

    def row(self, source: str) -> tuple[Any, ...]:
        if source not in self.rows:
            known, packed = self.taken_over(source)
            if known is None:
                known = literals.analyse(source)
                arguments = literals.code(source)
                packed = patterns.pack(arguments) if arguments is not None else b""
            self.rows[source] = (*known, len(self.data), len(packed))
            self.data += packed
        return self.rows[source]

    def taken_over(self, source: str) -> tuple[tuple[Any, ...] | None, bytes]:
        row = self.former.book.get(source)
        if row is None:
            return None, b""
        *known, offset, length = row
        packed = self.former.codes[offset : offset + length]
        if length and (len(packed) != length or patterns.unpack(packed) is None):
            return None, b""
        return tuple(known), packed


def _row(item: Way | Check) -> bytes:
    """The fields of a record that differ from their defaults, marshalled."""
    kind = type(item)
    values = {
        name: value for name, value in item.__dict__.items() if value != kind.__dict__.get(name, _NO_DEFAULT)
    }
    if "when" in values:
        plain = When()
        values["when"] = {
            name: value for name, value in item.when.__dict__.items() if value != getattr(plain, name)
        }
    return marshal.dumps(values)


_NO_DEFAULT = object()


def write(path: str, data: bytes) -> None:
    """Put the cache in place, and remove caches that nothing has written for a month. A cache that cannot be
    written costs the next hook its time, nothing else."""
    folder = os.path.dirname(path)
    try:
        files.make_private(folder)
        files.write_atomic(path, data)
        _remove_old(folder)
    except OSError:
        return


def _remove_old(folder: str) -> None:
    now = clock.now()
    with os.scandir(folder) as entries:
        for entry in entries:
            temporary = entry.name.startswith("." + cache.PREFIX) and files.TEMPORARY_MARK in entry.name
            if not temporary and not (
                entry.name.startswith(cache.PREFIX) and entry.name.endswith(cache.ENDING)
            ):
                continue
            age = now - entry.stat(follow_symlinks=False).st_mtime
            if age > (KEEP_TEMPORARY_SECONDS if temporary else KEEP_SECONDS):
                files.remove_if_there(entry.path)
