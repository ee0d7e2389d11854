"""Whether a process is there, asked of its number alone."""

from __future__ import annotations

import os


def may_run(pid: int) -> bool:
    """False only when no process has that number now; True when one has, or when it cannot be told.

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
        return True
    return True
