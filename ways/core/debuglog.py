"""The debug log: one line a fault, in `{state}/debug.log`, so that a silent hook can be explained.

Written only when something went wrong (or WAYS_DEBUG=1), so a healthy hook never opens it. Kept
under 1 MiB by starting over. Failing to write it must not disturb anyone: the state root may be
read-only, and the hook's answer matters more.
"""

from __future__ import annotations

import os

from ways.core import clock
from ways.core.files import make_private

MAX_BYTES = 1 << 20


def note(state_root: str, where: str, message: str) -> None:
    """Append `<time> <pid> <where>: <message>`; the message is folded to one line."""
    line = f"{clock.utc_iso()} {os.getpid()} {where}: {' '.join(message.split())[:2000]}\n"
    path = os.path.join(state_root, "debug.log")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    try:
        make_private(state_root)
        descriptor = os.open(path, flags, 0o600)
        try:
            if os.fstat(descriptor).st_size > MAX_BYTES:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, line.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        # There is no further place to report that the place for reports is unusable.
        return
