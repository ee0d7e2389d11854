"""Where Windows itself says that the user's folders are.

The roots follow `%LOCALAPPDATA%` and `%USERPROFILE%`, as every other program does. A service, a job or an SSH
session may lack them or carry another account's; an installation made there would not be found from a
desktop. So the installer compares the variables with what Windows says.
"""

from __future__ import annotations

import ntpath
import sys
import uuid
from collections.abc import Mapping

# The documented identifiers of the folders, by the variable that should name them.
FOLDERS = {
    "LOCALAPPDATA": "F1B32785-6FBA-4FCF-9D55-7B8E7F157091",
    "USERPROFILE": "5E6C858F-0E22-4760-9AFE-EA3317B67173",
}


def identifier(text: str) -> bytes:
    """The 16 bytes of a GUID as Windows lays them out in memory."""
    return uuid.UUID(text).bytes_le


def disagreements(environ: Mapping[str, str], folders: Mapping[str, str]) -> list[str]:
    """Sentences on variables that are missing or lead elsewhere than `folders` (by variable's name) says."""
    found = []
    for name, path in folders.items():
        value = environ.get(name, "")
        if not value:
            found.append(f"{name} is not set; Windows keeps it at {path}")
        elif ntpath.normcase(ntpath.normpath(value)) != ntpath.normcase(ntpath.normpath(path)):
            found.append(f"{name} is {value}, and Windows keeps it at {path}")
    return found


def known_folders() -> dict[str, str]:
    """The folders by the variable that should name them. Raises OSError; NotImplementedError off Windows."""
    if sys.platform != "win32":
        raise NotImplementedError("known folders exist on Windows only")
    import ctypes

    shell32, ole32 = ctypes.WinDLL("shell32"), ctypes.WinDLL("ole32")
    get = shell32.SHGetKnownFolderPath
    get.argtypes = [ctypes.c_char_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
    get.restype = ctypes.c_int32
    ole32.CoTaskMemFree.argtypes = [ctypes.c_void_p]
    found = {}
    for name, guid in FOLDERS.items():
        text = ctypes.c_void_p()
        result = get(identifier(guid), 0, None, ctypes.byref(text))
        try:
            if result < 0:
                raise ctypes.WinError(result & 0xFFFF)
            found[name] = ctypes.wstring_at(text.value or 0)
        finally:
            ole32.CoTaskMemFree(text)
    return found
