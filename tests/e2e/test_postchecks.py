"""Postchecks: when they run, what they see, and that they cannot hold a tool call."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.session_home import Home, Session, write_way


def postcheck(project: Path, name: str, front: str, script: str) -> None:
    write_way(project / ".claude/ways", f"team/{name}", front, f"{name.upper()}-BODY")
    (project / f".claude/ways/team/{name}/postcheck.sh").write_text(script + "\n")


def test_a_postcheck_sees_the_payload_and_asks_by_exit_0(home: Home, session: Session, project: Path) -> None:
    postcheck(project, "asked", "refire: rare", "cat > seen.json; exit 0")
    postcheck(project, "quiet", "refire: rare", "exit 1")
    home.ways("trust", "add", str(project), "--yes")
    session.start()
    assert session.after("Bash", {"command": "make"}, {"stdout": "é"}) == "ASKED-BODY"
    seen = json.loads((project / "seen.json").read_text("utf-8"))
    assert seen["tool_response"] == {"stdout": "é"} and seen["tool_use_id"] == session.use
    (project / "seen.json").unlink()
    assert session.failed("Bash", {"command": "make"}, "exit 2") == ""
    assert not (project / "seen.json").exists(), "one that is held back is not even run"
    events = [row for row in home.log("way_fired") if row["session"] == session.id]
    assert [row["trigger"] for row in events] == ["postcheck"]


def test_postcheck_on_chooses_the_calls(home: Home, session: Session, project: Path) -> None:
    postcheck(project, "commits", "postcheck_on: ^Bash .*commit", "touch ran; exit 0")
    home.ways("trust", "add", str(project), "--yes")
    session.start()
    assert session.after("Bash", {"command": "ls"}) == ""
    assert session.after("Edit", {"file_path": "/p/commit.md"}) == ""
    assert not (project / "ran").exists()
    assert session.after("Bash", {"command": "git commit -m x"}) == "COMMITS-BODY"


def test_sleeping_postchecks_share_the_time_of_one(home: Home, session: Session, project: Path) -> None:
    config = home.path / ".config/agent-ways/config.yaml"
    before = config.read_text("utf-8")
    config.write_text(before + "macro:\n  timeout_ms: 600\n", "utf-8")
    for index in range(4):
        postcheck(project, f"slow{index}", "refire: rare", f"touch ran{index}; sleep 20")
    home.ways("trust", "add", str(project), "--yes")
    session.start()
    assert session.after("Bash", {"command": "ls"}) == ""
    config.write_text(before, "utf-8")
    assert len(list(project.glob("ran*"))) < 4
    assert "took all the time" in home.debug()
