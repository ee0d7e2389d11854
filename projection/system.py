"""The file-system port: everything that projection and installer change goes through a `System`.

One plan is applied by the same code in four ways (spec: architecture, "Plan, then apply"):

- `RealSystem` does it;
- `DryRunSystem` records the steps and changes nothing, and its reads see what the steps would have
  done, so that code which reads back what it wrote runs unchanged;
- `CrashingSystem(after=n)` dies after its n-th change, by an exception that no `except Exception`
  catches; `KillingSystem(after=n)` dies by a real SIGKILL, for use in a child process. Both count the
  moment between a temporary file and its rename as a change of its own.

Paths are absolute. A mutating method raises OSError when it fails and is one `Step`, which prints as
one line of a plan. What replaces something does so by rename, so that a reader sees the old or the new.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import signal
import stat
from abc import ABC, abstractmethod
from typing import Literal

from projection.exchange import exchange
from projection.overlay import Node, Overlay, OverlayError
from ways.core import files
from ways.core.record import record
from windows import junctions

Kind = Literal["file", "folder", "link", "junction", "other"]


@record
class Step:
    """One change: what is done (`make folder`, `write`, `link`, …), where, and from or to what."""

    verb: str
    path: str
    source: str = ""

    def line(self) -> str:
        """The step as one line of a plan."""
        if not self.source:
            return f"{self.verb} {self.path}"
        arrow = "from" if self.verb in {"copy", "move", "rename", "exchange", "hard link"} else "->"
        return f"{self.verb} {self.path} {arrow} {self.source}"


@record
class FileInfo:
    """What stands at a path. `mode` holds permission bits only, `size` is in bytes, `mtime_ns` in
    nanoseconds; `links` is the number of hard links, `identity` is (device, inode)."""

    kind: Kind
    mode: int
    size: int
    mtime_ns: int
    uid: int
    gid: int
    links: int
    identity: tuple[int, int]


class System(ABC):
    """Reads and changes. `steps` lists the changes made (or, in a dry run, those that would be)."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    @property
    def changes_disk(self) -> bool:
        """False for a dry run: whoever would take a lock or start a process asks this first."""
        return True

    # Reads

    @abstractmethod
    def info(self, path: str, follow: bool = False) -> FileInfo | None:
        """What is at `path`, None when nothing is (or, with `follow`, when a link dangles).

        Raises OSError when it cannot be told, for example for want of permission.
        """

    @abstractmethod
    def read_bytes(self, path: str, limit: int | None = None) -> bytes:
        """The content, following links; at most `limit` bytes. Raises OSError."""

    @abstractmethod
    def read_link(self, path: str) -> str:
        """Where a link or junction points, as it is spelt there. Raises OSError."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The sorted names in a folder. Raises OSError."""

    @abstractmethod
    def real_path(self, path: str) -> str:
        """`path` with every link resolved as far as it exists. Never raises for a missing path."""

    def kind(self, path: str) -> Kind | None:
        """The kind of what is at `path` itself, without following a link."""
        found = self.info(path)
        return found.kind if found else None

    def exists(self, path: str) -> bool:
        """True when something is there, links followed."""
        return self.info(path, follow=True) is not None

    def sha256(self, path: str) -> str:
        """The content's SHA-256 in hex, following links. Raises OSError."""
        return hashlib.sha256(self.read_bytes(path)).hexdigest()

    # Changes

    @abstractmethod
    def mkdir(self, path: str, mode: int = 0o755) -> None:
        """Make one folder; its parent exists."""

    @abstractmethod
    def write_atomic(
        self,
        path: str,
        data: bytes,
        mode: int = 0o644,
        owner: tuple[int, int] | None = None,
        durable: bool = False,
    ) -> None:
        """Replace the file (or the link itself) at `path` by `data`, with this mode and, on POSIX,
        this (uid, gid). `durable` waits for the disk."""

    @abstractmethod
    def symlink(self, target: str, path: str, folder: bool = False) -> None:
        """Put a symlink at `path`, replacing a file or link there. `folder` matters on Windows."""

    @abstractmethod
    def junction(self, target: str, path: str) -> None:
        """Put a directory junction at `path` (Windows), replacing a junction there."""

    @abstractmethod
    def hard_link(self, source: str, path: str) -> None:
        """Put a second name of the file `source` at `path`, replacing a file there."""

    @abstractmethod
    def copy(self, source: str, path: str, mode: int | None = None) -> None:
        """Copy one file to a new inode at `path`, replacing a file there. Mode: the source's, or this."""

    @abstractmethod
    def rename(self, source: str, path: str) -> None:
        """Rename within one volume, replacing a file (or an empty folder by a folder)."""

    @abstractmethod
    def move(self, source: str, path: str) -> None:
        """As rename, to a place where nothing is; across volumes by a complete copy first."""

    @abstractmethod
    def exchange(self, source: str, path: str) -> None:
        """Swap what stands at two paths of one folder, atomically where the system can."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file, a link or a junction; never what it points to."""

    @abstractmethod
    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""

    @abstractmethod
    def remove_tree(self, path: str) -> None:
        """Remove a folder of our own making with all in it; links in it are not followed."""

    @abstractmethod
    def chmod(self, path: str, mode: int) -> None:
        """Set the permission bits of a file or folder."""

    def make_folders(self, path: str, mode: int = 0o755) -> list[str]:
        """Make `path` and the parents it lacks, one step each; returns those made, outermost first."""
        missing = []
        at = path
        while not self.exists(at):
            missing.append(at)
            parent = os.path.dirname(at)
            if parent == at:
                break
            at = parent
        for folder in reversed(missing):
            self.mkdir(folder, mode)
        return missing[::-1]


