"""Whether a process is there, asked of its number alone."""

from __future__ import annotations

import os

from ways.core import files


def may_run(pid: int) -> bool:
    """False only when no process has that number now, or only the remains of one that has ended and that
    nobody has waited for (in a container whose first process does not, those stay); True when one runs, or
    when it cannot be told.

    On Windows it cannot be told from here: `os.kill` would end the process there.
    """
    if pid <= 0:
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """True when Linux says that only the process's exit code is left."""
    stat = files.read_bytes_or_none(f"/proc/{pid}/stat", 4096) or b""
    # The state is the first field after the name, which stands in parentheses and may hold anything.
    return stat.rpartition(b")")[2].split()[:1] in ([b"Z"], [b"X"])
