"""One update, rollback or removal at a time, with the holder's name (spec: installer; cases u03, u10).

The lock itself is the operating system's, which ends with its holder, so a dead one never blocks. Beside
it lies a record: pid, start time, command. It tells the next one whom it waits for, and it is the lock
where the file system has none; there a holder counts as alive only when a process of that number has that
very start, so a recycled number is not believed.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from ways.core import clock, debuglog, files, processes
from ways.core.errors import WRITE_FAILED, UserError
from ways.core.locking import Lock, LockTimeout
from ways.core.roots import Roots

WAIT_SECONDS = 2.0
_EMPTY = ""


class Busy(UserError):
    """Another process of ours is changing the installation just now."""


@dataclass(frozen=True)
class Holder:
    """Who holds the lock. `start` identifies the process beyond its number ("" when the system does not
    tell); `since` is for people."""

    pid: int
    start: str
    command: str
    host: str
    since: str


def this_process(command: str) -> Holder:
    """The record of this process."""
    return Holder(os.getpid(), process_start(os.getpid()), command, socket.gethostname(), clock.utc_iso())


@contextmanager
def update_lock(roots: Roots, command: str, wait: float = WAIT_SECONDS) -> Iterator[None]:
    """Holds the lock inside the block. Raises UserError (exit 5) naming the holder when another runs for
    longer than `wait` seconds."""
    lock = Lock(os.path.join(roots.state, "locks", "update.lock"), wait)
    try:
        lock.acquire()
    except LockTimeout as error:
        if error.held:
            raise _busy(read(roots)) from error
        debuglog.note(roots.state, "update", f"goes on with the holder's record only: {error}")
    try:
        _take_over(roots, command)
        try:
            yield
        finally:
            files.remove_if_there(record_path(roots))
    finally:
        lock.release()


def _take_over(roots: Roots, command: str) -> None:
    """Write our record; one of a holder that lives (where locks do not work) stops us."""
    there = read(roots)
    if there is not None and there.pid != os.getpid() and is_alive(there):
        raise _busy(there)
    data = json.dumps(asdict(this_process(command))) + "\n"
    try:
        files.make_private(os.path.dirname(record_path(roots)))
        files.write_atomic(record_path(roots), data.encode())
    except OSError as error:
        what = f"{record_path(roots)}: {error.strerror or error}"
        raise UserError(what, "make it writable", WRITE_FAILED) from error


def record_path(roots: Roots) -> str:
    """Where the holder's record lies."""
    return os.path.join(roots.state, "locks", "update.holder.json")


def read(roots: Roots) -> Holder | None:
    """The holder's record, None when there is none or it cannot be understood."""
    data = files.read_bytes_or_none(record_path(roots), 1 << 16)
    if data is None:
        return None
    try:
        found = json.loads(data)
        return Holder(
            int(found["pid"]), *(str(found[name]) for name in ("start", "command", "host", "since"))
        )
    except (ValueError, KeyError, TypeError):
        return None


def _busy(holder: Holder | None) -> Busy:
    if holder is None:
        return Busy("another ways process is changing the installation", "try again", WRITE_FAILED)
    what = f"{holder.command} is running (process {holder.pid} on {holder.host}, since {holder.since})"
    return Busy(what, "try again when it has finished", WRITE_FAILED)


def is_alive(holder: Holder) -> bool:
    """True when the process that wrote the record still runs, as far as this machine can tell."""
    if holder.host != socket.gethostname():
        return True  # a home on the network: the other machine's processes cannot be seen from here
    if not _runs(holder.pid):
        return False
    start = process_start(holder.pid)
    return not (start and holder.start and start != holder.start)


def _runs(pid: int) -> bool:
    return bool(process_start(pid)) if os.name == "nt" else processes.may_run(pid)


def process_start(pid: int) -> str:
    """What tells a process from a later one with the same number; "" when there is none or no way to know."""
    if sys.platform.startswith("linux"):
        return _linux_start(pid)
    if sys.platform == "win32":
        return _windows_start(pid)
    try:
        done = subprocess.run(
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            timeout=5,
            env={"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return _EMPTY
    return done.stdout.strip()


def _linux_start(pid: int) -> str:
    """Clock ticks between the machine's start and the process's, with the identity of that start."""
    stat = files.read_bytes_or_none(f"/proc/{pid}/stat", 4096)
    boot = files.read_bytes_or_none("/proc/sys/kernel/random/boot_id", 64)
    if stat is None or b")" not in stat:
        return _EMPTY
    fields = stat.rpartition(b")")[2].split()
    # Field 22 of the line; the name in parentheses is field 2.
    return f"{(boot or b'').decode('ascii', 'replace').strip()}:{fields[19].decode('ascii')}"


def _windows_start(pid: int) -> str:
    import ctypes
    from ctypes import wintypes

    kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    kernel32.OpenProcess.restype = wintypes.HANDLE
    limited_information, still_active = 0x1000, 259
    handle = kernel32.OpenProcess(limited_information, False, pid)
    if not handle:
        return _EMPTY
    try:
        code = wintypes.DWORD()
        times = [wintypes.FILETIME() for _ in range(4)]
        if not kernel32.GetExitCodeProcess(wintypes.HANDLE(handle), ctypes.byref(code)):
            return _EMPTY
        if code.value != still_active:
            return _EMPTY
        if not kernel32.GetProcessTimes(wintypes.HANDLE(handle), *(ctypes.byref(one) for one in times)):
            return _EMPTY
        return f"{times[0].dwHighDateTime:x}{times[0].dwLowDateTime:08x}"
    finally:
        kernel32.CloseHandle(wintypes.HANDLE(handle))
