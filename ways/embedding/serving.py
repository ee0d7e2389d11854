"""The resident's loop: many clients, one thread, one request at a time.

Sockets never block it: a client that is slow, silent or gone costs a slot for ten seconds at most,
and a frame that makes no sense ends its own connection only. A request whose client has already
hung up is not worked on.
"""

from __future__ import annotations

import os
import selectors
import socket
import time
from typing import TYPE_CHECKING

from ways import __version__
from ways.core import local_socket
from ways.embedding import wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from ways.embedding.answering import Answerer

MAX_CLIENTS = 64
SILENT_SECONDS = 10.0
TICK_SECONDS = 1.0


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.inbox = bytearray()
        self.outbox = bytearray()
        self.since = time.monotonic()
        self.closing = False


class Server:
    """Serves `listener` (a listening socket, non-blocking from here on) until `serve` returns."""

    def __init__(self, listener: socket.socket, answerer: Answerer, idle_seconds: float) -> None:
        self._listener = listener
        self._answerer = answerer
        self._idle_seconds = idle_seconds
        self._clients: dict[int, _Client] = {}
        self._selector = selectors.DefaultSelector()
        self._last_use = time.monotonic()
        self.stopping = False

    def serve(self, outdated: Callable[[], bool]) -> str:
        """Answer until idle for too long, asked to stop, broken, or `outdated()`; why, in words.

        `outdated` is asked every second and after every request.
        """
        self._listener.setblocking(False)
        self._selector.register(self._listener.fileno(), selectors.EVENT_READ)
        try:
            while True:
                for key, events in self._selector.select(TICK_SECONDS):
                    self._handle(key.fd, events)
                self._drop_silent()
                if why := self._reason_to_leave(outdated):
                    self._drain()
                    return why
        finally:
            for client in list(self._clients.values()):
                self._close(client)
            self._selector.close()

    def _reason_to_leave(self, outdated: Callable[[], bool]) -> str:
        if self.stopping:
            return "asked to stop"
        if self._answerer.broken:
            return "the engine failed"
        if outdated():
            return "the program was replaced"
        if time.monotonic() - self._last_use >= self._idle_seconds:
            return "idle"
        return ""

    def _handle(self, descriptor: int, events: int) -> None:
        if descriptor == self._listener.fileno():
            self._accept()
            return
        client = self._clients.get(descriptor)
        if client is None:
            return
        try:
            if events & selectors.EVENT_READ:
                self._read(client)
            if client.outbox:
                self._write(client)
        except (OSError, local_socket.FrameError, wire.WireError):
            self._close(client)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        if local_socket.peer_uid(connection) != os.getuid():
            connection.close()
            return
        if len(self._clients) >= MAX_CLIENTS:
            self._close(min(self._clients.values(), key=lambda client: client.since))
        self._clients[connection.fileno()] = _Client(connection)
        self._selector.register(connection.fileno(), selectors.EVENT_READ)

    def _read(self, client: _Client) -> None:
        """Take what has come, and answer each whole frame in it."""
        try:
            part = client.connection.recv(1 << 16)
        except BlockingIOError:
            return
        if not part:
            self._close(client)
            return
        client.inbox += part
        while not client.closing and len(client.inbox) >= local_socket.HEADER_BYTES:
            length = local_socket.frame_length(bytes(client.inbox[:4]), wire.MAX_REQUEST)
            if len(client.inbox) < 4 + length:
                return
            data = bytes(client.inbox[4 : 4 + length])
            del client.inbox[: 4 + length]
            if _is_stop(data):
                self.stopping = client.closing = True
            if self.stopping or not _has_gone(client.connection):
                client.outbox += local_socket.encode_frame(self._answer(data), wire.MAX_ANSWER)
            client.since = self._last_use = time.monotonic()

    def _answer(self, data: bytes) -> bytes:
        arrived = time.monotonic()
        version, _ = wire.operation(data)
        if _is_stop(data):
            return wire.encode_answer(wire.Answer(wire.OK, __version__, "leaving"))
        if version != wire.VERSION:
            return wire.encode_answer(wire.Answer(wire.OTHER_VERSION, __version__))
        request = wire.parse_request(data)
        return wire.encode_answer(self._answerer.answer(request, arrived + request.deadline_ms / 1000))

    def _write(self, client: _Client) -> None:
        try:
            sent = client.connection.send(client.outbox)
        except BlockingIOError:
            sent = 0
        del client.outbox[:sent]
        if not client.outbox and client.closing:
            self._close(client)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.outbox else 0)
        self._selector.modify(client.connection.fileno(), wanted)

    def _drop_silent(self) -> None:
        now = time.monotonic()
        for client in list(self._clients.values()):
            if now - client.since > SILENT_SECONDS:
                self._close(client)

    def _drain(self) -> None:
        """Give answers that are still on their way half a second to leave."""
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline and any(client.outbox for client in self._clients.values()):
            for key, _ in self._selector.select(0.05):
                client = self._clients.get(key.fd)
                if client is not None and client.outbox:
                    try:
                        self._write(client)
                    except OSError:
                        self._close(client)

    def _close(self, client: _Client) -> None:
        descriptor = client.connection.fileno()
        if descriptor >= 0 and self._clients.pop(descriptor, None) is not None:
            self._selector.unregister(descriptor)
        client.closing = True
        client.connection.close()


def _is_stop(data: bytes) -> bool:
    """True for the request to leave, in whatever version of the protocol."""
    return wire.operation(data)[1] == wire.STOP


def _has_gone(connection: socket.socket) -> bool:
    """True when the client has hung up (there is nothing left to read and there never will be)."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
