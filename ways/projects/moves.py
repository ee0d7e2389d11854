"""Moving history: the one way in which this package changes anything.

A batch of moves has a folder in the trash, `{state}/trash/projects/<batch>/`, and a `batch.json` in it that
is written before the first move and says where each thing came from and went to. So whatever happens in
between, `restore` brings everything back. Nothing is overwritten, nothing is deleted but by `empty`.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import asdict, dataclass
from typing import Any

from ways.core import clock, files, jsontext
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.core.locking import Lock, LockTimeout

LOCK_SECONDS = 10.0
CLEANUP, RELOCATE = "cleanup", "relocate"
_RECORD = "batch.json"
_MAX_RECORD = 64 << 20


@dataclass(frozen=True)
class Move:
    """One file or folder to be moved, with its size in bytes and the state it was planned in."""

    source: str
    target: str
    size: int
    modified_ns: int


@dataclass(frozen=True)
class Batch:
    """What was moved at one time: `kind` is cleanup or relocate, `root` the projects folder."""

    id: str
    kind: str
    root: str
    made: str
    moves: tuple[Move, ...]

    @property
    def size(self) -> int:
        """Bytes of all its moves."""
        return sum(move.size for move in self.moves)


class Inside:
    """Checks that a path lies below the projects folder with no link on the way."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)

    def holds(self, path: str) -> bool:
        """True for a path strictly below the root none of whose folders below the root is a link."""
        relative = os.path.relpath(path, self.root)
        parts = relative.split(os.sep)
        if relative == os.curdir or os.pardir in parts or os.path.isabs(relative):
            return False
        at = self.root
        for part in parts[:-1]:
            at = os.path.join(at, part)
            if os.path.islink(at):
                return False
        return not os.path.islink(path)


def trash_folder(state: str) -> str:
    """Where batches lie."""
    return os.path.join(state, "trash", "projects")


def move_of(source: str, target: str, size: int) -> Move:
    """A move of what is there now. Raises OSError."""
    return Move(source, target, size, os.lstat(source).st_mtime_ns)


def new_batch(state: str, kind: str, root: str) -> str:
    """The folder of a new batch, made. Raises UserError."""
    base = trash_folder(state)
    stamp = clock.utc_iso().replace(":", "").replace("-", "").split(".")[0].rstrip("Z")
    try:
        files.make_private(base)
        for number in range(1, 1000):
            folder = os.path.join(base, f"{stamp}-{number}")
            try:
                os.mkdir(folder, 0o700)
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise UserError(f"{base}: {error.strerror or error}", "", WRITE_FAILED) from error
    raise UserError(f"{base} has no room for another batch", "ways projects restore", WRITE_FAILED)


def apply(state: str, kind: str, root: str, folder: str, moves: list[Move]) -> Batch:
    """Make the moves of a batch whose folder is `folder`, all or none.

    Raises UserError: something was changed since the plan or lies outside the projects folder (exit 3), or
    a move failed (5). What had been moved is then back in its place.
    """
    inside = Inside(root)
    batch = Batch(os.path.basename(folder), kind, inside.root, clock.utc_iso(), tuple(moves))
    try:
        with Lock(os.path.join(state, "locks", "projects.lock"), LOCK_SECONDS):
            for move in moves:
                _check(inside, folder, move)
            _write(folder, batch)
            done: list[Move] = []
            try:
                for move in moves:
                    _check(inside, folder, move)
                    _move(move.source, move.target)
                    done.append(move)
            except BaseException:
                for move in reversed(done):
                    _move(move.target, move.source)
                # A copy whose original could only be removed in part stays, with the record that names it.
                if not any(os.path.lexists(move.target) for move in moves):
                    _remove_record(folder)
                raise
    except LockTimeout as error:
        raise UserError(f"another `ways projects` is at work ({error.why})", "", WRITE_FAILED) from error
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: {error.strerror or error}; nothing was moved", "", WRITE_FAILED
        ) from error
    return batch


def _check(inside: Inside, folder: str, move: Move) -> None:
    """Raises UserError when a move is not what was planned. Looked at again right before each move."""
    if not inside.holds(move.source):
        raise UserError(f"{move.source} is not inside {inside.root}; nothing was moved", "", REFUSED)
    if not inside.holds(move.target) and not Inside(folder).holds(move.target):
        raise UserError(f"{move.target} is outside the history; nothing was moved", "", REFUSED)
    if os.path.lexists(move.target):
        raise UserError(f"{move.target} is there already; nothing was moved", "", REFUSED)
    if os.lstat(move.source).st_mtime_ns != move.modified_ns:
        raise UserError(
            f"{move.source} has changed since the plan; nothing was moved", "run the command again", REFUSED
        )


