"""The agent as a process: started once, found, replaced, killed, frozen, idle; and never in the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.judge_home import Home, alive, home, wait_for
from ways import __version__
from ways.core import local_socket, locking
from ways.gate import link, paths
from ways.gate.fallback import Fallback

HOOK = """
import sys
from ways.core import roots
from ways.gate.client import judge
from ways.gate.types import GateHit, GateRequest
from ways.telemetry import log
resolved = roots.resolve()
hits = (GateHit("code/alpha", "about alpha"), GateHit("code/beta", "about beta"))
outcome = judge(GateRequest(resolved, "prompt", hits, "alpha please"))
log.append(resolved.events, list(outcome.events))
print(",".join(sorted(outcome.blocked)))
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as user:
        user.profile["timeout_ms"] = 8000
        user.configure()
        yield user


def start_agent(*arguments: str, code: str = "", **environ: str) -> subprocess.Popen[bytes]:
    """An agent started by hand, as a child of the test."""
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "ways.agent"]
    return subprocess.Popen([*command, *arguments], env={**os.environ, **environ})


def test_case_h19_the_starters_stdout_reaches_its_end_at_once(user: Home) -> None:
    read, write = os.pipe()
    extra_read, extra_write = os.pipe()
    hook = subprocess.Popen([sys.executable, "-c", HOOK], stdout=write, stderr=write, pass_fds=[extra_write])
    os.close(write)
    os.close(extra_write)
    with open(read, "rb") as output, open(extra_read, "rb") as extra:
        # Both would block for as long as the agent lived if it held them.
        assert output.read() == b"code/beta\n"
        assert extra.read() == b""
    assert hook.wait() == 0
    pid = user.pid()
    assert alive(pid)
    targets = {os.readlink(f"/proc/{pid}/fd/{number}") for number in (0, 1, 2)}
    assert targets == {"/dev/null"}
    assert os.getsid(pid) == pid


def test_racing_hooks_leave_exactly_one_agent(user: Home) -> None:
    hooks = [
        subprocess.Popen([sys.executable, "-c", HOOK], stdout=subprocess.PIPE, text=True) for _ in range(8)
    ]
    outputs = [hook.communicate()[0] for hook in hooks]
    assert outputs == ["code/beta\n"] * 8
    assert user.agents() == [user.pid()]
    assert user.reasons() == []


def test_a_second_agent_leaves_at_once(user: Home) -> None:
    user.judge()
    second = start_agent()
    assert second.wait(20) == 0
    assert user.agents() == [user.pid()]


def test_the_socket_and_its_folder_are_the_users_alone(user: Home) -> None:
    os.umask(former := os.umask(0))
    try:
        os.umask(0)
        user.judge()
    finally:
        os.umask(former)
    assert Path(user.socket).stat().st_mode & 0o777 == 0o600
    assert Path(user.socket).parent.stat().st_mode & 0o777 == 0o700


def test_a_killed_agent_is_replaced_by_the_next_prompt(user: Home) -> None:
    user.judge()
    pid = user.pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not alive(pid))
    assert user.judge().blocked == {"code/beta"}
    assert user.pid() not in {0, pid}
    assert user.reasons() == []


def test_a_frozen_agent_costs_one_prompt_and_is_replaced(user: Home) -> None:
    user.judge()
    pid = user.pid()
    os.kill(pid, signal.SIGSTOP)
    user.profile["timeout_ms"] = 200
    user.configure()
    assert user.judge().blocked == frozenset()
    assert user.reasons() == ["deadline: no reply from the agent"]
    wait_for(lambda: not alive(pid))
    user.profile["timeout_ms"] = 8000
    user.configure()
    assert user.judge().blocked == {"code/beta"}


def test_a_frozen_agent_is_taken_over_by_a_new_one(user: Home) -> None:
    """The socket's name is gone as well, so that hooks do not even find the frozen one."""
    user.judge()
    pid = user.pid()
    os.kill(pid, signal.SIGSTOP)
    os.unlink(user.socket)
    assert user.judge().blocked == {"code/beta"}
    assert not alive(pid)


