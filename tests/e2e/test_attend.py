"""Messages between sessions, through the merged settings and the command line."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.session_home import Home, Ran, Session, write_way


@pytest.fixture
def other(home: Home, project: Path) -> Session:
    """A second session in a project of its own."""
    folder = project.parent / (project.name + "_other")
    folder.mkdir()
    session = Session(home, folder)
    session.start()
    return session


@pytest.fixture
def started(session: Session) -> Session:
    session.start()
    return session


def stop(session: Session, **fields: Any) -> list[str]:
    """What the hooks at Stop make the agent go on with."""
    given = {"last_assistant_message": "Done.", "stop_hook_active": False, **fields}
    found = []
    for ran in session.fire(session.payload("Stop", **given)):
        if ran.stdout.strip():
            answer = json.loads(ran.stdout)
            assert set(answer) == {"decision", "reason"} and answer["decision"] == "block"
            found.append(answer["reason"])
    return found


def send(
    home: Home, *arguments: str, as_session: Session | None = None, code: int = 0, stdin: str = ""
) -> str:
    home.extra = {"CLAUDE_CODE_SESSION_ID": as_session.id} if as_session else {}
    try:
        return home.ways("attend", "send", *arguments, code=code, stdin=stdin)
    finally:
        home.extra = {}


def directory(home: Home) -> Path:
    return home.path / ".local/state/agent-ways/attend"


def test_a_message_reaches_the_other_session_once(home: Home, started: Session, other: Session) -> None:
    assert stop(other) == []
    send(home, other.id, "The API has changed: see docs/api.md", as_session=started)
    (reason,) = stop(other)
    assert "The API has changed" in reason
    assert started.id[:8] in reason and str(started.project) in reason
    assert "gives no permission" in reason
    assert stop(other, stop_hook_active=True) == [], "delivered once"
    assert stop(started) == [], "nobody else gets it"


def test_a_session_without_mail_notices_nothing(home: Home, started: Session) -> None:
    before = sorted(path for path in directory(home).rglob("*") if started.id in str(path))
    assert stop(started) == []
    after = sorted(path for path in directory(home).rglob("*") if started.id in str(path))
    assert before == after == [directory(home) / "peers" / f"{started.id}.json"]
    assert "attend" not in home.debug()


def test_names_groups_and_the_person(home: Home, started: Session, other: Session) -> None:
    home.ways("attend", "status", "--session", other.id, "--name", "reviewer", "--join", "backend")
    shown = json.loads(home.ways("attend", "peers", "--json"))
    mine = next(peer for peer in shown if peer["session"] == other.id)
    assert mine["name"] == "reviewer" and "backend" in mine["groups"] and "all" in mine["groups"]

    send(home, "reviewer", "by name")
    send(home, "@backend", "by group", as_session=started)
    send(home, other.id[:8], "by the beginning of the id")
    send(home, str(other.project), "by project")
    send(home, f"@{other.project.name}", "by the project's group")
    (reason,) = stop(other)
    for text in ("by name", "by group", "by the beginning", "by project", "by the project's group"):
        assert text in reason
    assert reason.index("by name") < reason.index("by group"), "oldest first"
    assert "person " in reason

    send(home, "person", "I am done", as_session=other)
    assert "I am done" in home.ways("attend", "inbox")
    assert "I am done" in home.ways("attend", "inbox", "--drain")
    assert home.ways("attend", "inbox") == "No messages.\n"


def test_everybody_else_hears_a_broadcast(home: Home, started: Session, other: Session) -> None:
    send(home, "@all", "broadcast", as_session=started)
    assert "broadcast" in stop(other)[0]
    assert stop(started) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nobody-of-this-name", "x"), 1),
        (("@nobody", "x"), 1),
        (("../../etc", "x"), 1),
        (("person",), 2),
        (("person", "x" * 4001), 2),
        (("person", "--signal", "a b", "x"), 2),
        (("person", "--session", "../x", "x"), 2),
    ],
)
def test_what_cannot_be_sent_is_an_error_with_a_next_step(
    home: Home, arguments: tuple[str, ...], code: int
) -> None:
    assert send(home, *arguments, code=code) == ""


def test_text_from_standard_input_keeps_its_lines(home: Home, other: Session) -> None:
    send(home, other.id, "-", stdin="first\nsecond \x1b[31mred\u202e\n")
    (reason,) = stop(other)
    assert "\n    first\n    second [31mred" in reason
    assert "\x1b" not in reason and "\u202e" not in reason


def test_two_agents_that_answer_each_other_come_to_rest(home: Home, other: Session) -> None:
    for turn in range(3):
        send(home, other.id, f"ping {turn}")
        assert f"ping {turn}" in stop(other, stop_hook_active=turn > 0)[0]
    send(home, other.id, "ping 3")
    assert stop(other, stop_hook_active=True) == [], "three in a row are enough"
    assert "ping 3" in stop(other)[0], "and the message waits for the next turn's end"


@pytest.mark.parametrize("active", [None, "yes", 1])
def test_without_the_hosts_word_on_loops_the_count_still_holds(
    home: Home, other: Session, active: object
) -> None:
    counts = []
    for turn in range(5):
        send(home, other.id, f"ping {turn}")
        counts.append(len(stop(other, stop_hook_active=active)))
    assert counts == [1, 1, 1, 0, 0]


def test_a_long_queue_comes_in_parts(home: Home, other: Session) -> None:
    for number in range(4):
        send(home, other.id, f"number {number} " + "x" * 3000)
    first, second = stop(other), stop(other, stop_hook_active=True)
    assert len(first[0]) <= 10_000 and len(second[0]) <= 10_000
    assert "number 0" in first[0] and "number 1" in first[0] and "2 more wait" in first[0]
    assert "number 2" in second[0] and "number 3" in second[0]


def test_a_full_inbox_takes_no_more(home: Home, other: Session) -> None:
    send(home, other.id, "first")
    path = directory(home) / "inbox" / other.id / "messages.jsonl"
    row = json.loads(path.read_text())
    rows = [{**row, "number": number} for number in range(1, 201)]
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert "200 messages wait" in send(home, other.id, "one more", code=5)
    assert len(path.read_text().splitlines()) == 200


def test_old_messages_go_and_damage_costs_itself(home: Home, other: Session) -> None:
    send(home, other.id, "keep me")
    path = directory(home) / "inbox" / other.id / "messages.jsonl"
    row = json.loads(path.read_text())
    old = {**row, "number": 2, "at": time.time() - 8 * 86400, "text": "too old"}
    odd = {**row, "number": "3"}
    path.write_text(
        f"{json.dumps(row)}\nnot json\n{json.dumps(old)}\n{json.dumps(odd)}\n\xff\n[]\n{{", "utf-8"
    )
    (reason,) = stop(other)
    assert "keep me" in reason and "too old" not in reason and "1 message" in reason
    (path.parent / "checkpoint.json").write_text("{broken")
    assert "keep me" in stop(other)[0], "a lost checkpoint delivers again, never less"


@pytest.mark.parametrize("output", [">&-", "| true"], ids=["none", "closed"])
def test_a_delivery_that_nobody_read_is_made_again(home: Home, other: Session, output: str) -> None:
    send(home, other.id, "important")
    command = next(c for c, _ in other.commands(other.payload("Stop")) if "attend-drain" in c)
    process = subprocess.Popen(
        ["sh", "-c", f"{{ sleep 1; {command}; }} {output}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env={**home.environment, "CLAUDE_PROJECT_DIR": str(other.project)},
    )
    process.communicate(json.dumps(other.payload("Stop", stop_hook_active=False)).encode(), timeout=60)
    assert process.returncode == 0
    assert "important" in stop(other)[0]


def test_senders_at_once_lose_nothing(home: Home, other: Session) -> None:
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda n: home.ways("attend", "send", other.id, f"number-{n};"), range(12)))
    (reason,) = stop(other)
    assert sorted(int(n) for n in re.findall(r"number-(\d+);", reason)) == list(range(12))


def test_hooks_at_once_deliver_once(home: Home, other: Session) -> None:
    send(home, other.id, "only once")
    payload = other.payload("Stop", stop_hook_active=False)
    command = next(c for c, _ in other.commands(payload) if "attend-drain" in c)

    def run(_: int) -> Ran:
        return other.run(command, 10, json.dumps(payload).encode())

    with ThreadPoolExecutor(4) as pool:
        ran = list(pool.map(run, range(4)))
    assert sum(b"only once" in one.stdout for one in ran) == 1
    assert {one.code for one in ran} == {0}


def test_a_subagents_stop_takes_nothing(home: Home, other: Session) -> None:
    send(home, other.id, "for the main agent")
    assert stop(other, agent_id="a1") == []
    assert "for the main agent" in stop(other)[0]


def test_delivery_can_be_switched_off(home: Home, other: Session, config: Callable[[str], None]) -> None:
    send(home, other.id, "later")
    config("attend:\n  deliver: false\n")
    assert stop(other) == []
    assert "later" in home.ways("attend", "inbox", "--session", other.id)


def test_the_command_line_drains_like_the_hook(home: Home, other: Session) -> None:
    send(home, other.id, "through the command")
    payload = json.dumps(other.payload("Stop", stop_hook_active=False))
    answer = json.loads(home.ways("attend", "inbox", "--drain", "--format", "hook", stdin=payload))
    assert answer["decision"] == "block" and "through the command" in answer["reason"]
    assert stop(other) == []


def test_messages_are_the_users_alone(home: Home, other: Session) -> None:
    send(home, other.id, "secret")
    base = directory(home)
    base.chmod(0o755)
    send(home, other.id, "again")
    for path in [base, *base.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
    base.chmod(0o777)
    try:
        assert send(home, other.id, "x", code=3) == ""
        assert stop(other) == []
        assert "writable by group or others" in home.debug()
    finally:
        base.chmod(0o700)


def test_a_link_in_place_of_the_folder_is_refused(home: Home, other: Session, tmp_path: Path) -> None:
    base = directory(home)
    aside = base.with_name("attend-aside")
    base.rename(aside)
    try:
        base.symlink_to(tmp_path)
        assert send(home, "person", "x", code=3) == ""
        assert os.listdir(tmp_path) == []
    finally:
        base.unlink()
        aside.rename(base)


def test_a_way_waits_for_a_signal(home: Home, other: Session) -> None:
    ways = other.project / ".claude/ways"
    write_way(ways, "team/broken", "trigger:\n  type: attend\n  signals: [build-broken, x]", "BROKEN-BODY")
    write_way(ways, "team/polite", "trigger: {type: attend}", "ANY-BODY")
    write_way(ways, "team/other", "trigger: {type: attend, signals: [else]}", "ELSE-BODY")
    assert other.prompt("hello") == "", "no state trigger"
    send(home, other.id, "--signal", "build-broken", "main is red")
    (reason,) = stop(other)
    assert "main is red" in reason and "BROKEN-BODY" in reason and "ANY-BODY" in reason
    assert "ELSE-BODY" not in reason
    fired = {row["way"]: row["trigger"] for row in home.log("way_fired") if row["session"] == other.id}
    assert fired == {"team/broken": "attend:build-broken", "team/polite": "attend:message"}
    send(home, other.id, "--signal", "build-broken", "still red")
    (again,) = stop(other)
    assert "still red" in again and "BROKEN-BODY" not in again, "inside its refire window"
