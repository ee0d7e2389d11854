"""The Bash guard that ships unwired: what it refuses, what it lets through, and that it never fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.payload import shipped

GUARD = shipped.WAYS / "check-bash-bound.py"


def run(data: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", "-S", str(GUARD)], input=data, capture_output=True, check=False
    )


def refused(command: object, tool: str = "Bash") -> str:
    """The reason of the denial, "" for none."""
    payload = {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": {"command": command}}
    done = run(json.dumps(payload).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    if not done.stdout:
        return ""
    output = json.loads(done.stdout)["hookSpecificOutput"]
    assert output["hookEventName"] == "PreToolUse" and output["permissionDecision"] == "deny"
    return str(output["permissionDecisionReason"])


@pytest.mark.parametrize(
    "command",
    [
        "pkill -f server",
        "pkill node",
        "sudo pkill -9 python",
        "cd x && pkill -f 'npm run dev'",
        "/usr/bin/killall node",
        "killall -q -9 vite; echo done",
        "kill -9 -1",
        "kill -- -1",
        "kill $(pgrep -f server)",
        "kill -9 `pidof node`",
        "pgrep -f server | xargs kill -9",
        "bash -c 'pkill -f x'",
        "if true; then pkill x; fi",
        "timeout 5 pkill x",
        "A=b pkill x",
        "echo a\npkill x",
        "(pkill x)",
    ],
)
def test_ending_processes_by_a_pattern_is_refused(command: str) -> None:
    reason = refused(command)
    assert "not yours to end" in reason or "every process" in reason
    assert 'kill "$pid"' in reason


@pytest.mark.parametrize(
    "command",
    [
        "vim notes.txt",
        "EDITOR=x nano a",
        "git rebase -i HEAD~3",
        "git -C x rebase --interactive main",
        "git commit",
        "git commit --amend",
        "git add -p",
        "git checkout --patch main",
        "git tag -a v1",
        "git mergetool",
        "ssh host uptime",
        "scp a host:b",
        "top",
        "less log",
        "python",
        "python3 -i",
        "psql",
        "passwd",
        "tmux attach",
        "sudo -u x visudo",
        "watch ls",
    ],
)
def test_waiting_for_a_person_is_refused(command: str) -> None:
    assert "needs no person" in refused(command)


@pytest.mark.parametrize(
    "command",
    [
        "kill 1234",
        'kill "$pid"',
        "kill -9 1234 1235",
        "kill -TERM -1234",
        "kill -0 $$",
        "pkill -P $$",
        "echo pkill -f x",
        "grep -r 'pkill -f' .",
        "git commit -m 'never use pkill; or vim'",
        "git commit --amend --no-edit",
        "git commit -F msg",
        "git commit -qam x",
        "GIT_SEQUENCE_EDITOR=true git rebase -i HEAD~2",
        "git rebase main",
        "git log -p",
        "git diff -p",
        "git stash -p --help",
        "git stash pop",
        "git tag -a v1 -m x",
        "git tag -l",
        "ssh -o BatchMode=yes host uptime",
        "ssh -oBatchMode=yes host",
        "ssh -V",
        "top -bn1",
        "python script.py",
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nprint('pkill x')\nvim\nEOF",
        "cat > f <<EOF\npkill -f x\nEOF\nls",
        "psql -c 'select 1'",
        "vim -es script.vim",
        "vim --version",
        "man --help",
        "tmux new-session -d -s x",
        "npm run top",
        "ls less more",
        "",
    ],
)
def test_the_rest_is_let_through(command: str) -> None:
    assert refused(command) == ""


@pytest.mark.parametrize("command", [None, 7, ["pkill", "x"], {"a": 1}, "'", '"$(', "\0", "é" * 9000])
def test_odd_commands_are_no_reason_to_stop(command: object) -> None:
    payload = {"tool_name": "Bash", "tool_input": {"command": command}}
    done = run(json.dumps(payload).encode())
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"tool_input": 3}'])
def test_a_broken_payload_is_let_through(data: bytes) -> None:
    done = run(data)
    assert (done.returncode, done.stdout) == (0, b"")


def test_case_h01_an_open_standard_input_is_not_waited_for() -> None:
    process = subprocess.Popen([sys.executable, str(GUARD)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(b'{"tool_name": "Bash", "tool_input": {"command": "pkill x"}}')
    process.stdin.flush()
    assert b"deny" in process.stdout.read()
    assert process.wait(30) == 0
    process.stdin.close()
    process.stdout.close()


def test_another_tool_is_none_of_its_business() -> None:
    assert refused("pkill x", tool="Write") == ""


def test_it_needs_nothing_but_the_standard_library() -> None:
    import ast

    tree = ast.parse(Path(GUARD).read_text("utf-8"), feature_version=(3, 8))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names <= sys.stdlib_module_names and not any(isinstance(n, ast.ImportFrom) for n in ast.walk(tree))


def test_it_is_not_wired() -> None:
    assert "check-bash-bound" not in (shipped.PAYLOAD / "settings.json").read_text("utf-8")
