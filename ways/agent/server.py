"""The agent's side of the protocol: frames in, frames out, one connection never held up by another.

Length-prefixed JSON, version first, unknown fields ignored; an unknown version is answered with an
error; a malformed frame closes its connection only (spec: judge and agent, Protocol).
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ways import __version__
from ways.agent import keycheck, keys
from ways.agent.judge import judge
from ways.agent.request import BadRequest, parse_request
from ways.agent.state import AgentState
from ways.core import clock, debuglog, local_socket
from ways.gate import fallback, settings
from ways.gate.link import PROTOCOL_VERSION
from ways.telemetry import log

# How long one client may take over a frame, over the pause between two, and over taking a reply.
FRAME_SECONDS = 5.0
MAX_CONNECTIONS = 256


@dataclass
class Service:
    """The state that requests share, who is connected, when the agent was last used, and the wish to end."""

    state: AgentState
    started_at: float = field(default_factory=clock.now)
    last_used: float = field(default_factory=time.monotonic)
    connections: int = 0
    judging: int = 0
    stop: asyncio.Event = field(default_factory=asyncio.Event)


async def serve_connection(
    service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """One client, from its first frame to its last. Never raises: a client cannot disturb the agent."""
    service.connections += 1
    try:
        if service.connections <= MAX_CONNECTIONS and _is_ours(service, writer):
            await _frames(service, reader, writer)
    except (local_socket.FrameError, ValueError, RecursionError) as error:
        debuglog.note(
            service.state.roots.state, "agent", f"closed a connection: {type(error).__name__}: {error}"
        )
    except (OSError, EOFError, TimeoutError):
        # Gone, silent or reset: nothing is owed to that client.
        pass
    finally:
        service.connections -= 1
        writer.transport.abort()


def _is_ours(service: Service, writer: asyncio.StreamWriter) -> bool:
    uid = local_socket.peer_uid(writer.get_extra_info("socket"))
    if uid == os.getuid():
        return True
    debuglog.note(service.state.roots.state, "agent", f"refused a client of user {uid}")
    return False


async def _frames(service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        async with asyncio.timeout(FRAME_SECONDS):
            length = local_socket.frame_length(await reader.readexactly(local_socket.HEADER_BYTES))
            data = await reader.readexactly(length)
        message = json.loads(data)
        if not isinstance(message, dict):
            raise local_socket.FrameError("a frame that is not a mapping")
        reply = await answer(service, message)
        try:
            writer.write(local_socket.encode_frame(encode_reply(reply)))
            async with asyncio.timeout(FRAME_SECONDS):
                await writer.drain()
        except (OSError, TimeoutError):
            account_for_lost_reply(service, message, reply)
            raise


def encode_reply(reply: Mapping[str, Any]) -> bytes:
    """A reply as a frame's payload."""
    return json.dumps({"version": PROTOCOL_VERSION, "program": __version__, **reply}).encode()


def account_for_lost_reply(service: Service, message: Mapping[str, Any], reply: Mapping[str, Any]) -> None:
    """Log the call of a reply that nobody took: the hook would have logged it, and it has been paid for."""
    call = reply.get("call")
    if not isinstance(call, dict):
        return
    common = message.get("log")
    fields = common.items() if isinstance(common, dict) else ()
    known = {name: value for name, value in fields if isinstance(name, str) and isinstance(value, str)}
    log.append(service.state.roots.events, [log.event("judge_call", **{**known, **call})])


async def answer(service: Service, message: Mapping[str, Any]) -> dict[str, Any]:
    """The reply to one message. Never raises but for cancellation."""
    version = message.get("version")
    if version != PROTOCOL_VERSION:
        return _error(f"protocol version {version!r} is not known")
    operation = message.get("op")
    try:
        if operation == "judge":
            return await _judge(service, message)
        if operation == "status":
            return {"ok": True, "status": status(service)}
        if operation == "ping":
            return {"ok": True, "pid": os.getpid()}
        if operation == "stop":
            service.stop.set()
            return {"ok": True, "pid": os.getpid()}
    except Exception as error:  # noqa: BLE001 - one request must not end the agent
        note = f"{type(error).__name__} in {operation!r}"
        debuglog.note(service.state.roots.state, "agent", note)
        return _error(type(error).__name__)
    return _error(f"unknown operation {operation!r}")


async def _judge(service: Service, message: Mapping[str, Any]) -> dict[str, Any]:
    try:
        request = parse_request(message)
    except BadRequest as error:
        return _error(str(error))
    service.judging += 1
    service.last_used = time.monotonic()
    try:
        return await judge(service.state, request)
    finally:
        service.judging -= 1
        service.last_used = time.monotonic()


def _error(detail: str) -> dict[str, Any]:
    return {"ok": False, "reason": fallback.reason(fallback.AGENT_ERROR, detail)}


def status(service: Service) -> dict[str, Any]:
    """What `ways agent status` shows of this process, as plain data."""
    state = service.state
    report: dict[str, Any] = {
        "pid": os.getpid(),
        "program": __version__,
        "started_at": clock.utc_iso(service.started_at),
        "in_flight": state.slots.in_flight,
        "queue": state.slots.queue,
        **state.stats.as_data(),
    }
    try:
        current = state.settings.current()
    except settings.ConfigError as error:
        return {**report, "config_error": str(error)}
    profile = current.profile
    record = keycheck.load(state.roots, profile.provider)
    fresh = record is not None and record.concerns(keys.identity(state.roots, profile.provider), profile)
    return {
        **report,
        "mode": current.mode,
        "engine": current.engine,
        "model": profile.model,
        "key": record.state if record is not None and fresh else "unchecked",
    }
