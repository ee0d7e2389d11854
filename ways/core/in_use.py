"""A running program's claim on the version folder that it runs from (spec: installer, "ways update").

A frozen program loads modules from its folder for as long as it runs, so the folder must stay. Each
process holds a shared lock on one file in it from its start to its end; the update removes an old version
only when it gets the exclusive one (docs/decisions/updating.md). A hook pays one open and one flock.
"""

from __future__ import annotations

import os

from ways.core.environment import version_folder

NAME = ".in-use.lock"
_held: list[int] = []


def hold() -> None:
    """Take the shared lock on the version that this process runs from and keep it until the process ends.

    Does nothing for a program that runs from source, and on Windows, where a folder with a running program
    cannot be removed anyway. A lock that cannot be had is no reason not to run.
    """
    if os.name == "nt" or _held:
        return
    folder = version_folder()
    if folder:
        share(folder)


def share(folder: str) -> bool:
    """Hold the shared lock of a version folder until this process ends; False when it cannot be had."""
    import fcntl

    flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(os.path.join(folder, NAME), flags, 0o644)
    except OSError:
        return False  # a read-only installation is not updated from here either
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return False
    _held.append(descriptor)
    return True
