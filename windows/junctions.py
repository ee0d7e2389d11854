"""Directory junctions: links to folders that need no privilege on Windows (spec: projection).

Written against the documented reparse point format. The functions that change a disk run on Windows
only; `reparse_data`, `plain` and `is_junction` are plain and tested everywhere.
"""

from __future__ import annotations

import os
import struct
import sys

from ways.core import files
from windows import long_paths

_MOUNT_POINT = 0xA0000003
_SET_REPARSE_POINT = 0x000900A4
# ERROR_INVALID_FUNCTION (FAT, exFAT) and ERROR_NOT_SUPPORTED (network shares; also Wine).
_NOT_HERE = frozenset({1, 50})


class NoJunctions(OSError):
    """The volume takes no junctions at all."""


def is_junction(found: os.stat_result) -> bool:
    """True when a stat result (of lstat) is that of a junction; always False off Windows."""
    return getattr(found, "st_reparse_tag", 0) == _MOUNT_POINT


def plain(path: str) -> str:
    """A path as people write it: without the `\\\\?\\` and `\\??\\` prefixes that Windows hands back."""
    if path.startswith(("\\\\?\\UNC\\", "\\??\\UNC\\")):
        return "\\\\" + path[8:]
    if path.startswith(("\\\\?\\", "\\??\\")):
        return path[4:]
    return path


def reparse_data(target: str) -> bytes:
    """The REPARSE_DATA_BUFFER of a junction to the absolute Windows path `target`."""
    substitute = ("\\??\\" + target).encode("utf-16-le")
    printed = target.encode("utf-16-le")
    names = substitute + b"\0\0" + printed + b"\0\0"
    header = struct.pack("<HHHH", 0, len(substitute), len(substitute) + 2, len(printed))
    return struct.pack("<IHH", _MOUNT_POINT, len(header) + len(names), 0) + header + names


def place(target: str, path: str) -> None:
    """Put a junction to the folder `target` at `path`; a junction that is there is replaced.

    The new one is made under a temporary name and renamed. Windows cannot rename one folder over
    another, so the old one is moved aside first and put back when the second step fails.
    Raises NoJunctions where the volume takes none, OSError; NotImplementedError off Windows.
    """
    if sys.platform != "win32":
        raise NotImplementedError("junctions exist on Windows only")
    temporary = files.temporary_name(path)
    os.mkdir(temporary)
    try:
        try:
            _set_reparse_point(long_paths.extended(temporary), reparse_data(os.path.abspath(target)))
        except OSError as error:
            raise refusal(error, path) from error
        _swap(temporary, path)
    except BaseException:
        if os.path.lexists(temporary):
            os.rmdir(temporary)
        raise


def refusal(error: OSError, path: str) -> OSError:
    """The error to raise for one that making a junction at `path` gave."""
    if getattr(error, "winerror", None) in _NOT_HERE:
        return NoJunctions(error.errno, "this volume takes no junctions", path)
    return error


def _swap(temporary: str, path: str) -> None:
    if not os.path.lexists(path):
        files.replace(temporary, path)
        return
    if not is_junction(os.lstat(path)):
        raise FileExistsError(17, "not a junction", path)
    aside = files.temporary_name(path)
    files.replace(path, aside)
    try:
        files.replace(temporary, path)
    except BaseException:
        files.replace(aside, path)
        raise
    os.rmdir(aside)


def _set_reparse_point(folder: str, data: bytes) -> None:
    import ctypes
    from ctypes import wintypes

    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    create = kernel32.CreateFileW
    create.restype = wintypes.HANDLE
    generic_write, open_existing = 0x40000000, 3
    backup_semantics, open_reparse_point = 0x02000000, 0x00200000
    handle = create(
        folder, generic_write, 0, None, open_existing, backup_semantics | open_reparse_point, None
    )
    if handle in (None, wintypes.HANDLE(-1).value):
        raise ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined,unused-ignore]
    try:
        returned = wintypes.DWORD()
        done = kernel32.DeviceIoControl(
            wintypes.HANDLE(handle),
            _SET_REPARSE_POINT,
            data,
            len(data),
            None,
            0,
            ctypes.byref(returned),
            None,
        )
        if not done:
            raise ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined,unused-ignore]
    finally:
        kernel32.CloseHandle(wintypes.HANDLE(handle))
