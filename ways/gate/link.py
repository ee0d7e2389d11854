"""One exchange with the agent: connect (starting it when nobody listens), ask, read, hang up.

Every way to fail is a Fallback with the spec's word for it.
"""

from __future__ import annotations

import os
import sys
import time

from ways import __version__
from ways.core import debuglog, files, jsontext
from ways.gate import agent_start, fallback, paths
from ways.gate.fallback import Fallback

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ways.core.local_socket import Connection
    from ways.core.roots import Roots

PROTOCOL_VERSION = 1
CONNECT_SECONDS = 0.5
GRACE_SECONDS = 1.5
_SIGKILL = 9


def encode(message: dict[str, Any]) -> bytes:
    """A message as a frame's payload, the version first. Raises Fallback(encode)."""
    from ways.core import local_socket

    try:
        data = jsontext.dump_bytes({"version": PROTOCOL_VERSION, "program": __version__, **message})
    except (TypeError, ValueError, RecursionError) as error:
        raise Fallback(fallback.ENCODE, str(error)) from error
    if len(data) > local_socket.MAX_FRAME:
        raise Fallback(fallback.ENCODE, f"{len(data)} bytes are more than a frame holds")
    return data


def ask(roots: Roots, message: dict[str, Any], timeout: float, start: bool = True) -> dict[str, Any]:
    """The agent's reply to one message, within `timeout` seconds of being connected.

    Starts an agent when nobody listens and `start` is true. An agent of another version is asked to
    stop once it has answered. Raises Fallback.
    """
    data = encode(message)
    socket = paths.socket_path(roots)
    connection = open_connection(roots, socket, start)
    deadline = time.monotonic() + timeout
    try:
        reply = decode(_exchange(roots, socket, connection, data, deadline))
        if reply.get("program") != __version__:
            _ask_to_stop(connection)
        return reply
    finally:
        connection.close()


def open_connection(roots: Roots, socket: str, start: bool = True) -> Connection:
    """A connection to the user's agent. Raises Fallback."""
    connection = _connect(roots, socket, start)
    if connection is not None:
        return connection
    if not start:
        raise Fallback(fallback.AGENT_MISSING, "no agent is running")
    return agent_start.start_and_connect(roots, socket, lambda: _connect(roots, socket, start))


def _connect(roots: Roots, socket: str, start: bool) -> Connection | None:
    """A connection, None when nobody listens. Raises Fallback; with `start` an agent of our own takes the
    place of what cannot be trusted."""
    from ways.core import local_socket

    try:
        if sys.platform == "win32":
            from windows import named_pipe

            return named_pipe.connect(paths.agent_folder(roots), CONNECT_SECONDS)
        return local_socket.connect(socket, CONNECT_SECONDS)
    except local_socket.Untrusted as error:
        if start:
            agent_start.replace_in_background(roots, socket)
        raise Fallback(fallback.AGENT_UNTRUSTED, str(error)) from error
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except TimeoutError as error:
        raise Fallback(fallback.CONNECT, "the agent does not accept connections") from error
    except OSError as error:
        raise Fallback(fallback.CONNECT, error.strerror or str(error)) from error


def _exchange(roots: Roots, socket: str, connection: Connection, data: bytes, deadline: float) -> bytes:
    from ways.core import local_socket

    try:
        local_socket.send_frame(connection, data, deadline)
        return local_socket.receive_frame(connection, deadline)
    except TimeoutError as error:
        # The agent keeps deadlines itself and answers in time to say so; silence past the grace
        # period means that it is frozen. Ended, the next prompt starts a new one.
        _end_frozen(roots, socket, connection)
        raise Fallback(fallback.DEADLINE, "no reply from the agent") from error
    except (local_socket.PeerClosed, BrokenPipeError, ConnectionResetError) as error:
        raise Fallback(fallback.AGENT_CLOSED) from error
    except local_socket.FrameError as error:
        raise Fallback(fallback.DECODE, str(error)) from error
    except OSError as error:
        raise Fallback(fallback.IO, error.strerror or str(error)) from error


def decode(data: bytes) -> dict[str, Any]:
    """A reply's payload as a mapping. Raises Fallback (decode, unexpected_reply)."""
    try:
        reply = jsontext.loads(data)
    except ValueError as error:
        raise Fallback(fallback.DECODE, "not JSON") from error
    if not isinstance(reply, dict):
        raise Fallback(fallback.UNEXPECTED_REPLY, "not a mapping")
    if reply.get("version") != PROTOCOL_VERSION:
        raise Fallback(fallback.UNEXPECTED_REPLY, f"protocol version {reply.get('version')!r}"[:80])
    return reply


def _ask_to_stop(connection: Connection) -> None:
    """Hand-over by version: best effort, the next hook that meets the old agent asks again."""
    from ways.core import local_socket

    try:
        local_socket.send_frame(connection, encode({"op": "stop"}), time.monotonic() + 0.2)
    except OSError:
        return


def _end_frozen(roots: Roots, socket: str, connection: Any) -> None:
    """Kill an agent that is alive and silent.

    Only the process that both listens at the other end of this open connection and has written its
    id into the lock that it holds: so never a recycled id, and never a program that is not an agent.
    """
    if sys.platform == "win32":
        return
    from ways.core import local_socket

    pid = local_socket.peer_pid(connection)
    recorded = (files.read_bytes_or_none(paths.serve_lock(socket), 64) or b"").split()
    if pid <= 1 or pid == os.getpid() or recorded[:1] != [str(pid).encode()]:
        return
    try:
        os.kill(pid, _SIGKILL)
        debuglog.note(roots.state, "gate", f"ended the agent {pid}: it did not answer")
    except OSError as error:
        debuglog.note(roots.state, "gate", f"the silent agent {pid} cannot be ended: {error}")
