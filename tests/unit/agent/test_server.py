"""What the agent answers to messages that are none, in one process."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ways.agent.server import Service, answer, encode_reply
from ways.agent.state import AgentState, SettingsCache
from ways.agent.transport import Transport
from ways.core import local_socket, roots
from ways.gate import link
from ways.gate.fallback import Fallback

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    names = {
        f"WAYS_{name.upper()}_ROOT": str(tmp_path / name) for name in ("config", "state", "cache", "app")
    }
    resolved = roots.resolve({**names, "HOME": str(tmp_path)})
    return Service(AgentState(resolved, Transport(), SettingsCache(resolved.config)))


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(
    message=st.dictionaries(st.sampled_from(["op", "turns", "candidates", "config", "engine", "log"]), JSON),
    version=st.sampled_from([1, 1, 1, 2, "1", None, True]),
    operation=st.sampled_from(["judge", "status", "ping", "nonsense", None]),
)
def test_any_message_gets_a_reply_that_fits_a_frame(
    service: Service, message: dict[str, Any], version: object, operation: object
) -> None:
    reply = asyncio.run(answer(service, {**message, "version": version, "op": operation}))
    data = local_socket.encode_frame(encode_reply(reply))[4:]
    assert json.loads(data)["version"] == 1
    if operation in {"status", "ping"} and version == 1:
        assert reply["ok"] is True
    else:
        assert reply["ok"] is False
        assert reply["reason"].startswith("agent_error: ")


@given(st.binary(max_size=100))
def test_any_reply_is_a_mapping_or_a_fallback(data: bytes) -> None:
    try:
        assert link.decode(data)["version"] == 1
    except Fallback as failure:
        assert failure.reason.split(":")[0] in {"decode", "unexpected_reply"}


@given(st.binary(min_size=4, max_size=4))
def test_a_length_is_bounded(header: bytes) -> None:
    value = int.from_bytes(header, "big")
    if 0 < value <= local_socket.MAX_FRAME:
        assert local_socket.frame_length(header) == value
    else:
        with pytest.raises(local_socket.FrameError):
            local_socket.frame_length(header)


def test_status_of_an_agent_with_broken_settings(service: Service) -> None:
    Path(service.state.roots.config).mkdir()
    Path(service.state.roots.config, "agent.yaml").write_text("gate: 1\n")
    report = asyncio.run(answer(service, {"version": 1, "op": "status"}))["status"]
    assert report["config_error"] == "agent.yaml line 1: gate: a mapping is expected"
