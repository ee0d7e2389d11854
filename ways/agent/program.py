"""Whether the program on the disk is still the one that runs (the agent leaves when it is replaced)."""

from __future__ import annotations

import os
import sys

import ways
from ways.core import active
from ways.core.roots import Roots


def identity(roots: Roots) -> tuple[object, ...]:
    """What changes when the program is replaced: the executable, the version that the app root points
    to, and, from source, the package's version file."""
    watched = [sys.executable, os.path.join(roots.app, "current.txt")]
    if not getattr(sys, "frozen", False):
        watched.append(os.path.abspath(str(ways.__file__)))
    return (os.path.realpath(active.folder(roots.app)), *(_mark(path) for path in watched))


def _mark(path: str) -> tuple[int, ...]:
    try:
        info = os.stat(path)
    except OSError:
        return ()
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns
