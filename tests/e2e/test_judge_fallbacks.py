"""Every way to get no verdict: the hit is shown as the matcher decided, and the exact reason is logged."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.judge_home import ALPHA, BETA, Home, home, wait_for
from ways.agent import keycheck, transport
from ways.core import clock, local_socket
from ways.gate import client, hook_settings, link
from ways.gate.types import GateOutcome


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home(tmp_path_factory.mktemp("judge")) as user:
        yield user


@pytest.fixture
def user(shared: Home) -> Iterator[Home]:
    """The shared home with its running agent, as after a fresh set-up."""
    server = shared.server
    server.behaviour, server.check, server.delay, server.check_delay = "ok", 200, 0.0, 0.0
    server.limit_remaining, server.usage, server.cost = 12.5, True, 0.00123
    server.error_body = {"type": "error", "error": {"type": "x", "message": "m"}}
    server.endpoints = [{"supported_parameters": ["tools", "tool_choice"]}]
    server.seen.clear()
    shared.profile.clear()
    shared.profile["timeout_ms"] = 8000
    shared.configure()
    shared.store_key()
    for provider in ("anthropic", "openrouter"):
        keycheck.forget(shared.roots, provider)
    Path(shared.roots.events).unlink(missing_ok=True)
    yield shared


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Home]:
    """A home of the test's own, whose agent has not been started."""
    with home(tmp_path) as user:
        user.profile["timeout_ms"] = 8000
        user.configure()
        yield user


def failed_open(user: Home, outcome: GateOutcome) -> str:
    """The one logged reason of an outcome that changed nothing."""
    assert outcome.blocked == frozenset()
    assert outcome.would_block == frozenset()
    assert user.logged("way_judged") == []
    (event,) = user.logged("gate_fallback")
    assert event["candidates"] == "2"
    assert event["gate_ms"].isdigit()
    return event["reason"]


# At or after the call


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 413, 429, 500, 502, 503, 529])
def test_an_error_status(user: Home, status: int) -> None:
    user.server.behaviour = status
    assert failed_open(user, user.judge()) == f"provider_{status}"
    (call,) = user.logged("judge_call")
    assert (call["outcome"], call["reason"]) == ("failed", f"provider_{status}")
    if status < 500 and status != 408:
        assert (call["cost_usd"], call["cost_source"]) == ("0", "none")
    else:
        assert call["cost_source"] == "unknown"
        assert "cost_usd" not in call


def test_a_redirect_is_not_followed(user: Home) -> None:
    user.server.behaviour = "redirect"
    assert failed_open(user, user.judge()) == "provider_302"
    assert [seen.path for seen in user.server.posts] == ["/v1/messages"]
    assert "/elsewhere" not in {seen.path for seen in user.server.seen}


@pytest.mark.parametrize("behaviour", ["dropped", "half_closed", "not_http"])
def test_a_broken_connection(user: Home, behaviour: str) -> None:
    user.server.behaviour = behaviour
    assert failed_open(user, user.judge()).startswith("transport: ")
    (call,) = user.logged("judge_call")
    assert call["cost_source"] == "unknown"


def test_a_provider_that_cannot_be_reached_has_not_been_called(user: Home) -> None:
    # The key has been checked at this address before the provider went away.
    user.judge()
    record = keycheck.load(user.roots, "anthropic")
    assert record is not None
    user.profile["base_url"] = "http://127.0.0.1:9"
    user.configure()
    keycheck.store(
        user.roots,
        "anthropic",
        keycheck.Record(
            "valid", "", record.checked_at, record.key_identity, record.model, "http://127.0.0.1:9"
        ),
    )
    Path(user.roots.events).unlink()
    assert failed_open(user, user.judge()) == "transport: ConnectError"
    assert user.logged("judge_call") == []


@pytest.mark.parametrize("behaviour", ["slow", "dribble"])
def test_a_slow_provider(user: Home, behaviour: str) -> None:
    user.judge()
    Path(user.roots.events).unlink()
    user.profile["timeout_ms"] = 300
    user.configure()
    if behaviour == "slow":
        user.server.delay = 1.0
    else:
        user.server.behaviour = behaviour
    assert failed_open(user, user.judge()) == "deadline"
    (call,) = user.logged("judge_call")
    assert (call["reason"], call["cost_source"]) == ("deadline", "unknown")