class RealSystem(System):
    """The disk."""

    def _checkpoint(self) -> None:
        """A moment at which a crash leaves a temporary file; the crashing systems die here."""

    def _done(self, verb: str, path: str, source: str = "") -> None:
        self.steps.append(Step(verb, path, source))

    def info(self, path: str, follow: bool = False) -> FileInfo | None:
        try:
            found = os.stat(path) if follow else os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise
        return _file_info(found)

    def read_bytes(self, path: str, limit: int | None = None) -> bytes:
        return files.read_bytes(path, limit)

    def read_link(self, path: str) -> str:
        return junctions.plain(os.readlink(path))

    def names(self, folder: str) -> list[str]:
        return sorted(os.listdir(folder))

    def real_path(self, path: str) -> str:
        return junctions.plain(os.path.realpath(path))

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        os.mkdir(path, mode)
        self._done("make folder", path)

    def write_atomic(
        self,
        path: str,
        data: bytes,
        mode: int = 0o644,
        owner: tuple[int, int] | None = None,
        durable: bool = False,
    ) -> None:
        temporary = files.temporary_name(path)
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        )
        # Never wider than asked for, not even for a moment: the mode is given at birth.
        descriptor = os.open(temporary, flags, mode & 0o700)
        try:
            try:
                files.write_all(descriptor, data)
                if os.name != "nt":
                    _own(descriptor, owner)
                    os.fchmod(descriptor, mode)
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._checkpoint()
            files.replace(temporary, path)
        except BaseException:
            files.remove_if_there(temporary)
            raise
        if durable:
            _sync_folder(os.path.dirname(path))
        self._done("write", path)

    def symlink(self, target: str, path: str, folder: bool = False) -> None:
        temporary = files.temporary_name(path)
        os.symlink(target, temporary, target_is_directory=folder)
        self._swap_in(temporary, path)
        self._done("link", path, target)

    def junction(self, target: str, path: str) -> None:
        junctions.place(target, path)
        self._done("junction", path, target)

    def hard_link(self, source: str, path: str) -> None:
        temporary = files.temporary_name(path)
        os.link(source, temporary)
        self._swap_in(temporary, path)
        # Renaming one name of a file onto another name of it does nothing and leaves both.
        files.remove_if_there(temporary)
        self._done("hard link", path, source)

    def copy(self, source: str, path: str, mode: int | None = None) -> None:
        temporary = files.temporary_name(path)
        try:
            shutil.copyfile(source, temporary)
            os.chmod(temporary, stat.S_IMODE(os.stat(source).st_mode) if mode is None else mode)
        except BaseException:
            files.remove_if_there(temporary)
            raise
        self._swap_in(temporary, path)
        self._done("copy", path, source)

    def _swap_in(self, temporary: str, path: str) -> None:
        try:
            self._checkpoint()
            files.replace(temporary, path)
        except BaseException:
            files.remove_if_there(temporary)
            raise

    def rename(self, source: str, path: str) -> None:
        files.replace(source, path)
        self._done("rename", path, source)

    def move(self, source: str, path: str) -> None:
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        try:
            os.rename(source, path)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            _move_across(source, path)
        self._done("move", path, source)

    def exchange(self, source: str, path: str) -> None:
        exchange(source, path, self._checkpoint)
        self._done("exchange", path, source)

    def remove(self, path: str) -> None:
        if self.kind(path) == "junction":
            os.rmdir(path)
        else:
            os.unlink(path)
        self._done("remove", path)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)
        self._done("remove folder", path)

    def remove_tree(self, path: str) -> None:
        shutil.rmtree(path)
        self._done("remove tree", path)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(path, mode)
        self._done("set mode", path, f"{mode:04o}")