def test_a_removed_socket_is_made_again(user: Home) -> None:
    user.judge()
    pid = user.pid()
    os.unlink(user.socket)
    assert user.judge().blocked == {"code/beta"}
    wait_for(lambda: user.agents() == [user.pid()])
    assert user.pid() != pid


def test_an_agent_whose_socket_is_gone_leaves_by_itself(user: Home) -> None:
    user.judge()
    pid = user.pid()
    os.unlink(user.socket)
    wait_for(lambda: not alive(pid))
    assert "leaving: socket" in Path(user.roots.state, "debug.log").read_text()


def recovers(user: Home) -> None:
    """The prompt that meets what cannot be trusted goes unjudged; a later one is judged again."""
    assert user.judge().blocked == frozenset()
    assert user.reasons()[-1].startswith("agent_untrusted: ")
    wait_for(lambda: user.pid() > 0)
    assert user.judge().blocked == {"code/beta"}
    wait_for(lambda: user.agents() == [user.pid()])


def test_a_socket_replaced_by_an_empty_folder(user: Home) -> None:
    user.judge()
    os.unlink(user.socket)
    os.mkdir(user.socket)
    recovers(user)


def test_a_socket_replaced_by_a_folder_with_something_in_it_is_left_alone(user: Home) -> None:
    user.judge()
    os.unlink(user.socket)
    os.mkdir(user.socket)
    kept = Path(user.socket, "kept")
    kept.write_text("the user's")
    for _ in range(2):
        assert user.judge().blocked == frozenset()
    assert [reason.split(":")[0] for reason in user.reasons()] == ["agent_untrusted"] * 2
    assert kept.read_text() == "the user's"
    # The one that the prompts started must be gone: on a slow machine it would find the place free.
    wait_for(lambda: user.agents() == [])
    kept.unlink()
    os.rmdir(user.socket)
    # A start that failed a moment ago is not repeated; the agent by hand is found at once.
    process = start_agent()
    wait_for(lambda: user.pid() > 0)
    assert user.judge().blocked == {"code/beta"}
    process.terminate()
    assert process.wait(20) == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_socket_that_belongs_to_another_user(user: Home) -> None:
    user.judge()
    os.chown(user.socket, 12345, 12345)
    recovers(user)


def test_a_socket_that_others_may_use(user: Home) -> None:
    user.judge()
    os.chmod(user.socket, 0o666)
    recovers(user)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_socket_served_by_another_user_is_refused(user: Home) -> None:
    """The name is ours, the mode is right, but the process behind it runs as somebody else."""
    code = (
        "import os, sys, time, _socket\n"
        "path = sys.argv[1]\n"
        "s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)\n"
        "s.bind(path); os.chmod(path, 0o600); os.setuid(12345); s.listen(5)\n"
        "print('up', flush=True); time.sleep(30)\n"
    )
    command = [sys.executable, "-c", code, user.socket]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        try:
            assert user.judge().blocked == frozenset()
            assert user.reasons() == [f"agent_untrusted: {user.socket} is served by user 12345"]
            assert user.server.seen == []
        finally:
            other.kill()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_the_agent_refuses_clients_of_another_user(user: Home) -> None:
    user.judge()
    for folder in [user.folder, *user.folder.parents]:
        if folder == Path(tempfile.gettempdir()) or folder == Path(folder.anchor):
            break
        folder.chmod(0o755)
    os.chmod(Path(user.socket).parent, 0o755)
    os.chmod(user.socket, 0o666)
    code = (
        "import os, sys, _socket\n"
        "os.setuid(12345)\n"
        "s = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)\n"
        "s.connect(sys.argv[1]); s.settimeout(10)\n"
        "try:\n"
        '    s.send(b\'\\0\\0\\0\\x1c{"version":1,"op":"status"}\')\n'
        "    print(s.recv(10))\n"
        "except (BrokenPipeError, ConnectionResetError):\n"
        "    print(b'')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, user.socket], capture_output=True, text=True, check=True
    )
    assert done.stdout == "b''\n"
    assert "refused a client of user 12345" in Path(user.roots.state, "debug.log").read_text()