@pytest.mark.parametrize("engine", ["anthropic", "openrouter"])
@pytest.mark.parametrize(
    "behaviour, words",
    [
        ("no_tool_call", "answer: no tool call"),
        ("two_calls", "answer: 2 tool calls"),
        ("cut", "answer: cut at max_tokens"),
        ("missing", "answer: 1 of 2 candidates are missing"),
        ("extra", "answer: a candidate that was not asked about"),
        ("doubled", "answer: a candidate judged twice"),
        ("too_sure", "answer: confidence is out of range"),
        ("negative", "answer: confidence is out of range"),
        ("confidence_text", "answer: confidence is not a number"),
        ("confidence_true", "answer: confidence is not a number"),
        ("relevant_text", "answer: relevant is not a boolean"),
        ("number_text", "answer: a judgement without a candidate's number"),
        ("not_json", "answer: not JSON"),
        ("deep_json", "answer: not JSON"),
        ("a_list", "answer: not a JSON object"),
        ("stream", "answer: not JSON"),
        ("huge", f"answer: more than {transport.MAX_BODY} bytes"),
    ],
)
def test_an_answer_that_is_none(user: Home, engine: str, behaviour: str, words: str) -> None:
    user.store_key(engine)
    user.configure(engine)
    user.server.behaviour = behaviour
    assert failed_open(user, user.judge()) == words
    assert len(user.logged("judge_call")) == 1


def test_unknown_fields_in_an_answer_are_ignored(user: Home) -> None:
    user.server.behaviour = "unknown_fields"
    assert user.judge().blocked == {"code/beta"}


def test_an_error_inside_a_200_keeps_its_status(user: Home) -> None:
    user.store_key("openrouter")
    user.configure("openrouter")
    user.server.behaviour = "error_inside"
    assert failed_open(user, user.judge()) == "provider_502"


def test_usage_is_billed_even_when_the_answer_is_useless(user: Home) -> None:
    user.server.behaviour = "no_tool_call"
    user.judge()
    (call,) = user.logged("judge_call")
    assert (call["cost_usd"], call["cost_source"]) == ("0.0007", "price")


def test_a_cost_that_nobody_knows_is_not_a_zero(user: Home) -> None:
    user.server.usage = False
    user.judge()
    (call,) = user.logged("judge_call")
    assert call["cost_source"] == "unknown"
    assert "cost_usd" not in call


# The key


@pytest.mark.parametrize(
    "status, state",
    [
        (401, "invalid"),
        (403, "invalid"),
        (402, "no_credit"),
        (404, "model_unavailable"),
        (429, "rate_limited"),
        (500, "unreachable"),
        (529, "unreachable"),
    ],
)
def test_a_key_is_not_used_before_a_check_has_found_it_valid(user: Home, status: int, state: str) -> None:
    user.server.check = status
    assert failed_open(user, user.judge()) == f"key_unverified: {state}"
    user.judge()
    assert user.server.posts == []
    # The state is remembered: the second prompt asked nobody.
    assert len(user.server.gets) == 1


def test_a_check_that_takes_longer_than_the_prompt_may_wait(user: Home) -> None:
    user.profile["timeout_ms"] = 200
    user.configure()
    user.server.check_delay = 0.6
    assert failed_open(user, user.judge()) == "key_unverified: the check is still running"
    wait_for(lambda: keycheck.load(user.roots, "anthropic") is not None)
    user.server.check_delay = 0.0
    user.profile["timeout_ms"] = 8000
    user.configure()
    assert user.judge().blocked == {"code/beta"}
    assert len(user.server.gets) == 1


def test_openrouter_checks_the_limit_and_the_model(user: Home) -> None:
    user.store_key("openrouter")
    user.configure("openrouter")
    user.server.limit_remaining = 0
    assert failed_open(user, user.judge()) == "key_unverified: no_credit"
    keycheck.forget(user.roots, "openrouter")
    user.server.limit_remaining = None
    user.server.endpoints = [{"supported_parameters": ["temperature"]}]
    user.judge()
    assert user.reasons()[-1] == "key_unverified: model_unavailable"
    assert [seen.path for seen in user.server.gets][-2:] == [
        "/api/v1/key",
        "/api/v1/models/anthropic/claude-haiku-4.5/endpoints",
    ]


