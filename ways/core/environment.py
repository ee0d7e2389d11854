"""The environment that our children get: the user's own, without the bundle's (spec: installer)."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Just those that PyInstaller's starter sets: LD_PRELOAD and macOS's DYLD_… are the user's, and stay.
_LOADER_VARIABLES = ("LD_LIBRARY_PATH", "LIBPATH")
# Asked for twice in each hook, and answered by a look at every folder above.
_folders: dict[str, str] = {}
_RUNTIME_PREFIXES = ("_PYI_", "_MEIPASS", "PYINSTALLER_RESET_ENVIRONMENT")
_restored: list[bool] = []  # holds something once this process's own environment is the user's again


def child_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """A copy of the environment as the user had it before the frozen program started.

    PyInstaller keeps the former value of a loader variable in `<NAME>_ORIG`; it is restored, and
    what had no former value is removed (only when we are frozen: otherwise it is the user's own).
    """
    source = dict(os.environ if environ is None else environ)
    if getattr(sys, "frozen", False) and not _restored:
        for name in _LOADER_VARIABLES:
            original = source.pop(f"{name}_ORIG", None)
            if original is None:
                source.pop(name, None)
            else:
                source[name] = original
    return {name: value for name, value in source.items() if not name.startswith(_RUNTIME_PREFIXES)}


def restore() -> None:
    """Make this process's own environment the user's again, for children that other code starts: a pager, the
    git of a macro in Python. The system's loader has read its variables before; no library needs them now.
    Does nothing when the program runs from source.
    """
    if _restored or not getattr(sys, "frozen", False):
        return
    kept = child_environment()
    for name in list(os.environ):
        if name not in kept:
            del os.environ[name]
        elif os.environ[name] != kept[name]:
            os.environ[name] = kept[name]
    _restored.append(True)


def version_folder() -> str:
    """The folder `versions/<version>` that this frozen program runs from, "" when it runs from source.

    It is found from the executable itself, so it holds for a staged program that is not the active one,
    and behind whatever links the program was reached.
    """
    if not getattr(sys, "frozen", False):
        return ""
    program = sys.executable
    if program not in _folders:
        _folders[program] = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    return _folders[program]


def platform_name(platform: str | None = None) -> str:
    """`linux`, `macos` or `windows`: the names that `when: os:` and archives use."""
    platform = sys.platform if platform is None else platform
    if platform.startswith(("win", "cygwin", "msys")):
        return "windows"
    return "macos" if platform == "darwin" else "linux"
