"""The Windows console: colour and cursor sequences understood, for as long as the program runs.

Text needs nothing here: Python writes to a console in UTF-16, and to pipes and files as UTF-8, because the
command line sets its streams so. Programs that come after find the console as it was: the mode
belongs to the console and not to the process, so it is put back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

VIRTUAL_TERMINAL = 0x0004
# Standard output and error, by the numbers that GetStdHandle knows.
STREAMS = (-11, -12)


def wanted_mode(mode: int) -> int:
    """The mode of an output that understands terminal sequences, from the one it has."""
    return mode | VIRTUAL_TERMINAL


def understand_sequences() -> Callable[[], None]:
    """Turn terminal sequences on for the standard streams that are consoles; the function that puts back what
    was. A stream that is no console, or a Windows too old for it, is left alone."""
    changed: list[tuple[int, int]] = []
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        kernel32 = ctypes.WinDLL("kernel32")
        kernel32.GetStdHandle.restype = wintypes.HANDLE
        kernel32.GetConsoleMode.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD)]
        kernel32.SetConsoleMode.argtypes = [wintypes.HANDLE, wintypes.DWORD]
        for stream in STREAMS:
            handle = kernel32.GetStdHandle(stream)
            mode = wintypes.DWORD()
            if not handle or not kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
                continue
            if mode.value != wanted_mode(mode.value) and kernel32.SetConsoleMode(
                handle, wanted_mode(mode.value)
            ):
                changed.append((handle, mode.value))

        def restore() -> None:
            for handle, mode in reversed(changed):
                kernel32.SetConsoleMode(handle, mode)

        return restore
    return lambda: None
