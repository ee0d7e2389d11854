"""The hidden commands with fixed names."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ways.cli.main import HIDDEN, main


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WAYS_ENGINE_LIB", "/nonexistent/engine")
    folder = tmp_path / "project"
    way = folder / ".claude" / "ways" / "team" / "deploy"
    way.mkdir(parents=True)
    (way / "deploy.md").write_text("---\npattern: \\bdeploy\\b\n---\nDEPLOY \x1b[31mBODY\n", "utf-8")
    monkeypatch.chdir(folder)
    return folder


def test_show_prints_the_text_and_the_path(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "team/deploy"]) == 0
    assert capsys.readouterr().out == "DEPLOY [31mBODY\n"
    assert main(["show", "team/deploy", "--path"]) == 0
    assert capsys.readouterr().out.strip().endswith("team/deploy/deploy.md")
    assert main(["show", "team/deplyo"]) == 2
    assert "near it: team/deploy" in capsys.readouterr().err


def test_scan_answers_as_the_hook_would_and_records_nothing(project: Path, tmp_path: Path) -> None:
    payload = {
        "session_id": "s1",
        "hook_event_name": "UserPromptSubmit",
        "cwd": str(project),
        "prompt": "deploy it",
    }
    done = subprocess.run(
        [sys.executable, "-m", "ways", "scan", "prompt"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "DEPLOY" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert not (tmp_path / "state" / "events.jsonl").exists() and not (tmp_path / "sessions").exists()


def test_scan_of_an_unknown_event(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "nothing"]) == 2
    assert "subagent-start" in capsys.readouterr().err


def test_project_slug(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["project-slug", "/home/a_b/c.d"]) == 0
    assert capsys.readouterr().out == "-home-a-b-c-d\n"
    assert main(["project-slug"]) == 0
    assert capsys.readouterr().out.strip().endswith("-project")


def test_hidden_names_are_fixed_and_not_on_the_help_screen(capsys: pytest.CaptureFixture[str]) -> None:
    fixed = {"show", "scan", "manifest", "project-slug", "sessions-root", "events-log-path", "judge-setup"}
    assert fixed <= set(HIDDEN)
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " not in out for name in fixed)
