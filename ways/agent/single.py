"""One agent a user: the lock that an agent holds while it listens, and taking over from one that hangs.

The lock file holds its holder's process id and start time. Because only a holder writes them, and a
dead process holds no lock, they name a living agent whenever the lock is held.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from ways.core import debuglog, files, local_socket, locking
from ways.core.roots import Roots
from ways.gate import link, paths
from ways.gate.fallback import Fallback

_HEALTH_SECONDS = 0.5
_END_SECONDS = 0.3


def acquire(roots: Roots, socket: str) -> locking.Lock | None:
    """The lock on `socket`, None when a healthy agent serves it already.

    A holder that does not answer on the socket (it is frozen, or its socket was removed or replaced) is
    ended: SIGTERM, then SIGKILL. Raises LockTimeout when the lock cannot be had even so. Where the file
    system cannot lock, goes on without: the rename of the socket then decides.
    """
    lock = locking.Lock(paths.serve_lock(socket), 0.1)
    try:
        lock.acquire()
    except locking.LockTimeout as error:
        if not error.why.startswith("held"):
            debuglog.note(roots.state, "agent", f"serving without a lock: {error}")
            return lock
        if healthy(socket):
            return None
        _end_holder(roots, socket)
        lock.timeout = 0.5
        try:
            lock.acquire()
        except locking.LockTimeout:
            # Another one that started at the same moment may have taken over first.
            if healthy(socket):
                return None
            raise
    _sign(lock.path)
    return lock


def healthy(socket: str) -> bool:
    """True when an agent answers on `socket` within half a second."""
    deadline = time.monotonic() + _HEALTH_SECONDS
    while time.monotonic() < deadline:
        try:
            connection = local_socket.connect(socket, 0.2)
        except (OSError, local_socket.Untrusted):
            # It may have taken its lock a moment ago and not listen yet.
            time.sleep(0.05)
            continue
        try:
            local_socket.send_frame(connection, link.encode({"op": "ping"}), deadline)
            return link.decode(local_socket.receive_frame(connection, deadline)).get("ok") is True
        except (OSError, local_socket.FrameError, local_socket.PeerClosed, Fallback):
            return False
        finally:
            connection.close()
    return False


def _sign(path: str) -> None:
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        files.write_all(descriptor, f"{os.getpid()} {_start_time(os.getpid())}\n".encode())
    finally:
        os.close(descriptor)


def _end_holder(roots: Roots, socket: str) -> None:
    data = files.read_bytes_or_none(paths.serve_lock(socket), 64) or b""
    words = data.decode("ascii", "replace").split()
    pid = int(words[0]) if words and words[0].isdigit() else 0
    started = words[1] if len(words) > 1 else ""
    if pid <= 1 or pid == os.getpid() or _start_time(pid) != started:
        return
    debuglog.note(roots.state, "agent", f"taking over from the agent {pid}, which does not answer")
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            return
        deadline = time.monotonic() + _END_SECONDS
        while time.monotonic() < deadline:
            if _start_time(pid) != started or not _alive(pid):
                return
            time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _start_time(pid: int) -> str:
    """The kernel's start time of a process on Linux, "" elsewhere and for a process that has ended."""
    data = files.read_bytes_or_none(f"/proc/{pid}/stat", 4096)
    if data is None:
        return ""
    # Fields are counted after the command's closing parenthesis: the name may hold spaces.
    fields = data.rpartition(b")")[2].split()
    return fields[19].decode("ascii") if len(fields) > 19 and fields[0] != b"Z" else ""
