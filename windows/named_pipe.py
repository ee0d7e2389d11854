"""The agent's named pipe on Windows: for the current user only, met under a name that is a secret.

Each start makes a pipe with a random name and writes name and secret into a file that only the user can
read. The pipe's DACL grants the user alone and remote clients are rejected; a client makes sure that the
process behind the pipe runs as the user, and shows the secret before its first frame.
Written from the documented Win32 API; run under Wine only, never on Windows itself: see
docs/decisions/judge.md.
"""

from __future__ import annotations

import os
import sys

RECORD_NAME = "pipe"
SECRET_BYTES = 32

if sys.platform == "win32":
    import _winapi
    import ctypes
    import time
    from ctypes import wintypes

    from ways.core import files
    from ways.core.local_socket import PeerClosed, Untrusted
    from windows import acl

    _PIPE_ACCESS_DUPLEX = 0x00000003
    _FILE_FLAG_FIRST_PIPE_INSTANCE = 0x00080000
    _FILE_FLAG_OVERLAPPED = 0x40000000
    _PIPE_REJECT_REMOTE_CLIENTS = 0x00000008
    _UNLIMITED_INSTANCES = 255
    _BUFFER = 1 << 16
    # ERROR_BROKEN_PIPE, ERROR_NO_DATA, ERROR_PIPE_NOT_CONNECTED: a client that came and went meanwhile.
    _LEFT_AGAIN = frozenset({109, 232, 233})

    class _SecurityAttributes(ctypes.Structure):
        _fields_ = [
            ("nLength", wintypes.DWORD),
            ("lpSecurityDescriptor", ctypes.c_void_p),
            ("bInheritHandle", wintypes.BOOL),
        ]

    class PipeConnection:
        """One connected end, with the few methods of a socket that frames need."""

        def __init__(self, handle: int) -> None:
            self._handle = handle
            self._timeout = 0.0

        def settimeout(self, seconds: float) -> None:
            """Bound the next calls to `seconds`."""
            self._timeout = seconds

        def send(self, data: bytes | memoryview) -> int:
            """Write some of `data`; how much. Raises TimeoutError, OSError."""
            overlapped, _ = _winapi.WriteFile(self._handle, bytes(data[:_BUFFER]), overlapped=True)
            return self._finish(overlapped)

        def recv(self, count: int) -> bytes:
            """At most `count` bytes, b"" when the other side has closed. Raises TimeoutError, OSError."""
            try:
                overlapped, _ = _winapi.ReadFile(self._handle, min(count, _BUFFER), overlapped=True)
                self._finish(overlapped)
            except BrokenPipeError:
                return b""
            return bytes(overlapped.getbuffer() or b"")

        def _finish(self, overlapped: _winapi.Overlapped) -> int:
            waited = _winapi.WaitForSingleObject(overlapped.event, max(0, int(self._timeout * 1000)))
            if waited != _winapi.WAIT_OBJECT_0:
                overlapped.cancel()
                overlapped.GetOverlappedResult(True)
                raise TimeoutError("the pipe did not answer in time")
            done, _ = overlapped.GetOverlappedResult(True)
            return done

        def close(self) -> None:
            """Close this end."""
            if self._handle:
                _winapi.CloseHandle(self._handle)
                self._handle = 0

    def _receive_exactly(connection: PipeConnection, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = connection.recv(count - len(data))
            if not part:
                raise PeerClosed
            data += part
        return data

    def connect(folder: str, timeout: float) -> PipeConnection:
        """A connection to the user's own agent, whose record stands in `folder`.

        Raises FileNotFoundError when none runs, Untrusted when another user's process serves the pipe,
        TimeoutError, OSError.
        """
        record = files.read_bytes(os.path.join(folder, RECORD_NAME), 1024)
        name, _, secret = record.decode("utf-8").strip().partition("\n")
        deadline = time.monotonic() + timeout
        while True:
            try:
                handle = _winapi.CreateFile(
                    name,
                    _winapi.GENERIC_READ | _winapi.GENERIC_WRITE,
                    0,
                    _winapi.NULL,
                    _winapi.OPEN_EXISTING,
                    _FILE_FLAG_OVERLAPPED,
                    _winapi.NULL,
                )
                break
            except OSError as error:
                if error.winerror != _winapi.ERROR_PIPE_BUSY or time.monotonic() >= deadline:
                    raise
                time.sleep(0.01)
        connection = PipeConnection(handle)
        try:
            _require_own_server(handle, name)
            connection.settimeout(timeout)
            data = bytes.fromhex(secret)
            while data:
                data = data[connection.send(data) :]
        except BaseException:
            connection.close()
            raise
        return connection

    def _require_own_server(handle: int, name: str) -> None:
        pid = wintypes.ULONG()
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        if not kernel.GetNamedPipeServerProcessId(wintypes.HANDLE(handle), ctypes.byref(pid)):
            raise ctypes.WinError(ctypes.get_last_error())
        if acl.user_sid(pid.value) != acl.user_sid():
            raise Untrusted(f"{name} is served by another user")

    class PipeListener:
        """The serving side. Raises OSError when the pipe or its record cannot be made private."""

        def __init__(self, folder: str) -> None:
            self._name = rf"\\.\pipe\agent-ways-{os.urandom(16).hex()}"
            self._secret = os.urandom(SECRET_BYTES)
            self._record = os.path.join(folder, RECORD_NAME)
            self._descriptor = acl.private_descriptor()
            self._next = self._instance(first=True)
            files.make_private(folder)
            acl.restrict_to_current_user(folder)
            files.write_atomic(self._record, f"{self._name}\n{self._secret.hex()}\n".encode())

        def _instance(self, first: bool) -> int:
            attributes = _SecurityAttributes(ctypes.sizeof(_SecurityAttributes), self._descriptor, False)
            flags = _PIPE_ACCESS_DUPLEX | _FILE_FLAG_OVERLAPPED
            return _winapi.CreateNamedPipe(
                self._name,
                flags | (_FILE_FLAG_FIRST_PIPE_INSTANCE if first else 0),
                _PIPE_REJECT_REMOTE_CLIENTS,
                _UNLIMITED_INSTANCES,
                _BUFFER,
                _BUFFER,
                0,
                ctypes.addressof(attributes),
            )

        def accept(self, seconds: float) -> PipeConnection | None:
            """The next client, None when none came within `seconds` or it had left before we saw it."""
            try:
                overlapped = _winapi.ConnectNamedPipe(self._next, overlapped=True)
                waited = _winapi.WaitForSingleObject(overlapped.event, int(seconds * 1000))
                if waited != _winapi.WAIT_OBJECT_0:
                    overlapped.cancel()
                    return None
                overlapped.GetOverlappedResult(True)
            except OSError as error:
                if error.winerror not in _LEFT_AGAIN:
                    raise
                self._connected().close()
                return None
            return self._connected()

        def _connected(self) -> PipeConnection:
            """The instance that a client has; the next one waits in its place before it can be closed."""
            connection = PipeConnection(self._next)
            self._next = self._instance(first=False)
            return connection

        def is_known(self, connection: PipeConnection, seconds: float) -> bool:
            """True when the client shows this start's secret."""
            import hmac

            connection.settimeout(seconds)
            return hmac.compare_digest(_receive_exactly(connection, SECRET_BYTES), self._secret)

        def is_current(self) -> bool:
            """True while the record names this pipe: a newer agent writes its own."""
            data = files.read_bytes_or_none(self._record, 1024) or b""
            return data.startswith(self._name.encode())

        def close(self) -> None:
            """Stop listening; the record goes when it is still ours."""
            if self.is_current():
                files.remove_if_there(self._record)
            _winapi.CloseHandle(self._next)
            acl.free_descriptor(self._descriptor)
