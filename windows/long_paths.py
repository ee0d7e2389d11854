"""Paths longer than 260 characters on Windows.

`ways.exe` says in its manifest (`windows/ways.exe.manifest`) that it takes long paths, which is enough where
the machine allows them (`LongPathsEnabled`). Where it does not, a path in the extended form works with every
version of Windows.
"""

from __future__ import annotations

import ntpath
import os

# CreateDirectory wants room for an 8.3 name behind a folder: 260 less 12.
LIMIT = 248
_PREFIX = "\\\\?\\"


def extended(path: str) -> str:
    """The extended form of an absolute Windows path that is too long for the plain one; any other as it is.

    The extended form is taken literally by Windows, so `.` and `..` are resolved and slashes turned first.
    """
    if len(path) < LIMIT or path.startswith((_PREFIX, "\\\\.\\")):
        return path
    drive, rest = ntpath.splitdrive(path)
    if not drive or not rest.startswith(("\\", "/")):
        return path
    plain = ntpath.normpath(path)
    return f"{_PREFIX}UNC{plain[1:]}" if plain.startswith("\\\\") else _PREFIX + plain


def usable(path: str) -> str:
    """`path` in the form that this machine's file calls take, however long it is."""
    return extended(path) if os.name == "nt" else path
