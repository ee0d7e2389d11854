"""Writing the event log (spec: telemetry; roots and files, the rules for appends).

One JSON object a line, every value a string. A batch is one write under a lock; a hook that cannot
have the lock in 200 ms leaves its lines in `events.d/` beside the log, and the next writer that has
it folds them in. No line is lost, torn or interleaved. Nothing reads the log on a hook's path.
"""

from __future__ import annotations

import os
import time

from ways.core import clock, debuglog, files, jsontext
from ways.core.locking import Lock, LockTimeout
from ways.core.text import clean
from ways.telemetry import compaction, folding
from ways.telemetry.lines import append_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCK_SECONDS = 0.2
MAX_VALUE = 4_000
_counter = 0


def event(name: str, /, **fields: object) -> dict[str, str]:
    """One event as it is logged: `ts` now, `event`, then the fields as strings.

    None is left out (a field without a value), an empty string stays (computed and empty). Numbers
    with a fraction have six significant digits and are left out when not finite; a list or tuple is joined
    by commas; lone surrogates are replaced; a value is cut at 4,000 characters.
    """
    line = {"ts": clock.utc_iso(), "event": clean(name)}
    for key, value in fields.items():
        text = _text(value)
        if text is not None:
            line[key] = text
    return line


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, ".6g") if value - value == 0 else None
    if isinstance(value, list | tuple):
        return _bounded(",".join(text for item in value if (text := _text(item)) is not None))
    return _bounded(str(value))


def _bounded(text: str) -> str:
    return clean(text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…")


def append(
    events_path: str,
    events: Sequence[Mapping[str, str]],
    *,
    timeout: float = LOCK_SECONDS,
    limits: compaction.Limits = compaction.DEFAULT,
) -> bool:
    """Append the events, in order. True when they are in the log or in `events.d/`.

    Never raises OSError: a disk that takes neither is a line in the debug log and False, because the
    hook's answer matters more.
    """
    if not events:
        return True
    data = b"".join(jsontext.dump_bytes(dict(line)) for line in events)
    why = _append_locked(events_path, data, timeout, limits)
    if not why:
        return True
    state_root = os.path.dirname(events_path)
    try:
        _spill(events_path, data)
    except OSError as error:
        debuglog.note(state_root, "event log", f"{len(events)} events lost: {why}; {error}")
        return False
    debuglog.note(state_root, "event log", f"{len(events)} events put aside: {why}")
    return True


def _append_locked(events_path: str, data: bytes, timeout: float, limits: compaction.Limits) -> str:
    """Fold, append and compact under the lock; "" or why the lines are not in the log."""
    try:
        files.make_private(os.path.dirname(events_path))
        with Lock(lock_path(events_path), timeout):
            folding.fold(events_path)
            written = append_bytes(events_path, data)
            try:
                compaction.compact_if_due(events_path, written, limits)
            except OSError as error:
                debuglog.note(os.path.dirname(events_path), "event log", f"not compacted: {error}")
    except LockTimeout as error:
        return str(error)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def lock_path(events_path: str) -> str:
    """The lock of the log; never the log itself."""
    return f"{events_path}.lock"


def _spill(events_path: str, data: bytes) -> None:
    """Leave the lines in a file of our own, complete from its first moment. Raises OSError."""
    global _counter  # noqa: PLW0603 - unique within the process
    _counter += 1
    folder = folding.folder_of(events_path)
    files.make_private(folder)
    name = f"{os.getpid()}-{time.time_ns()}{_counter:04d}.jsonl"
    files.write_atomic(os.path.join(folder, name), data)
