"""The resident's serving side on Windows: a thread a client over a named pipe, one request at a time.

Written from the documented Win32 API and never run on Windows by us: docs/decisions/engine.md. Whatever
fails here, a hook embeds in its own process.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import threading
    import time
    from collections.abc import Callable

    from ways import __version__
    from ways.core import local_socket
    from ways.embedding import wire
    from ways.embedding.answering import Answerer
    from ways.embedding.serving import MAX_CLIENTS, SILENT_SECONDS, TICK_SECONDS
    from windows import named_pipe

    class PipeServer:
        """Serves one model over the pipe whose record stands in `folder`."""

        def __init__(self, folder: str, answerer: Answerer, idle_seconds: float) -> None:
            self._listener = named_pipe.PipeListener(folder)
            self._answerer = answerer
            self._idle_seconds = idle_seconds
            self._one_at_a_time = threading.Lock()
            self._slots = threading.BoundedSemaphore(MAX_CLIENTS)
            self._last_use = time.monotonic()
            self.stopping = False

        def serve(self, outdated: Callable[[], bool]) -> str:
            """As serving.Server.serve."""
            try:
                while True:
                    connection = self._listener.accept(TICK_SECONDS)
                    if connection is not None:
                        self._take(connection)
                    if why := self._reason_to_leave(outdated):
                        return why
            finally:
                self._listener.close()
                with self._one_at_a_time:  # the answer in hand is finished
                    self.stopping = True

        def _reason_to_leave(self, outdated: Callable[[], bool]) -> str:
            if self.stopping:
                return "asked to stop"
            if self._answerer.broken:
                return "the engine failed"
            if outdated() or not self._listener.is_current():
                return "the program was replaced"
            return "idle" if time.monotonic() - self._last_use >= self._idle_seconds else ""

        def _take(self, connection: named_pipe.PipeConnection) -> None:
            if not self._slots.acquire(blocking=False):
                connection.close()
                return
            threading.Thread(target=self._client, args=(connection,), daemon=True).start()

        def _client(self, connection: named_pipe.PipeConnection) -> None:
            """One client from its secret to its last frame. What makes no sense ends it."""
            try:
                if self._listener.is_known(connection, SILENT_SECONDS):
                    while not self.stopping:
                        deadline = time.monotonic() + SILENT_SECONDS
                        data = local_socket.receive_frame(connection, deadline, wire.MAX_REQUEST)
                        self._send(connection, self._answer(data))
                        self._last_use = time.monotonic()
            except (local_socket.FrameError, local_socket.PeerClosed, wire.WireError, OSError):
                return
            finally:
                connection.close()
                self._slots.release()

        def _answer(self, data: bytes) -> bytes:
            arrived = time.monotonic()
            version, operation = wire.operation(data)
            if operation == wire.STOP:
                self.stopping = True
                return wire.encode_answer(wire.Answer(wire.OK, __version__, "leaving"))
            if version != wire.VERSION:
                return wire.encode_answer(wire.Answer(wire.OTHER_VERSION, __version__))
            request = wire.parse_request(data)
            with self._one_at_a_time:
                answer = self._answerer.answer(request, arrived + request.deadline_ms / 1000)
            return wire.encode_answer(answer)

        @staticmethod
        def _send(connection: named_pipe.PipeConnection, answer: bytes) -> None:
            view = memoryview(local_socket.encode_frame(answer, wire.MAX_ANSWER))
            deadline = time.monotonic() + SILENT_SECONDS
            while view:
                connection.settimeout(max(0.0, deadline - time.monotonic()))
                view = view[connection.send(view) :]