def test_another_model_or_another_key_is_checked_anew(user: Home) -> None:
    user.judge()
    user.profile["model"] = "another-model"
    user.configure()
    user.judge()
    user.store_key(key="sk-another-key-0123456789")
    user.judge()
    assert [seen.path.rsplit("/", 1)[1] for seen in user.server.gets] == [
        "claude-haiku-4-5",
        "another-model",
        "another-model",
    ]
    assert user.reasons() == []


def test_a_revoked_key_is_checked_before_its_next_use(user: Home) -> None:
    user.judge()
    user.server.behaviour, user.server.check = 401, 401
    user.judge()
    user.judge()
    assert user.reasons() == ["provider_401", "key_unverified: invalid"]


def test_an_account_without_credit_is_left_alone(user: Home) -> None:
    user.server.behaviour = 400
    user.server.error_body = {"error": {"message": "Your credit balance is too low to access the API."}}
    user.judge()
    user.judge()
    assert user.reasons() == ["provider_400", "key_unverified: no_credit"]
    assert len(user.server.posts) == 1


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_key_that_others_may_read_is_not_used(user: Home, mode: int) -> None:
    path = user.store_key(mode=mode)
    assert failed_open(user, user.judge()) == f"key: {path} has mode {mode:04o} and needs 0600"
    assert user.server.seen == []


def test_a_key_that_is_none(user: Home) -> None:
    user.store_key(key="sk two words")
    assert failed_open(user, user.judge()) == "key: a key is one word of printable ASCII characters"