def test_an_agent_of_another_version_is_asked_to_stop_after_the_call(user: Home) -> None:
    code = "import ways; ways.__version__ = '0.0.1'; from ways.agent.__main__ import main; main([])"
    old = start_agent(code=code)
    wait_for(lambda: os.path.exists(user.socket))
    assert user.judge().blocked == {"code/beta"}
    assert old.wait(20) == 0
    assert user.judge().blocked == {"code/beta"}
    assert link.ask(user.roots, {"op": "ping"}, 5, start=False)["program"] == __version__
    assert user.reasons() == []


def test_an_idle_agent_leaves_and_takes_its_socket_with_it(user: Home) -> None:
    process = start_agent("--idle-seconds", "0.3")
    assert process.wait(20) == 0
    assert not os.path.exists(user.socket)
    assert user.judge().blocked == {"code/beta"}


def test_an_agent_whose_program_is_replaced_leaves(user: Home) -> None:
    process = start_agent()
    wait_for(lambda: user.pid() > 0)
    Path(user.roots.app, "versions", "2").mkdir(parents=True)
    Path(user.roots.app, "current").symlink_to("versions/2")
    assert process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signalled_agent_leaves_in_order(user: Home, number: int) -> None:
    process = start_agent()
    wait_for(lambda: user.pid() > 0)
    process.send_signal(number)
    assert process.wait(20) == 0
    assert not os.path.exists(user.socket)