class Crash(BaseException):
    """The simulated death of a process: no `except Exception` may catch it."""


class CrashingSystem(RealSystem):
    """A RealSystem that dies once `after` changes have been made (0: before the first).

    The moment between a temporary file and its rename counts too. Once dead, every further change
    raises again, so that a clean-up handler cannot do what a dead process could not.
    """

    def __init__(self, after: int) -> None:
        super().__init__()
        self._left = after

    def _checkpoint(self) -> None:
        self._count()

    def _done(self, verb: str, path: str, source: str = "") -> None:
        super()._done(verb, path, source)
        self._count()

    def _count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            self._die()

    def _die(self) -> None:
        raise Crash(f"crashed after {len(self.steps)} steps")


class KillingSystem(CrashingSystem):
    """Dies by SIGKILL (by immediate exit on Windows): nothing is cleaned up. For a child process."""

    def _die(self) -> None:
        if os.name == "nt":
            os._exit(137)
        os.kill(os.getpid(), signal.SIGKILL)


class DryRunSystem(System):
    """Records, writes nothing. Reads see the disk as the recorded steps would have left it."""

    def __init__(self) -> None:
        super().__init__()
        self._overlay = Overlay()

    @property
    def changes_disk(self) -> bool:
        return False

    def info(self, path: str, follow: bool = False) -> FileInfo | None:
        try:
            place = self._overlay.resolve(path) if follow else self._overlay.place(path)
        except OverlayError:
            return None
        return _node_info(self._overlay.lookup(place))

    def read_bytes(self, path: str, limit: int | None = None) -> bytes:
        node = self._overlay.lookup(self._overlay.resolve(path))
        if node.kind == "disk":
            return files.read_bytes(node.real, limit)
        if node.kind != "file":
            raise _error(errno.EISDIR if node.kind == "folder" else errno.ENOENT, path)
        return node.data if limit is None else node.data[:limit]

    def read_link(self, path: str) -> str:
        target = self._overlay.link_target(self._overlay.place(path))
        if target is None:
            raise _error(errno.EINVAL, path)
        return target

    def names(self, folder: str) -> list[str]:
        return self._overlay.names(self._overlay.resolve(folder))

    def real_path(self, path: str) -> str:
        try:
            return self._overlay.resolve(path, strict=False)
        except OverlayError:
            return os.path.abspath(path)

    def mkdir(self, path: str, mode: int = 0o755) -> None:
        place = self._new_place(path, free=True)
        self._overlay.put(place, Node("folder", mode=mode))
        self._record("make folder", path)

    def write_atomic(
        self,
        path: str,
        data: bytes,
        mode: int = 0o644,
        owner: tuple[int, int] | None = None,
        durable: bool = False,
    ) -> None:
        self._overlay.put(self._new_place(path), Node("file", data=data, mode=mode))
        self._record("write", path)

    def symlink(self, target: str, path: str, folder: bool = False) -> None:
        self._overlay.put(self._new_place(path), Node("link", target=target))
        self._record("link", path, target)

    def junction(self, target: str, path: str) -> None:
        self._overlay.put(self._new_place(path), Node("junction", target=target))
        self._record("junction", path, target)

    def hard_link(self, source: str, path: str) -> None:
        self._overlay.put(self._new_place(path), self._existing(source))
        self._record("hard link", path, source)

    def copy(self, source: str, path: str, mode: int | None = None) -> None:
        node = self._existing(source)
        self._overlay.put(self._new_place(path), node if mode is None else node.with_mode(mode))
        self._record("copy", path, source)

    def rename(self, source: str, path: str) -> None:
        self._move(source, path, free=False)
        self._record("rename", path, source)

    def move(self, source: str, path: str) -> None:
        self._move(source, path, free=True)
        self._record("move", path, source)

    def exchange(self, source: str, path: str) -> None:
        one, two = self._overlay.place(source), self._overlay.place(path)
        for place, spelt in ((one, source), (two, path)):
            if _node_info(self._overlay.lookup(place)) is None:
                raise _error(errno.ENOENT, spelt)
        aside = files.temporary_name(two)
        self._overlay.move(two, aside)
        self._overlay.move(one, two)
        self._overlay.move(aside, one)
        self._record("exchange", path, source)

    def _move(self, source: str, path: str, free: bool) -> None:
        place = self._overlay.place(source)
        if _node_info(self._overlay.lookup(place)) is None:
            raise _error(errno.ENOENT, source)
        self._overlay.move(place, self._new_place(path, free))

    def remove(self, path: str) -> None:
        found = self.info(path)
        if found is None:
            raise _error(errno.ENOENT, path)
        if found.kind == "folder":
            raise _error(errno.EISDIR, path)
        self._overlay.put(self._overlay.place(path), Node("absent"))
        self._record("remove", path)

    def rmdir(self, path: str) -> None:
        found = self.info(path)
        if found is None or found.kind != "folder":
            raise _error(errno.ENOENT if found is None else errno.ENOTDIR, path)
        if self.names(path):
            raise _error(errno.ENOTEMPTY, path)
        self._overlay.put(self._overlay.place(path), Node("absent"))
        self._record("remove folder", path)

    def remove_tree(self, path: str) -> None:
        if self.kind(path) != "folder":
            raise _error(errno.ENOTDIR, path)
        self._overlay.put(self._overlay.place(path), Node("absent"))
        self._record("remove tree", path)

    def chmod(self, path: str, mode: int) -> None:
        place = self._overlay.resolve(path)
        self._overlay.put(place, self._existing(path).with_mode(mode), keep_children=True)
        self._record("set mode", path, f"{mode:04o}")

    def _record(self, verb: str, path: str, source: str = "") -> None:
        self.steps.append(Step(verb, path, source))

    def _existing(self, path: str) -> Node:
        node = self._overlay.lookup(self._overlay.resolve(path))
        if _node_info(node) is None:
            raise _error(errno.ENOENT, path)
        return node

    def _new_place(self, path: str, free: bool = False) -> str:
        """Where `path` would be made, with the errors that the disk would give."""
        place = self._overlay.place(path)
        parent = _node_info(self._overlay.lookup(os.path.dirname(place)))
        if parent is None or parent.kind != "folder":
            raise _error(errno.ENOENT if parent is None else errno.ENOTDIR, path)
        there = _node_info(self._overlay.lookup(place))
        if there is not None and (free or there.kind == "folder"):
            raise _error(errno.EEXIST if free else errno.EISDIR, path)
        return place


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)


