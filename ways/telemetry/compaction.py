"""Keeping the event log bounded (spec: telemetry): past 32 MiB down to the newest 24 MiB.

Every `judge_call` line of the part that goes is carried over, because it records money. When those
free too little, the next attempt waits until the log has grown a further 8 MiB.
"""

from __future__ import annotations

import os

from ways.core import files, jsontext
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

MIB = 1 << 20
_BLOCK = 256 * 1024
_MAX_LINE = 1 << 20
_CARRIED = b"judge_call"


@record
class Limits:
    """Bytes: compact past `past`, keep the newest `keep`, and wait for `growth` after a compaction."""

    past: int = 32 * MIB
    keep: int = 24 * MIB
    growth: int = 8 * MIB


DEFAULT = Limits()


def compact_if_due(events_path: str, size: int, limits: Limits = DEFAULT) -> bool:
    """Compact when the log of `size` bytes is due; True when it was done. The lock must be held.

    Raises OSError, with the log unchanged; then too the next attempt waits for growth, so that a log that
    cannot be replaced does not cost every hook an attempt.
    """
    last = _last_size(events_path, size)
    if size <= limits.past or (last and size <= last + limits.growth):
        return False
    try:
        after = compact(events_path, limits.keep)
    except OSError:
        _remember(events_path, size)
        raise
    _remember(events_path, after)
    return True


def compact(events_path: str, keep: int) -> int:
    """Replace the log by its carried lines and its newest `keep` bytes from a line's beginning; the
    new size. The lock must be held. Raises OSError, with the log unchanged."""
    real = os.path.realpath(events_path)
    _sweep(real)
    temporary = files.temporary_name(real)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        target = os.open(temporary, flags, 0o600)
        try:
            with open(real, "rb", buffering=_BLOCK) as log:
                start = _cut(log.fileno(), os.fstat(log.fileno()).st_size, keep)
                size = _carry(log, start, target)
                log.seek(start)
                while block := log.read(_BLOCK):
                    files.write_all(target, block)
                    size += len(block)
        finally:
            os.close(target)
        files.replace(temporary, real)
    except BaseException:
        files.remove_if_there(temporary)
        raise
    return size


def _sweep(real: str) -> None:
    """Remove what a compaction that was killed left behind; under the lock no other one is at work."""
    folder, name = os.path.split(real)
    for entry in os.listdir(folder):
        if entry.startswith(f".{name}{files.TEMPORARY_MARK}"):
            files.remove_if_there(os.path.join(folder, entry))


def _cut(descriptor: int, size: int, keep: int) -> int:
    """Where the kept part begins: the first line's beginning within the newest `keep` bytes, or the end."""
    position = max(0, size - keep)
    if position == 0:
        return 0
    position -= 1  # a line may begin exactly at the cut
    while position < size:
        os.lseek(descriptor, position, os.SEEK_SET)
        block = os.read(descriptor, _BLOCK)
        if not block:
            break
        newline = block.find(b"\n")
        if newline >= 0:
            return position + newline + 1
        position += len(block)
    return size


def _carry(log: BinaryIO, end: int, target: int) -> int:
    """Copy the judge_call lines before `end` to `target`; how many bytes that were."""
    log.seek(0)
    position = carried = 0
    while position < end:
        line = log.readline(_MAX_LINE)
        if not line:
            break
        position += len(line)
        if _is_carried(line):
            line = line.rstrip(b"\n") + b"\n"
            files.write_all(target, line)
            carried += len(line)
    return carried


def _is_carried(line: bytes) -> bool:
    return _CARRIED in line and jsontext.object_or_empty(line).get("event") == "judge_call"


def _note_path(events_path: str) -> str:
    return f"{events_path}.compacted"


def _last_size(events_path: str, size: int) -> int:
    """The log's size after the last compaction, 0 when there was none or the log is a new one."""
    data = files.read_bytes_or_none(_note_path(events_path), 32)
    text = (data or b"").strip()
    last = int(text) if text.isdigit() else 0
    return last if last <= size else 0


def _remember(events_path: str, size: int) -> None:
    files.write_atomic(_note_path(events_path), b"%d\n" % size)
