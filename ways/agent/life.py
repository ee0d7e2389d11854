"""The event loop of a listening agent, until it has a reason to leave."""

from __future__ import annotations

import asyncio
import os
import signal
import socket as sockets
import time
from _socket import socket as RawSocket

from ways.agent import program
from ways.agent.server import Service, serve_connection
from ways.agent.state import AgentState, SettingsCache
from ways.agent.transport import Transport
from ways.core import debuglog, files, local_socket, locking
from ways.core.roots import Roots

TICK_SECONDS = 1.0
# A stopping agent lets calls in flight end: no longer than the longest deadline a profile can have.
DRAIN_SECONDS = 10.0
# Between taking the socket's name away and closing it, clients that just connected are still served.
LAST_CALL_SECONDS = 0.05


async def serve(
    roots: Roots, path: str, listener: RawSocket, lock: locking.Lock, idle_seconds: float
) -> None:
    """Serve `listener`, bound at `path` under `lock`, until there is a reason to leave."""
    transport = Transport()
    service = Service(AgentState(roots, transport, SettingsCache(roots.config)))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop.set)
    own = local_socket.identity(path)
    server = await asyncio.start_unix_server(
        lambda reader, writer: serve_connection(service, reader, writer),
        sock=sockets.socket(fileno=listener.detach()),
        limit=local_socket.MAX_FRAME + local_socket.HEADER_BYTES,
        backlog=local_socket.BACKLOG,
    )
    why = await _reason_to_leave(service, path, own, idle_seconds)
    _note_why(roots, why)
    if local_socket.identity(path) == own:
        files.remove_if_there(path)
    # From here on a new agent may start; this one only finishes what it has begun.
    lock.release()
    await asyncio.sleep(LAST_CALL_SECONDS)
    server.close()
    service.state.stopping = True
    await _drain(service)
    await transport.close()


async def _reason_to_leave(
    service: Service, path: str, own: tuple[int, int] | None, idle_seconds: float
) -> str:
    """Waits for the first of: asked or signalled, idle, socket gone, program replaced."""
    installed = program.identity(service.state.roots)
    while True:
        try:
            async with asyncio.timeout(min(TICK_SECONDS, idle_seconds)):
                await service.stop.wait()
            return "asked"
        except TimeoutError:
            pass
        if local_socket.identity(path) != own:
            return "socket"
        if program.identity(service.state.roots) != installed:
            return "replaced"
        if not service.judging and time.monotonic() - service.last_used >= idle_seconds:
            return "idle"


def _note_why(roots: Roots, why: str) -> None:
    """Only an unexpected end is worth a line; a healthy life leaves none (WAYS_DEBUG=1 shows all)."""
    if why == "socket" or os.environ.get("WAYS_DEBUG") == "1":
        debuglog.note(roots.state, "agent", f"leaving: {why}")


async def _drain(service: Service) -> None:
    deadline = time.monotonic() + DRAIN_SECONDS
    while service.connections and service.judging and time.monotonic() < deadline:
        await asyncio.sleep(0.02)
