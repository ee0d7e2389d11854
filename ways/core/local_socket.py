"""The pieces that a resident process and its clients share: a private Unix socket, the peer's user
id, length-prefixed frames, and a start that leaves nothing of the starter's open.

A hook loads this, so `_socket` (not `socket`) and `subprocess` are imported where they are used.
Windows has named pipes instead (`windows/named_pipe.py`); frames and detached start serve both.
Source of the rules: spec, roots and files (private folder) and judge and agent (socket, protocol).
"""

from __future__ import annotations

import os
import sys
import time

from ways.core import files, roots

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Socket
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    class Connection(Protocol):
        """What frames need of a connection: a socket has it, and so has a named pipe's end."""

        def settimeout(self, seconds: float, /) -> None:
            """Bound the next calls."""

        def send(self, data: memoryview, /) -> int:
            """Send some bytes; how many."""

        def recv(self, count: int, /) -> bytes:
            """At most `count` bytes, b"" at the end."""

        def close(self) -> None:
            """Hang up."""


MAX_FRAME = 1 << 20
HEADER_BYTES = 4
# The smallest `sun_path` among our platforms (macOS), less the final NUL.
MAX_SOCKET_PATH = 103
PRIVATE_MODE = 0o600
BACKLOG = 128


class Untrusted(Exception):
    """A socket, its folder or its peer is not the user's alone; the message says which and why."""


class FrameError(Exception):
    """A frame that breaks the protocol: a length of 0 or beyond the limit."""


class PeerClosed(Exception):
    """The other side closed the connection before a whole frame had arrived."""


def socket_problem(path: str) -> str:
    """Why nobody may connect to `path`, or "" when it is a socket of the user's alone.

    Raises FileNotFoundError when there is nothing at `path`, OSError when it cannot be looked at.
    """
    folder_problem = roots.unsafe_folder(os.path.dirname(path))
    if folder_problem:
        return f"the folder of {path} {folder_problem}"
    info = os.lstat(path)
    kind = info.st_mode & 0o170000
    if kind == 0o040000:
        return f"{path} is a folder"
    if kind != 0o140000:
        return f"{path} is not a socket"
    if info.st_uid != os.getuid():
        return f"{path} belongs to user {info.st_uid}"
    if info.st_mode & 0o077:
        return f"{path} has mode {info.st_mode & 0o777:04o}"
    return ""


def connect(path: str, timeout: float) -> Socket:
    """A connection to the user's own socket at `path`, whose listener runs as the user.

    `timeout` is in seconds and stays set on the socket. Raises Untrusted, TimeoutError, or OSError
    (FileNotFoundError and ConnectionRefusedError when nobody listens).
    """
    import _socket

    problem = socket_problem(path)
    if problem:
        raise Untrusted(problem)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        _connect(connection, path, time.monotonic() + timeout)
        uid = peer_uid(connection)
        if uid != os.getuid():
            whose = "an unknown user" if uid is None else f"user {uid}"
            raise Untrusted(f"{path} is served by {whose}")
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(connection: Socket, path: str, deadline: float) -> None:
    while True:
        try:
            connection.connect(path)
            return
        except BlockingIOError:
            # Linux refuses at once while the listener's queue is full: a burst of hooks, or a frozen one.
            if time.monotonic() >= deadline:
                raise TimeoutError("the queue of the listener is full") from None
            time.sleep(0.01)


def peer_uid(connection: Socket) -> int | None:
    """The user id of the process at the other end, None when the platform does not tell."""
    return _peer(connection)[0]


def peer_pid(connection: Socket) -> int:
    """The process id at the other end (of a listener: that which called listen), 0 when unknown."""
    return _peer(connection)[1]


def _peer(connection: Socket) -> tuple[int | None, int]:
    import _socket

    order = sys.byteorder
    try:
        if sys.platform == "linux":
            data = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            return int.from_bytes(data[4:8], order), int.from_bytes(data[0:4], order, signed=True)
        # BSD and macOS: SOL_LOCAL is 0; LOCAL_PEERCRED 1 gives struct xucred {version, uid, …};
        # LOCAL_PEERPID 2 gives a pid on macOS only.
        data = connection.getsockopt(0, 1, 76)
        uid = int.from_bytes(data[4:8], order) if len(data) >= 8 else None
        if sys.platform != "darwin":
            return uid, 0
        return uid, int.from_bytes(connection.getsockopt(0, 2, 4), order, signed=True)
    except OSError:
        return None, 0