def test_a_key_removed_while_a_hook_runs(user: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    names = client._key_names
    path = Path(user.roots.config, "keys", "anthropic")

    def look_then_remove(request: object) -> list[str]:
        found = names(request)  # type: ignore[arg-type]
        path.unlink()
        return found

    monkeypatch.setattr(client, "_key_names", look_then_remove)
    assert failed_open(user, user.judge()) == "no_key"


def test_a_gate_switched_off_while_a_hook_runs(user: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    read_before = hook_settings.load(user.roots)
    user.configure(mode="off")
    monkeypatch.setattr(hook_settings, "load", lambda _: read_before)
    assert failed_open(user, user.judge()) == "off"


# Settings


@pytest.mark.parametrize(
    "text, words",
    [
        ("gate: [", "agent.yaml line "),
        ("- a list", "agent.yaml: a mapping is expected at the top"),
        ("gate:\n  mode: offf\n", "agent.yaml line 2: gate.mode: 'offf' is not one of enforce, shadow, off"),
        ("gate:\n  engin: x\n", "agent.yaml line 2: gate.engin: unknown key"),
        ("gate:\n  engine: nobody\n", "agent.yaml line 2: gate.engine: no profile has the name 'nobody'"),
        (
            "gate:\n  profiles:\n    anthropic:\n      threshold: 30\n",
            "agent.yaml line 4: gate.profiles.anthropic.threshold: 30 is not a number from 0 to 1",
        ),
        (
            "gate:\n  profiles:\n    anthropic:\n      base_url: http://example.com\n",
            "agent.yaml line 4: gate.profiles.anthropic.base_url: must be https",
        ),
    ],
)
def test_broken_settings_turn_the_gate_off(user: Home, text: str, words: str) -> None:
    Path(user.roots.config, "agent.yaml").write_text(text)
    reason = failed_open(user, user.judge())
    assert reason.startswith(f"config: {words}")
    assert user.server.seen == []
    # And from the cached parse as well.
    user.judge()
    assert user.reasons() == [reason, reason]


def test_settings_that_break_while_a_hook_runs(user: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    read_before = hook_settings.load(user.roots)
    Path(user.roots.config, "agent.yaml").write_text("gate: 7\n")
    monkeypatch.setattr(hook_settings, "load", lambda _: read_before)
    assert failed_open(user, user.judge()) == "config: agent.yaml line 1: gate: a mapping is expected"


def test_an_agent_of_another_config_folder(user: Home, tmp_path: Path) -> None:
    message = {
        "op": "judge",
        "config": str(tmp_path),
        "engine": "anthropic",
        "turns": [],
        "candidates": [{"id": "a", "path": "a", "description": "d"}],
    }
    reply = link.ask(user.roots, message, 5)
    assert reply["reason"] == "config: the running agent serves another config folder"


# The agent


def test_a_request_that_is_none(user: Home) -> None:
    assert failed_open(user, user.judge(hits=(ALPHA, ALPHA))) == "agent_error: a candidate is named twice"


def test_a_request_that_no_frame_can_hold(user: Home) -> None:
    assert failed_open(user, user.judge(project="p" * (2 << 20))).startswith("encode: ")


def test_busy_and_out_of_time_before_the_call(user: Home) -> None:
    user.judge()
    Path(user.roots.events).unlink()
    user.profile["timeout_ms"] = 700
    user.configure(concurrency=1)
    user.server.delay = 1.2
    threads = [threading.Thread(target=user.judge) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    counted = Counter(reason.split(" ")[0] for reason in user.reasons())
    # One call at a time, sixteen waiting, three too many.
    assert counted["busy:"] == 3
    assert counted["deadline"] + counted["deadline:"] == 17
    assert "deadline: before call" in user.reasons()


def test_an_agent_killed_during_the_call(own: Home) -> None:
    own.profile["timeout_ms"] = 5000
    own.configure()
    own.server.delay = 3.0

    def kill() -> None:
        wait_for(lambda: own.server.posts)
        os.kill(own.pid(), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert failed_open(own, own.judge()) == "agent_closed"
    killer.join()


def test_a_stopping_agent_begins_nothing_new(own: Home) -> None:
    own.profile["timeout_ms"] = 3000
    own.configure()
    own.judge()
    Path(own.roots.events).unlink()
    own.server.delay = 1.5
    first = threading.Thread(target=own.judge, kwargs={"session": "first"})
    first.start()
    wait_for(lambda: len(own.server.posts) == 2)
    pid = own.pid()
    connection = link.open_connection(own.roots, own.socket, start=False)
    try:
        # The connection is served before the agent hears that it shall stop.
        deadline = time.monotonic() + 10
        local_socket.send_frame(connection, link.encode({"op": "ping"}), deadline)
        assert link.decode(local_socket.receive_frame(connection, deadline))["pid"] == pid
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not os.path.exists(own.socket))
        time.sleep(0.3)
        message = {
            "op": "judge",
            "config": own.roots.config,
            "engine": "anthropic",
            "turns": [{"role": "user", "text": "x"}],
            "candidates": [{"id": "a", "path": "a", "description": "d"}],
        }
        local_socket.send_frame(connection, link.encode(message), deadline)
        assert link.decode(local_socket.receive_frame(connection, deadline))["reason"] == "agent_stopping"
    finally:
        connection.close()
    first.join()
    # What had begun was finished.
    assert [e["verdict"] for e in own.logged("way_judged")] == ["pass", "block"]


def test_no_program_to_start(own: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", str(own.folder / "gone"))
    assert failed_open(own, own.judge()).startswith("agent_missing: ")


def test_a_failed_start_is_not_repeated_for_five_minutes(own: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = own.folder / "broken"
    broken.write_text(f"#!/bin/sh\necho started >> {own.folder}/starts\nexit 3\n")
    broken.chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", str(broken))
        own.judge()
        own.judge()
    own.judge()
    assert own.reasons() == [
        "agent_start: the agent ended with exit code 3",
        "agent_start_backoff",
        "agent_start_backoff",
    ]
    assert (own.folder / "starts").read_text() == "started\n"
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + 301)
    assert own.judge().blocked == {"code/beta"}


def test_an_agent_that_never_listens(own: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = own.folder / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 3\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(sleeper))
    assert failed_open(own, own.judge()) == "agent_start: no agent listened within 1.5 s"


# Replies that are none: a process of the user's own that is not an agent


def serve_once(path: str, answer: bytes) -> threading.Thread:
    """Something that listens on the agent's socket and answers the first frame with `answer`."""
    listener = local_socket.listen(path)

    def run() -> None:
        connection, _ = listener._accept()
        import _socket

        peer = _socket.socket(fileno=connection)
        try:
            local_socket.receive_frame(peer, time.monotonic() + 10)
            peer.sendall(answer)
        finally:
            peer.close()
            listener.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def framed(text: str) -> bytes:
    """`text` as a frame."""
    return local_socket.encode_frame(text.encode())


@pytest.mark.parametrize(
    "answer, words",
    [
        (framed("not JSON"), "decode: not JSON"),
        (b"\x00\x00\x00\x00", "decode: a frame of 0 bytes"),
        (b"\x7f\xff\xff\xff", "decode: a frame of 2147483647 bytes"),
        (b"\x00\x00\x00\x09abc", "agent_closed"),
        (b"", "agent_closed"),
        (framed("[]"), "unexpected_reply: not a mapping"),
        (framed('{"version": 2, "ok": true}'), "unexpected_reply: protocol version 2"),
        (framed('{"version": 1}'), "unexpected_reply: neither a verdict nor a reason"),
        (framed('{"version": 1, "ok": true}'), "unexpected_reply: verdicts on other candidates"),
        (
            framed('{"version": 1, "ok": true, "verdicts": [{"id": "code/alpha", "p_yes": 7}]}'),
            "unexpected_reply: a verdict without a probability",
        ),
        (
            framed('{"version": 1, "ok": true, "verdicts": [{"id": "code/alpha", "p_yes": 0.1}]}'),
            "unexpected_reply: verdicts on other candidates",
        ),
    ],
)
def test_a_reply_that_is_none(own: Home, answer: bytes, words: str) -> None:
    thread = serve_once(own.socket, answer)
    assert failed_open(own, own.judge()).startswith(words)
    thread.join()


def test_a_connection_that_fails_halfway(own: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        """A connection whose device reports an error: no real socket does so on demand."""

        def settimeout(self, seconds: float) -> None: ...

        def send(self, data: memoryview) -> int:
            raise OSError(5, "Input/output error")

        def close(self) -> None: ...

    monkeypatch.setattr(link, "_connect", lambda *_: Failing())
    assert failed_open(own, own.judge()) == "io: Input/output error"


def test_a_listener_that_accepts_nobody(own: Home) -> None:
    listener = local_socket.listen(own.socket, backlog=0)
    waiting = []
    try:
        with pytest.raises((TimeoutError, OSError)):
            for _ in range(5):
                waiting.append(local_socket.connect(own.socket, 0.1))
        assert failed_open(own, own.judge()) == "connect: the agent does not accept connections"
    finally:
        for connection in waiting:
            connection.close()
        listener.close()


def _folder(path: Path) -> None:
    path.mkdir()
    (path / "keep").write_text("the user's")


def _file(path: Path) -> None:
    path.write_text("the user's")


def _open_socket(path: Path) -> None:
    local_socket.listen(str(path)).close()
    path.chmod(0o666)


def _foreign_socket(path: Path) -> None:
    local_socket.listen(str(path)).close()
    os.chown(path, 12345, 12345)


def _link(path: Path) -> None:
    local_socket.listen(str(path.with_name("real.sock"))).close()
    path.symlink_to("real.sock")


root_only = pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")


@pytest.mark.parametrize(
    "make, words",
    [
        (_folder, "is a folder"),
        (_file, "is not a socket"),
        (_link, "is not a socket"),
        (_open_socket, "has mode 0666"),
        pytest.param(_foreign_socket, "belongs to user 12345", marks=root_only),
    ],
)
def test_a_socket_that_is_not_the_users_alone(own: Home, make: Callable[[Path], None], words: str) -> None:
    make(Path(own.socket))
    assert failed_open(own, own.judge()) == f"agent_untrusted: {own.socket} {words}"
    assert own.server.seen == []


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_can_write(own: Home, mode: int) -> None:
    folder = Path(own.socket).parent
    folder.chmod(mode)
    reason = failed_open(own, own.judge())
    assert reason == f"agent_untrusted: the folder of {own.socket} is writable by group or others"
    assert own.pid() == 0


def test_hits_stand_whatever_happens_inside_the_gate(own: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(client, "_judge", fail)
    assert own.judge(hits=(ALPHA, BETA)).blocked == frozenset()
    assert "a fault of ours" in Path(own.roots.state, "debug.log").read_text()