def _node_info(node: Node) -> FileInfo | None:
    if node.kind == "absent":
        return None
    if node.kind != "disk":
        kind: Kind = node.kind
        return FileInfo(kind, node.mode, len(node.data), 0, _uid(), _gid(), 1, (0, id(node)))
    try:
        found = _file_info(os.lstat(node.real))
    except (FileNotFoundError, NotADirectoryError):
        return None
    if node.mode < 0:
        return found
    return FileInfo(
        found.kind,
        node.mode,
        found.size,
        found.mtime_ns,
        found.uid,
        found.gid,
        found.links,
        found.identity,
    )


def _file_info(found: os.stat_result) -> FileInfo:
    kind: Kind = "other"
    if junctions.is_junction(found):
        kind = "junction"
    elif stat.S_ISLNK(found.st_mode):
        kind = "link"
    elif stat.S_ISDIR(found.st_mode):
        kind = "folder"
    elif stat.S_ISREG(found.st_mode):
        kind = "file"
    return FileInfo(
        kind,
        stat.S_IMODE(found.st_mode),
        found.st_size,
        found.st_mtime_ns,
        found.st_uid,
        found.st_gid,
        found.st_nlink,
        (found.st_dev, found.st_ino),
    )


def _uid() -> int:
    return os.getuid() if os.name != "nt" else 0


def _gid() -> int:
    return os.getgid() if os.name != "nt" else 0


def _own(descriptor: int, owner: tuple[int, int] | None) -> None:
    if owner is None:
        return
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != owner:
        os.fchown(descriptor, *owner)


def _sync_folder(folder: str) -> None:
    """Make a rename last through a power cut, where folders can be synced at all."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder; the rename itself has been done.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EROFS}:
            raise
    finally:
        os.close(descriptor)


def _move_across(source: str, path: str) -> None:
    """Move between volumes: the whole copy first, under a temporary name, then the source goes."""
    temporary = files.temporary_name(path)
    is_folder = os.path.isdir(source) and not os.path.islink(source)
    try:
        if is_folder:
            shutil.copytree(source, temporary, symlinks=True)
        else:
            shutil.copy2(source, temporary, follow_symlinks=False)
        os.rename(temporary, path)
    except BaseException:
        shutil.rmtree(temporary) if os.path.isdir(temporary) else files.remove_if_there(temporary)
        raise
    shutil.rmtree(source) if is_folder else os.unlink(source)
