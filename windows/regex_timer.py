"""A timer that interrupts a regex search on Windows, which has no `setitimer`.

A timer-queue timer calls `PyErr_SetInterruptEx(SIGTERM)` from a system thread. CPython documents that
function as callable without the GIL; it marks the signal as received, and the regex engine, which
looks for received signals while it backtracks, runs the handler in the main thread. Windows itself
never sends SIGTERM. The callback is the C function and no ctypes closure: a closure would wait
for the GIL, which the search holds until it ends.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_EXECUTE_IN_TIMER_THREAD = 0x20
_PERIOD_MS = 10


def arm(seconds: float, handler: Callable[[int, Any], None]) -> Callable[[], None] | None:
    """Have `handler` run in this thread after `seconds` and every 10 ms from then on.

    Gives back the function that ends that and restores the former handler. None when it cannot be had:
    outside the main thread, in a 32-bit process (another calling convention), or when Windows refuses.
    """
    if os.name != "nt":
        return None
    import _signal as signals  # type: ignore[import-not-found,unused-ignore]
    import ctypes

    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        former = signals.signal(signals.SIGTERM, handler)
    except ValueError:
        return None

    def restore() -> None:
        signals.signal(signals.SIGTERM, signals.SIG_DFL if former is None else former)

    kernel32 = ctypes.WinDLL("kernel32")  # type: ignore[attr-defined,unused-ignore]
    pointer, word = ctypes.c_void_p, ctypes.c_ulong
    kernel32.CreateTimerQueueTimer.argtypes = [pointer, pointer, pointer, pointer, word, word, word]
    kernel32.CreateTimerQueueTimer.restype = ctypes.c_int
    kernel32.DeleteTimerQueueTimer.argtypes = [pointer, pointer, pointer]
    kernel32.DeleteTimerQueueTimer.restype = ctypes.c_int
    callback = ctypes.cast(ctypes.pythonapi.PyErr_SetInterruptEx, pointer)
    timer = pointer()
    made = kernel32.CreateTimerQueueTimer(
        ctypes.byref(timer),
        None,
        callback,
        pointer(int(signals.SIGTERM)),
        max(1, int(seconds * 1000)),
        _PERIOD_MS,
        _EXECUTE_IN_TIMER_THREAD,
    )
    if not made:
        restore()
        return None

    def disarm() -> None:
        # INVALID_HANDLE_VALUE: wait until a callback that is running has returned.
        kernel32.DeleteTimerQueueTimer(None, timer, pointer(-1))
        restore()

    return disarm
