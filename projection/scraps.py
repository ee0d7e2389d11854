"""Temporary files that a killed run left beside what it was writing."""

from __future__ import annotations

import os
import re

from projection.system import System
from ways.core import processes
from ways.core.files import TEMPORARY_MARK

_NAME = re.compile(rf"^\..*{re.escape(TEMPORARY_MARK)}(\d+)-\d+-\d+$")


def is_scrap(name: str) -> bool:
    """True for a temporary name whose process is gone (or is this one, which holds the lock and is not
    writing just now)."""
    found = _NAME.match(name)
    return found is not None and not other_process_runs(int(found[1]))


def sweep(system: System, folder: str) -> None:
    """Remove the scraps in a folder of ours (state root or app) and all below it. Raises OSError.

    A scrap of a move between volumes is a partial copy: the original is still where it was.
    """
    if system.kind(folder) != "folder":
        return
    for name in system.names(folder):
        path = os.path.join(folder, name)
        kind = system.kind(path)
        if is_scrap(name):
            system.remove_tree(path) if kind == "folder" else system.remove(path)
        elif kind == "folder":
            sweep(system, path)


def other_process_runs(pid: int) -> bool:
    """True when another process than this one has that number now, or when that cannot be told.

    On Windows asking costs more than waiting: such leftovers stay until that number is free.
    """
    return pid != os.getpid() and processes.may_run(pid)