def encode_frame(data: bytes, limit: int = MAX_FRAME) -> bytes:
    """`data` with its 4-byte big-endian length before it. Raises FrameError beyond `limit`."""
    if not 0 < len(data) <= limit:
        raise FrameError(f"a frame of {len(data)} bytes (1 to {limit} are allowed)")
    return len(data).to_bytes(HEADER_BYTES, "big") + data


def frame_length(header: bytes, limit: int = MAX_FRAME) -> int:
    """The length that a 4-byte header announces. Raises FrameError for 0 and beyond `limit`."""
    length = int.from_bytes(header, "big")
    if not 0 < length <= limit:
        raise FrameError(f"a frame of {length} bytes (1 to {limit} are allowed)")
    return length


def send_frame(connection: Connection, data: bytes, deadline: float) -> None:
    """Send one frame before `deadline` (time.monotonic seconds). Raises FrameError, TimeoutError, OSError."""
    view = memoryview(encode_frame(data))
    while view:
        connection.settimeout(_left(deadline))
        view = view[connection.send(view) :]


def receive_frame(connection: Connection, deadline: float, limit: int = MAX_FRAME) -> bytes:
    """The next frame's payload. Raises PeerClosed, FrameError, TimeoutError, OSError."""
    length = frame_length(_receive(connection, HEADER_BYTES, deadline), limit)
    return _receive(connection, length, deadline)


def _receive(connection: Connection, count: int, deadline: float) -> bytes:
    parts = []
    while count:
        connection.settimeout(_left(deadline))
        part = connection.recv(min(count, 1 << 16))
        if not part:
            raise PeerClosed
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("the deadline has passed")
    return left


def listen(path: str, backlog: int = BACKLOG) -> Socket:
    """A listening socket at `path`, mode 0600 from its first moment, in a folder of the user's own.

    It is bound under a temporary name and renamed over `path`, so a client sees the old socket or
    the new one, and a socket left by a dead process needs no removal. A missing folder is made, mode
    0700. Raises Untrusted for a folder that others can write and for something at `path` that is
    neither a socket nor an empty folder named `*.sock`, OSError otherwise.
    """
    import _socket

    folder = os.path.dirname(path)
    files.make_private(folder)
    problem = roots.unsafe_folder(folder)
    if problem:
        raise Untrusted(f"the folder of {path} {problem}")
    _make_way(path)
    temporary = os.path.join(folder, f".{os.getpid()}.sock")
    listener = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        files.remove_if_there(temporary)
        # Only the mode at bind time closes the moment before chmod; the process has one thread here.
        former = os.umask(0o177)
        try:
            listener.bind(temporary)
        finally:
            os.umask(former)
        os.chmod(temporary, PRIVATE_MODE)
        listener.listen(backlog)
        os.rename(temporary, path)
        problem = socket_problem(path)
        if problem:
            raise Untrusted(problem)
    except BaseException:
        listener.close()
        files.remove_if_there(temporary)
        raise
    return listener


def _make_way(path: str) -> None:
    """Let a rename put a socket at `path`; never at the cost of anything that holds data."""
    try:
        kind = os.lstat(path).st_mode & 0o170000
    except FileNotFoundError:
        return
    if kind == 0o140000:
        return
    if kind != 0o040000 or not path.endswith(".sock"):
        raise Untrusted(f"{path} is not a socket")
    try:
        os.rmdir(path)
    except OSError as error:
        raise Untrusted(f"{path} is a folder that is not empty") from error


def identity(path: str) -> tuple[int, int] | None:
    """Device and inode of what stands at `path`, None when there is nothing."""
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_dev, info.st_ino


def spawn_detached(argv: Sequence[str], environment: Mapping[str, str], cwd: str) -> Callable[[], int | None]:
    """Start a process that outlives us and holds nothing of ours: no handle, no terminal, no group.

    Its three standard streams are the null device, so a pipe on the starter's output reaches EOF
    when the starter ends (case h19). Returns a function that gives the exit code, None while the
    process runs. Raises OSError when it cannot be started.
    """
    import subprocess

    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment),
        cwd=cwd,
        close_fds=True,
        start_new_session=os.name != "nt",
        creationflags=flags,
    )
    return process.poll