def test_the_environment_of_the_agent_is_cleared(user: Home) -> None:
    os.environ.update(
        ANTHROPIC_API_KEY="sk-ant-inherited",
        OPENROUTER_API_KEY="sk-or-inherited",
        SSLKEYLOGFILE="/tmp/keys",
        CLAUDE_SESSION="s",
        LD_PRELOAD="",
        https_proxy="http://proxy.example:3128",
        NO_PROXY="127.0.0.1",
        SSL_CERT_FILE=os.environ.get("SSL_CERT_FILE", "/etc/ssl/certs/ca-certificates.crt"),
    )
    user.judge()
    entries = Path(f"/proc/{user.pid()}/environ").read_bytes().decode().split("\0")
    names = {entry.split("=")[0] for entry in entries if entry}
    assert {"https_proxy", "NO_PROXY", "SSL_CERT_FILE", "PATH"} <= names
    assert (
        not {"ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "SSLKEYLOGFILE", "CLAUDE_SESSION", "LD_PRELOAD"}
        & names
    )
    # An inherited key is not used even where there is no other.
    Path(user.roots.config, "keys", "anthropic").unlink()
    assert user.judge().events == ()


def test_frames_that_break_the_protocol_close_their_connection_only(user: Home) -> None:
    user.judge()
    pid = user.pid()
    bystander = local_socket.connect(user.socket, 5)
    for data in (
        b"\x00\x00\x00\x00",
        b"\x00\x10\x00\x01" + b"x" * 100,
        b"\xff\xff\xff\xff",
        local_socket.encode_frame(b"not json"),
        local_socket.encode_frame(b"[" * 50_000),
        local_socket.encode_frame(b'"text"'),
        local_socket.encode_frame(b"\xff\xfe\x00"),
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    ):
        connection = local_socket.connect(user.socket, 5)
        connection.send(data)
        with pytest.raises((local_socket.PeerClosed, ConnectionResetError)):
            local_socket.receive_frame(connection, time.monotonic() + 10)
        connection.close()
    deadline = time.monotonic() + 10
    local_socket.send_frame(bystander, link.encode({"op": "ping", "unknown": [1]}), deadline)
    assert link.decode(local_socket.receive_frame(bystander, deadline))["pid"] == pid
    unknown = json.dumps({"version": 9, "op": "ping"}).encode()
    local_socket.send_frame(bystander, unknown, deadline)
    reply = link.decode(local_socket.receive_frame(bystander, deadline))
    assert reply["reason"] == "agent_error: protocol version 9 is not known"
    bystander.close()
    assert user.judge().blocked == {"code/beta"}


def test_slow_and_vanished_clients_hold_nobody_up(user: Home) -> None:
    user.judge()
    slow = [local_socket.connect(user.socket, 5) for _ in range(60)]
    for connection in slow:
        connection.send(b"\x00\x00")
    for _ in range(20):
        vanished = local_socket.connect(user.socket, 5)
        vanished.send(b"\x00\x00\x10\x00{")
        vanished.close()
    assert user.judge().blocked == {"code/beta"}
    assert user.reasons() == []
    for connection in slow:
        connection.close()


def test_the_call_of_a_hook_that_is_gone_is_logged_all_the_same(user: Home) -> None:
    user.judge()
    Path(user.roots.events).unlink()
    user.server.delay = 0.4
    hook = subprocess.Popen([sys.executable, "-c", HOOK])
    wait_for(lambda: len(user.server.posts) == 2)
    hook.kill()
    hook.wait()
    wait_for(lambda: user.logged("judge_call"))
    (call,) = user.logged("judge_call")
    assert (call["outcome"], call["cost_usd"]) == ("ok", "0.0007")


def test_an_agent_without_locks_still_serves(user: Home) -> None:
    """A file system that cannot lock, here: a lock that is a folder."""
    os.mkdir(paths.serve_lock(user.socket))
    try:
        assert user.judge().blocked == {"code/beta"}
        assert "serving without a lock" in Path(user.roots.state, "debug.log").read_text()
    finally:
        assert link.ask(user.roots, {"op": "stop"}, 5, start=False)["ok"] is True


def test_a_foreign_holder_of_the_lock_is_not_touched(user: Home) -> None:
    """The lock is held, but not by an agent that has written its id: nobody is signalled."""
    bystander = subprocess.Popen(["sleep", "60"])
    lock = locking.Lock(paths.serve_lock(user.socket), 0)
    lock.acquire()
    try:
        Path(paths.serve_lock(user.socket)).write_text(f"{bystander.pid} 1\n")
        assert start_agent().wait(20) == 1
        assert bystander.poll() is None
    finally:
        lock.release()
        bystander.kill()
        bystander.wait()


def test_a_start_is_waited_for_by_hooks_that_did_not_start_it(user: Home) -> None:
    """A hook that finds the start lock taken waits for the other's agent instead of starting one."""
    lock = locking.Lock(paths.start_lock(user.roots), 1)
    lock.acquire()
    found: list[int] = []

    def late_start() -> None:
        time.sleep(0.2)
        found.append(start_agent().pid)

    starter = threading.Thread(target=late_start)
    starter.start()
    try:
        assert user.judge().blocked == {"code/beta"}
    finally:
        lock.release()
        starter.join()
    assert user.agents() == found


def test_the_runtime_folder_is_used_when_it_is_the_users_alone(
    user: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WAYS_AGENT_SOCK")
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    assert user.judge().blocked == {"code/beta"}
    assert (runtime / "agent-ways.sock").exists()
    link.ask(user.roots, {"op": "stop"}, 5, start=False)
    wait_for(lambda: not (runtime / "agent-ways.sock").exists())
    runtime.chmod(0o777)
    assert paths.socket_path(user.roots) == str(Path(user.roots.state, "agent", "agent-ways.sock"))
    with pytest.raises(Fallback):
        link.open_connection(user.roots, paths.socket_path(user.roots), start=False)
