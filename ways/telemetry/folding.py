"""Folding lines that were put aside into the event log, each exactly once.

A file `events.d/<pid>-<n>.jsonl` is renamed to `….folding-<offset>` before its content is appended at that
offset, and removed afterwards. Whoever finds a `folding` file (its writer was killed) looks at the log
at that offset: the content is there, or it is appended now.
"""

from __future__ import annotations

import os

from ways.core import files
from ways.telemetry.lines import append_bytes

MAX_FILES = 200
MAX_BYTES = 4 << 20
_FOLDING = ".folding-"


def folder_of(events_path: str) -> str:
    """`events.d` beside `events.jsonl`."""
    return f"{events_path.removesuffix('.jsonl')}.d"


def waiting(events_path: str) -> list[str]:
    """Paths of the files put aside, oldest name first, those being folded included."""
    folder = folder_of(events_path)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    mine = (name for name in names if not name.startswith(".") and ".jsonl" in name)
    return [os.path.join(folder, name) for name in sorted(mine)]


def fold(events_path: str) -> None:
    """Fold what waits, a bounded amount at a time. The lock must be held. Raises OSError."""
    paths = waiting(events_path)
    if not paths:
        return
    unfinished = [path for path in paths if _FOLDING in os.path.basename(path)]
    for path in unfinished:
        _finish(events_path, path)
    taken = 0
    for path in [path for path in paths if path.endswith(".jsonl")][:MAX_FILES]:
        if taken >= MAX_BYTES:
            return
        data = _lines(files.read_bytes_or_none(path))
        if data is None:
            continue
        taken += len(data)
        _start(events_path, path, data)


def _start(events_path: str, path: str, data: bytes) -> None:
    # An append of nothing ends a torn last line and tells the offset at which the content will stand.
    offset = append_bytes(events_path, b"")
    claimed = f"{path}{_FOLDING}{offset}"
    files.replace(path, claimed)
    append_bytes(events_path, data)
    files.remove_if_there(claimed)


def _finish(events_path: str, path: str) -> None:
    """Append what a killed writer may not have appended, and remove the file."""
    data = _lines(files.read_bytes_or_none(path))
    if data is None:
        return
    offset = path.rpartition(_FOLDING)[2]
    if not (offset.isdigit() and _is_at(events_path, int(offset), data)):
        position = append_bytes(events_path, b"")
        renamed = f"{path.rpartition(_FOLDING)[0]}{_FOLDING}{position}"
        files.replace(path, renamed)
        path = renamed
        append_bytes(events_path, data)
    files.remove_if_there(path)


def _lines(data: bytes | None) -> bytes | None:
    """The content with its last line ended; None when the file cannot be read now."""
    if data is None:
        return None
    return data if not data or data.endswith(b"\n") else data + b"\n"


def _is_at(events_path: str, offset: int, data: bytes) -> bool:
    try:
        with open(events_path, "rb") as log:
            log.seek(offset)
            return log.read(len(data)) == data
    except OSError:
        return False
