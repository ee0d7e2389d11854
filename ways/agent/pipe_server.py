"""Serving over the named pipe on Windows: a thread a client, all requests on one event loop.

Run under Wine only, never on Windows itself: see docs/decisions/judge.md.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    import asyncio
    import json
    import threading
    import time

    from ways.agent import program
    from ways.agent.server import (
        FRAME_SECONDS,
        MAX_CONNECTIONS,
        Service,
        account_for_lost_reply,
        answer,
        encode_reply,
    )
    from ways.agent.state import AgentState, SettingsCache
    from ways.agent.transport import Transport
    from ways.core import debuglog, local_socket, locking
    from ways.core.roots import Roots
    from ways.gate import agent_start, paths
    from windows import named_pipe

    TICK_SECONDS = 1.0

    def run(roots: Roots, idle_seconds: float) -> int:
        """Serve until idle, replaced or asked to stop; 0 as well when another agent serves already."""
        folder = paths.agent_folder(roots)
        lock = locking.Lock(paths.serve_lock(paths.socket_path(roots)), 0.2)
        try:
            lock.acquire()
            listener = named_pipe.PipeListener(folder)
        except locking.LockTimeout:
            return 0
        except OSError as error:
            debuglog.note(roots.state, "agent", f"cannot serve: {error}")
            return 1
        agent_start.clear_attempt(roots)
        asyncio.run(_serve(roots, listener, idle_seconds))
        lock.release()
        return 0

    async def _serve(roots: Roots, listener: named_pipe.PipeListener, idle_seconds: float) -> None:
        transport = Transport()
        service = Service(AgentState(roots, transport, SettingsCache(roots.config)))
        loop = asyncio.get_running_loop()
        installed = program.identity(roots)
        while not service.stop.is_set():
            connection = await loop.run_in_executor(None, listener.accept, TICK_SECONDS)
            if connection is not None:
                threading.Thread(
                    target=_client, args=(service, loop, listener, connection), daemon=True
                ).start()
            idle = not service.judging and time.monotonic() - service.last_used >= idle_seconds
            if idle or program.identity(roots) != installed or not listener.is_current():
                break
        service.state.stopping = True
        listener.close()
        deadline = time.monotonic() + 10.0
        while service.judging and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        await transport.close()

    def _client(
        service: Service,
        loop: asyncio.AbstractEventLoop,
        listener: named_pipe.PipeListener,
        connection: named_pipe.PipeConnection,
    ) -> None:
        """One client from its secret to its last frame."""
        service.connections += 1
        try:
            if service.connections > MAX_CONNECTIONS or not listener.is_known(connection, FRAME_SECONDS):
                return
            while True:
                data = local_socket.receive_frame(connection, time.monotonic() + FRAME_SECONDS)
                message = json.loads(data)
                if not isinstance(message, dict):
                    return
                reply = asyncio.run_coroutine_threadsafe(answer(service, message), loop).result()
                try:
                    local_socket.send_frame(connection, encode_reply(reply), time.monotonic() + FRAME_SECONDS)
                except OSError:
                    account_for_lost_reply(service, message, reply)
                    return
        except (local_socket.FrameError, ValueError) as error:
            note = f"closed a connection: {type(error).__name__}: {error}"
            debuglog.note(service.state.roots.state, "agent", note)
        except (local_socket.PeerClosed, OSError):
            # Gone, silent or reset: nothing is owed to that client.
            pass
        finally:
            service.connections -= 1
            connection.close()
