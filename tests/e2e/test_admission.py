"""Racing and dying hooks: a way is shown once, and recorded exactly when it was printed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.e2e.session_home import Home, Session, write_way


def way(project: Path, name: str, front: str) -> None:
    write_way(project / ".claude/ways", f"team/{name}", front, f"{name.upper()}-BODY")


def test_twelve_hooks_at_once_show_a_way_once(session: Session, project: Path) -> None:
    way(project, "deploy", "pattern: deploy\ncommands: deploy\nfiles: deploy")
    session.start()
    payloads = []
    for index in range(4):
        payloads.append(session.payload("UserPromptSubmit", prompt="deploy"))
        for tool, given in (("Bash", {"command": "deploy"}), ("Edit", {"file_path": "/p/deploy"})):
            payloads.append(
                session.payload("PreToolUse", tool_name=tool, tool_input=given, tool_use_id=f"t{tool}{index}")
            )
    with ThreadPoolExecutor(12) as pool:
        contexts = list(pool.map(session.context, payloads))
    assert sorted(contexts) == [""] * 11 + ["DEPLOY-BODY"]
    assert (session.directory / "epoch").read_text().strip() == "12", "case h18: twelve counted"
    engagement = json.loads((session.directory / "engagement.json").read_text())
    assert engagement["team/deploy"]["fires"] == 1


def test_two_subagents_never_claim_the_same_stash(session: Session, project: Path) -> None:
    for name in ("one", "two", "three", "four"):
        way(project, name, f"pattern: \\b{name}\\b\nscope: subagent")
    session.start()
    for name in ("one", "two", "three", "four"):
        session.task(f"do {name}")
    with ThreadPoolExecutor(6) as pool:
        given = list(pool.map(lambda index: session.subagent(f"a{index}"), range(6)))
    assert sorted(given) == ["", "", "FOUR-BODY", "ONE-BODY", "THREE-BODY", "TWO-BODY"]


def start_hook(session: Session, payload: dict[str, object]) -> subprocess.Popen[bytes]:
    """The prompt hook itself, without a shell around it, so that a kill hits the program."""
    program = os.path.realpath(session.home.claude / "bin/ways")
    process = subprocess.Popen(
        [program, "hook", "prompt"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=session.project,
        env={
            **session.home.environment,
            "CLAUDE_PROJECT_DIR": str(session.project),
            "WAYS_TARGET": str(session.config),
        },
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    return process


@pytest.mark.parametrize("round_", range(3))
def test_a_hook_killed_right_after_printing_has_recorded(
    home: Home, session: Session, project: Path, round_: int
) -> None:
    way(project, "deploy", f"pattern: deploy\nrefire: {round_ + 1}")
    session.start()
    process = start_hook(session, session.payload("UserPromptSubmit", prompt="deploy"))
    assert process.stdout is not None
    os.read(process.stdout.fileno(), 100_000)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert session.prompt("deploy") == "", "it was printed, so it is not shown again"
    assert session.marker("team/deploy") == 0
    rows = [row for row in home.log("way_fired") if row["session"] == session.id]
    assert [row["way"] for row in rows] == ["team/deploy"]


def test_a_hook_killed_before_printing_has_recorded_nothing(session: Session, project: Path) -> None:
    way(project, "deploy", "pattern: deploy\nmacro: append")
    (project / ".claude/ways/team/deploy/macro.sh").write_text("touch started; sleep 30\n")
    session.home.ways("trust", "add", str(project), "--yes")
    session.start()
    process = start_hook(session, session.payload("UserPromptSubmit", prompt="deploy"))
    deadline = time.monotonic() + 20
    while not (project / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert session.marker("team/deploy") is None
    (project / ".claude/ways/team/deploy/macro.sh").write_text("echo NOW\n")
    assert session.prompt("deploy") == "DEPLOY-BODY\n\nNOW"


def test_killed_at_any_moment_what_was_printed_is_what_is_recorded(session: Session, project: Path) -> None:
    """Kill at random moments; then the marker stands exactly when the text came out."""
    rng = random.Random(7)
    for index in range(14):
        way(project, f"w{index}", f"pattern: \\bw{index}\\b")
    session.start()
    session.prompt("warm the caches")
    for index in range(14):
        process = start_hook(session, session.payload("UserPromptSubmit", prompt=f"w{index}"))
        time.sleep(rng.uniform(0.01, 0.12))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.stdout is not None
        printed = process.stdout.read()
        process.wait()
        again = session.prompt(f"w{index}")
        assert (again == "") == (printed != b""), (index, printed, again)


def test_a_reader_that_has_gone_gets_no_record(session: Session, project: Path) -> None:
    way(project, "deploy", "pattern: deploy")
    session.start()
    process = start_hook(session, session.payload("UserPromptSubmit", prompt="deploy"))
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 0
    assert session.marker("team/deploy") is None
    assert session.prompt("deploy") == "DEPLOY-BODY"
