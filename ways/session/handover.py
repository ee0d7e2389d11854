"""Files that one hook leaves for exactly one other: claimed by rename, so that no two get the same.

Names sort by time and are unique across processes. The stash and the held context are built on this.
"""

from __future__ import annotations

import os
import time

from ways.core import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ways.session.state import Session

SWEEP_SECONDS = 3600.0
MAX_FILES = 1_000
MAX_BYTES = 8 << 20
_CLAIMED = ".claimed-"
_counter = 0


def unique_stamp() -> str:
    """A name that sorts by time (to the nanosecond) and that no other process or call produces."""
    global _counter  # noqa: PLW0603 - unique within the process
    _counter += 1
    return f"{time.time_ns():020d}-{os.getpid():010d}-{_counter:06d}"


def leave(session: Session, folder: str, name: str, document: dict[str, Any]) -> None:
    """Write `<folder>/<name>.json`. Raises OSError."""
    session.write(session.path(folder, f"{name}.json"), jsontext.dump_bytes(jsontext.clean_tree(document)))


def waiting(session: Session, folder: str) -> list[str]:
    """Names of the files not claimed yet, oldest first, at most 1,000."""
    try:
        names = os.listdir(session.path(folder))
    except OSError:
        return []
    return sorted(name[:-5] for name in names if name.endswith(".json") and not name.startswith("."))[
        :MAX_FILES
    ]


def peek(session: Session, folder: str, name: str) -> dict[str, Any] | None:
    """The content of a file that waits; None when it has gone or is damaged."""
    data = files.read_bytes_or_none(session.path(folder, f"{name}.json"), MAX_BYTES)
    document = jsontext.loads_or_none(data)
    return document if isinstance(document, dict) else None


def claim(session: Session, folder: str, name: str) -> dict[str, Any] | None:
    """Take the file: its content, {} when it was damaged, None when another was quicker. It is
    deleted; a crash in between leaves a claimed file for `sweep`."""
    claimed = session.path(folder, f"{name}{_CLAIMED}{time.time_ns()}-{os.getpid()}")
    try:
        files.replace(session.path(folder, f"{name}.json"), claimed)
    except OSError:
        return None
    document = jsontext.object_or_empty(files.read_bytes_or_none(claimed, MAX_BYTES))
    files.remove_if_there(claimed)
    return document


def sweep(session: Session, folder: str, now: float, unclaimed_after: float | None = None) -> int:
    """Remove files that were claimed an hour ago and left by a crash, temporary files of that age and, when
    `unclaimed_after` is given, files that nobody claimed for so many seconds; how many went."""
    gone = 0
    try:
        names = os.listdir(session.path(folder))[:MAX_FILES]
    except OSError:
        return 0
    for name in names:
        path = session.path(folder, name)
        try:
            since = _since(path, name)
            limit = unclaimed_after if since is None else SWEEP_SECONDS
            if limit is not None and now - (since or os.lstat(path).st_mtime) > limit:
                os.unlink(path)
                gone += 1
        except OSError:
            continue  # another sweep took it
    return gone


def _since(path: str, name: str) -> float | None:
    """When the file was claimed or half-written (seconds); None for a file that just waits."""
    _, mark, rest = name.partition(_CLAIMED)
    nanoseconds = rest.split("-", 1)[0]
    if mark and nanoseconds.isdigit() and len(nanoseconds) <= 20:
        return int(nanoseconds) / 1e9
    return os.lstat(path).st_mtime if mark or files.TEMPORARY_MARK in name else None