def _move(source: str, target: str) -> None:
    """Rename, or copy completely before the original goes where the two are on different file systems."""
    files.make_private(os.path.dirname(target))
    try:
        os.rename(source, target)
        return
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    part = f"{target}.part"
    try:
        if os.path.isdir(source):
            shutil.copytree(source, part, symlinks=True)
        else:
            shutil.copy2(source, part, follow_symlinks=False)
        os.rename(part, target)
    except BaseException:
        _discard(part)
        raise
    _discard(source)


def _discard(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        files.remove_if_there(path)


def _write(folder: str, batch: Batch) -> None:
    data = json.dumps(asdict(batch), indent=1).encode("utf-8", "surrogateescape")
    files.write_atomic(os.path.join(folder, _RECORD), data, durable=True)


def _remove_record(folder: str) -> None:
    files.remove_if_there(os.path.join(folder, _RECORD))
    try:
        os.removedirs(folder)
    except OSError:
        pass  # something is still in it, or another batch lies beside it


def batches(state: str) -> list[Batch]:
    """Every batch that can be brought back, the newest first; a damaged record is left out."""
    base = trash_folder(state)
    try:
        names = sorted(os.listdir(base), reverse=True)
    except OSError:
        return []
    return [batch for name in names if (batch := read(os.path.join(base, name))) is not None]


def read(folder: str) -> Batch | None:
    """The batch in a folder of the trash, None when its record is missing or damaged."""
    document: dict[str, Any] = jsontext.object_or_empty(
        files.read_bytes_or_none(os.path.join(folder, _RECORD), _MAX_RECORD)
    )
    rows = document.get("moves")
    texts = [document.get(name) for name in ("id", "kind", "root", "made")]
    if not isinstance(rows, list) or not all(isinstance(text, str) for text in texts):
        return None
    moves = []
    for row in rows:
        if not isinstance(row, dict) or set(row) != {"source", "target", "size", "modified_ns"}:
            return None
        if [type(row[name]) for name in ("source", "target", "size", "modified_ns")] != [str, str, int, int]:
            return None
        moves.append(Move(**row))
    if document["id"] != os.path.basename(folder):
        return None
    return Batch(document["id"], document["kind"], document["root"], document["made"], tuple(moves))


def restore(state: str, batch_id: str) -> list[Move]:
    """Move everything of a batch back to where it came from. Returns what was moved.

    What is already back is passed over, so that an interrupted restore can be finished. Raises UserError:
    no such batch (2), something lies in the way (3), a move failed (5).
    """
    batch = next((one for one in batches(state) if one.id == batch_id), None)
    if batch is None:
        raise UserError(f"there is no batch {batch_id!r} in the trash", "ways projects restore", USAGE)
    folder = os.path.join(trash_folder(state), batch.id)
    inside, trashed = Inside(batch.root), Inside(folder)
    waiting = [move for move in batch.moves if os.path.lexists(move.target)]
    moved: list[Move] = []
    try:
        with Lock(os.path.join(state, "locks", "projects.lock"), LOCK_SECONDS):
            for move in waiting:
                if not inside.holds(move.source) or not (
                    trashed.holds(move.target) or inside.holds(move.target)
                ):
                    raise UserError(f"{move.source} is not inside {batch.root}", "", REFUSED)
                if os.path.lexists(move.source):
                    raise UserError(
                        f"{move.source} is there again; nothing was restored", "move it away", REFUSED
                    )
            for move in reversed(waiting):
                _move(move.target, move.source)
                moved.append(move)
            _clear(folder)
    except LockTimeout as error:
        raise UserError(f"another `ways projects` is at work ({error.why})", "", WRITE_FAILED) from error
    except OSError as error:
        raise UserError(
            f"{error.filename or folder}: {error.strerror or error}; {len(moved)} were restored",
            f"ways projects restore {batch_id}",
            WRITE_FAILED,
        ) from error
    return moved


def empty(state: str, batch: Batch) -> None:
    """Delete a batch of the trash for good. Only what lies in its own folder goes. Raises UserError."""
    folder = os.path.join(trash_folder(state), batch.id)
    try:
        _discard(folder)
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}", "", WRITE_FAILED) from error


def _clear(folder: str) -> None:
    """Take away a batch's record and what is left of its empty folders."""
    files.remove_if_there(os.path.join(folder, _RECORD))
    for place, _folders, _files in os.walk(folder, topdown=False):
        try:
            os.rmdir(place)
        except OSError:
            return  # something else lies here: it stays
