"""Paths longer than 260 characters on Windows.

`ways.exe` says in its manifest (`windows/ways.exe.manifest`) that it takes long paths, which is enough where
the machine allows them (`LongPathsEnabled`). Where it does not, a path in the extended form works with every
version of Windows.
"""

from __future__ import annotations

import ntpath
import sys

# CreateDirectory wants room for an 8.3 name behind a folder: 260 less 12.
LIMIT = 248
# MAX_PATH without the final zero.
MOST = 259
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


def allowed() -> bool:
    """True where programs that say so may use long paths plainly: `LongPathsEnabled`, as Windows itself sees
    it for this process. True off Windows."""
    if sys.platform != "win32":
        return True
    import ctypes

    try:
        ask = ctypes.WinDLL("ntdll").RtlAreLongPathsEnabled
    except AttributeError:
        return False  # older than Windows 10 1607
    ask.restype = ctypes.c_ubyte
    return bool(ask())


def complaint(folder: str, longest: int, are_allowed: bool) -> str:
    """What to say of a folder that holds files whose longest path inside it has `longest` characters; "" when
    all can be reached."""
    whole = len(folder) + 1 + longest
    if are_allowed or whole <= MOST:
        return ""
    return (
        f"{folder} holds paths of up to {whole} characters and this machine allows {MOST}; other programs, "
        "and parts of ways, may not reach them (Windows' setting LongPathsEnabled, or a shorter folder)"
    )
