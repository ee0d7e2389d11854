"""The hook's side costs little, knows its places, and passes nothing on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ways.core import roots
from ways.gate import agent_start, fallback, paths
from ways.gate.fallback import Fallback

DEAR = {
    "dataclasses",
    "typing",
    "pathlib",
    "subprocess",
    "socket",
    "json",
    "yaml",
    "re",
    "logging",
    "enum",
    "httpx",
}


def loaded(code: str, **environ: str) -> set[str]:
    """The modules that `code` leaves loaded in a bare interpreter."""
    source = str(Path(__file__).parents[3])
    program = f"import sys; sys.path.insert(0, {source!r}); {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True, env=environ
    )
    return set(done.stdout.split())


def test_loading_the_gate_loads_nothing_dear() -> None:
    assert not DEAR & loaded("import ways.gate.client")


def test_without_a_key_the_gate_loads_nothing_dear(tmp_path: Path) -> None:
    code = (
        "from ways.core import roots; from ways.gate.client import judge; "
        "from ways.gate.types import GateHit, GateRequest; "
        "judge(GateRequest(roots.resolve(), 'prompt', (GateHit('a', 'b'),), 'text'))"
    )
    modules = loaded(code, HOME=str(tmp_path), WAYS_CONFIG_ROOT=str(tmp_path / "config"))
    assert not (DEAR | {"_socket", "ways.gate.link"}) & modules


def test_reasons_are_one_line_and_bounded() -> None:
    assert fallback.reason("io", "a\nb\tc\x1b[31m") == "io: a b c [31m"
    assert len(fallback.reason("io", "x" * 1000)) == fallback.MAX_REASON
    assert fallback.word_of("deadline: before call") == "deadline"
    assert Fallback("no_key").reason == "no_key"


def test_the_words_are_those_of_the_spec() -> None:
    words = {value for name, value in vars(fallback).items() if name.isupper() and isinstance(value, str)}
    assert words == {
        "config",
        "agent_missing",
        "agent_start",
        "agent_start_backoff",
        "connect",
        "agent_untrusted",
        "encode",
        "off",
        "no_key",
        "key",
        "key_unverified",
        "busy",
        "agent_stopping",
        "agent_error",
        "deadline",
        "transport",
        "answer",
        "io",
        "agent_closed",
        "decode",
        "unexpected_reply",
    }
    assert fallback.provider_status(529) == "provider_529"


def test_where_the_socket_is(tmp_path: Path) -> None:
    state = tmp_path / "s"
    home = roots.resolve({"HOME": str(tmp_path), "WAYS_STATE_ROOT": str(state)})
    private = str(state / "agent" / "agent-ways.sock")
    runtime = tmp_path / "runtime"
    assert paths.socket_path(home, {}) == private
    assert paths.socket_path(home, {"XDG_RUNTIME_DIR": "relative"}) == private
    assert paths.socket_path(home, {"XDG_RUNTIME_DIR": str(runtime)}) == private
    runtime.mkdir(mode=0o700)
    assert paths.socket_path(home, {"XDG_RUNTIME_DIR": str(runtime)}) == str(runtime / "agent-ways.sock")
    runtime.chmod(0o770)
    assert paths.socket_path(home, {"XDG_RUNTIME_DIR": str(runtime)}) == private
    explicit = {"WAYS_AGENT_SOCK": "/x/y.sock", "XDG_RUNTIME_DIR": str(runtime)}
    assert paths.socket_path(home, explicit) == "/x/y.sock"
    long = roots.resolve({"HOME": str(tmp_path), "WAYS_STATE_ROOT": str(tmp_path / ("d" * 100))})
    assert paths.socket_path(long, {}) == f"/tmp/.agent-ways-{os.getuid()}/agent-ways.sock"


def test_the_environment_of_an_agent() -> None:
    given = {
        "HOME": "/h",
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "OPENROUTER_API_KEY": "k",
        "AWS_SECRET": "k",
        "SSLKEYLOGFILE": "f",
        "PYTHONPATH": "p",
        "LD_PRELOAD": "l",
        "CLAUDECODE": "1",
        "NODE_OPTIONS": "x",
        "https_proxy": "p",
        "HTTPS_PROXY": "p",
        "no_proxy": "n",
        "SSL_CERT_DIR": "d",
        "NODE_EXTRA_CA_CERTS": "c",
        "XDG_CONFIG_HOME": "x",
    }
    assert set(agent_start.agent_environment(given)) == {
        "HOME",
        "PATH",
        "https_proxy",
        "HTTPS_PROXY",
        "no_proxy",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "XDG_CONFIG_HOME",
    }


def test_the_program_that_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    command, folder = agent_start.program()
    assert command == [sys.executable, "-m", "ways.agent"]
    assert Path(folder, "ways", "agent", "__main__.py").is_file()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert agent_start.program()[0] == [sys.executable, "agent", "serve"]
