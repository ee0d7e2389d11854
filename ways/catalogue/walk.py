"""The three roots of ways on disk (spec: the way format, roots and shadowing).

The walk reads names, never contents. It notes every path whose state the result depends on, so that
the cache can tell with one `stat` each whether the result still holds.
"""

from __future__ import annotations

import os
import stat

from ways.catalogue.way import Broken, WayRoots
from ways.core.ids import is_way_id
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["Found", "WayFile", "WayRoots", "stamp", "walk"]

MAX_DEPTH = 12
MAX_DIRECTORIES = 5_000
MAX_ENTRIES = 5_000
CHECK_ENDING = ".check.md"
NOT_WAYS = frozenset(["core", "_template"])


@record
class WayFile:
    """A way's file, the names beside it, and the path of its check ("" when it has none)."""

    id: str
    path: str
    siblings: tuple[str, ...]
    check_path: str = ""


@record
class Found:
    """What one root holds. `watch` maps each path that the result depends on to its stamp."""

    kind: str
    files: tuple[WayFile, ...]
    watch: dict[str, Any]
    broken: tuple[Broken, ...] = ()


def stamp(path: str) -> tuple[int, int, int, int] | None:
    """Size, mtime_ns, ctime_ns and inode of what `path` leads to, None when it cannot be looked at."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino


def walk(kind: str, folder: str, confined_to: str = "") -> Found:
    """The ways of one root. Never raises: what cannot be read ends its own subtree.

    `confined_to` is the project's directory for a project's root: a link that leaves it is not followed.
    """
    walker = _Walker(os.path.realpath(confined_to) if confined_to else "")
    walker.root(folder)
    return Found(kind, tuple(walker.files), walker.watch, tuple(walker.broken))


class _Walker:
    """The state of one walk."""

    def __init__(self, confined_to: str) -> None:
        self.confined_to = confined_to
        self.files: list[WayFile] = []
        self.watch: dict[str, Any] = {}
        self.broken: list[Broken] = []
        self.directories = 0

    def root(self, folder: str) -> None:
        self.watch[folder] = stamp(folder)
        if self.watch[folder] is None:
            return
        if self.leaves(folder):
            self.broken.append(
                Broken(folder, "is reached through a link that leaves the project; not followed")
            )
            return
        self.directory(folder, "", ())

    def leaves(self, path: str) -> bool:
        """True when the path resolves to something outside the project."""
        if not self.confined_to:
            return False
        resolved, inside = os.path.normcase(os.path.realpath(path)), os.path.normcase(self.confined_to)
        return resolved != inside and not resolved.startswith(inside.rstrip(os.sep) + os.sep)

    def directory(self, folder: str, way_id: str, above: tuple[tuple[int, int], ...]) -> None:
        """Take in one directory and what lies below it. `above` identifies the directories around it."""
        identity = self.enter(folder, above)
        if identity is None:
            return
        entries = self.entries(folder)
        if entries is None:
            return
        if way_id:
            self.way(folder, way_id, entries)
        for name in sorted(entries):
            if name[0] in "._" or not self.is_directory(entries[name]):
                continue
            child = f"{way_id}/{name}" if way_id else name
            path = os.path.join(folder, name)
            if not is_way_id(child) or not _encodable(child):
                self.broken.append(Broken(_shown(path), "its name cannot be part of a way's id"))
            elif child.count("/") >= MAX_DEPTH:
                self.broken.append(Broken(path, f"lies more than {MAX_DEPTH} levels deep; not read"))
            else:
                self.directory(path, child, (*above, identity))

    def enter(self, folder: str, above: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
        """The identity of a directory that may be read, None when it may not or was read around here."""
        self.directories += 1
        if self.directories > MAX_DIRECTORIES:
            if self.directories == MAX_DIRECTORIES + 1:
                self.broken.append(
                    Broken(folder, f"more than {MAX_DIRECTORIES} directories; the rest is not read")
                )
            return None
        # Before the listing: a change in between makes the stamp older than the state, never newer.
        self.watch[folder] = stamp(folder)
        try:
            info = os.stat(folder)
        except (OSError, ValueError) as error:
            self.broken.append(Broken(folder, f"cannot be read: {_reason(error)}"))
            return None
        # A file system without inode numbers cannot show a loop; there the depth limit ends it.
        identity = (info.st_dev, info.st_ino)
        return None if info.st_ino and identity in above else identity

    def entries(self, folder: str) -> dict[str, Any] | None:
        found: dict[str, Any] = {}
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    found[entry.name] = entry
                    if len(found) > MAX_ENTRIES:
                        self.broken.append(Broken(folder, f"more than {MAX_ENTRIES} entries; not read"))
                        return None
        except OSError as error:
            self.broken.append(Broken(folder, f"cannot be read: {_reason(error)}"))
            return None
        return found

    def is_directory(self, entry: Any) -> bool:
        """True for a directory, and for a link to one that may be followed."""
        try:
            if not entry.is_dir():
                if entry.is_symlink():
                    # A broken link, or one to a file, may lead to a directory later on.
                    self.watch[entry.path] = stamp(entry.path)
                return False
        except OSError:
            return False
        return not self.is_closed_link(entry)

    def is_closed_link(self, entry: Any) -> bool:
        """True for a link that leaves a project; it is watched, because it may change its target."""
        if not self.confined_to or not (entry.is_symlink() or _is_junction(entry)):
            return False
        if not self.leaves(entry.path):
            return False
        self.watch[entry.path] = stamp(entry.path)
        self.broken.append(Broken(entry.path, "is a link that leaves the project; not followed"))
        return True

    def is_file(self, entry: Any) -> bool:
        """True for a file, and for a link to one that may be followed."""
        try:
            if entry.is_symlink():
                self.watch[entry.path] = stamp(entry.path)
            return bool(entry.is_file()) and not self.is_closed_link(entry)
        except OSError:
            return False

    def way(self, folder: str, way_id: str, entries: dict[str, Any]) -> None:
        """Note the way of this directory, if the directory is one."""
        name = way_id.rsplit("/", 1)[-1]
        entry = entries.get(f"{name}.md")
        if entry is None or name in NOT_WAYS:
            return
        path = os.path.join(folder, f"{name}.md")
        self.watch[path] = stamp(path)
        if not self.is_file(entry):
            return
        check = entries.get(name + CHECK_ENDING)
        check_path = ""
        if check is not None:
            check_path = os.path.join(folder, name + CHECK_ENDING)
            self.watch[check_path] = stamp(check_path)
            check_path = check_path if self.is_file(check) else ""
        scripts = tuple(
            sorted(other for other in entries if _is_script(other) and self.is_file(entries[other]))
        )
        self.files.append(WayFile(way_id, path, scripts, check_path))


def _is_script(name: str) -> bool:
    stem, _, ending = name.rpartition(".")
    return stem in {"macro", "postcheck"} and ending in {"sh", "py", "ps1"}


def _is_junction(entry: Any) -> bool:
    """True for a Windows directory junction, which `is_symlink` does not report."""
    if os.name != "nt":
        return False
    try:
        attributes = entry.stat(follow_symlinks=False).st_file_attributes
    except (OSError, AttributeError):
        return False
    return bool(attributes & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0x400))


def _encodable(name: str) -> bool:
    """False for a name that is not UTF-8 on disk: it could be neither logged nor sent."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "replace").decode("utf-8")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
