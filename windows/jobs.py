"""Job objects: the process groups of Windows. All of a job end together (the POSIX twin: killpg).

`taskkill /T` follows parents by their numbers, so it misses a grandchild whose parent has ended; a job does
not. (What a process starts before it is put into the job is outside: a moment after its own start.)
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_KILL_ON_JOB_CLOSE = 0x00002000
_EXTENDED_LIMIT_INFORMATION = 9


def contain(process_handle: int) -> int:
    """Put a process that was just started, and all that it starts from now on, into a new job; the job's
    handle, 0 when Windows refuses. When the handle is closed, also by our own death, they all end."""
    if sys.platform != "win32":
        raise NotImplementedError("job objects exist on Windows only")
    import ctypes
    from ctypes import wintypes

    class Basic(ctypes.Structure):
        _fields_ = [
            ("PerProcessUserTimeLimit", ctypes.c_int64),
            ("PerJobUserTimeLimit", ctypes.c_int64),
            ("LimitFlags", wintypes.DWORD),
            ("MinimumWorkingSetSize", ctypes.c_size_t),
            ("MaximumWorkingSetSize", ctypes.c_size_t),
            ("ActiveProcessLimit", wintypes.DWORD),
            ("Affinity", ctypes.c_size_t),
            ("PriorityClass", wintypes.DWORD),
            ("SchedulingClass", wintypes.DWORD),
        ]

    class Extended(ctypes.Structure):
        _fields_ = [
            ("BasicLimitInformation", Basic),
            ("IoInfo", ctypes.c_uint64 * 6),
            ("ProcessMemoryLimit", ctypes.c_size_t),
            ("JobMemoryLimit", ctypes.c_size_t),
            ("PeakProcessMemoryUsed", ctypes.c_size_t),
            ("PeakJobMemoryUsed", ctypes.c_size_t),
        ]

    kernel32 = _kernel32()
    job = kernel32.CreateJobObjectW(None, None)
    if not job:
        return 0
    limits = Extended()
    limits.BasicLimitInformation.LimitFlags = _KILL_ON_JOB_CLOSE
    done = kernel32.SetInformationJobObject(
        job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits)
    )
    if done and kernel32.AssignProcessToJobObject(job, process_handle):
        return int(job)
    kernel32.CloseHandle(job)
    return 0


def end(job: int) -> None:
    """End every process of the job, and close it. Nothing for 0."""
    if not job:
        return
    kernel32 = _kernel32()
    kernel32.TerminateJobObject(job, 1)
    kernel32.CloseHandle(job)


if sys.platform == "win32":
    import ctypes
    from ctypes import wintypes

    def _kernel32() -> Any:
        library = ctypes.WinDLL("kernel32", use_last_error=True)
        library.CreateJobObjectW.restype = wintypes.HANDLE
        library.CreateJobObjectW.argtypes = [ctypes.c_void_p, wintypes.LPCWSTR]
        library.SetInformationJobObject.argtypes = [
            wintypes.HANDLE,
            ctypes.c_int,
            ctypes.c_void_p,
            wintypes.DWORD,
        ]
        library.AssignProcessToJobObject.argtypes = [wintypes.HANDLE, wintypes.HANDLE]
        library.TerminateJobObject.argtypes = [wintypes.HANDLE, wintypes.UINT]
        library.CloseHandle.argtypes = [wintypes.HANDLE]
        return library

else:

    def _kernel32() -> Any:
        raise NotImplementedError("job objects exist on Windows only")
