"""`ways settings` from the outside."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ways.cli.main import main
from ways.settings.registry import SETTINGS
from ways.settings.target_file import target_key


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / ".claude" / "ways").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["settings", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_set_get_and_unset(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    assert run(capsys, "get", "ways.enabled") == (0, "true\n", "")
    assert run(capsys, "set", "ways.enabled", "off") == (0, "", "")
    assert run(capsys, "get", "ways.enabled") == (0, "false\n", "")
    assert run(capsys, "set", "ways.disabled_domains", "a,b") == (0, "", "")
    assert run(capsys, "set", "gate.mode", "shadow") == (0, "", "")
    assert (scratch / "config" / "config.yaml").read_text() == "enabled: false\ndisabled_domains: [a, b]\n"
    assert (scratch / "config" / "agent.yaml").read_text() == "gate:\n  mode: shadow\n"
    row = json.loads(run(capsys, "get", "gate.mode", "--json")[1])
    assert row == {
        "key": "gate.mode",
        "value": "shadow",
        "source": "user",
        "path": f"{scratch}/config/agent.yaml",
    }
    assert run(capsys, "unset", "ways.enabled") == (0, "", "")
    assert (scratch / "config" / "config.yaml").read_text() == "disabled_domains: [a, b]\n"


def test_layers_and_their_files(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    (scratch / "work").mkdir()
    (scratch / "other").mkdir()
    assert run(capsys, "set", "language", "de", "--target", str(scratch / "work"))[0] == 0
    assert run(capsys, "get", "language")[1] == "en\n"
    assert run(capsys, "get", "language", "--target", str(scratch / "work"))[1] == "de\n"
    assert run(capsys, "set", "ways.project.a/b", "false")[0] == 0
    assert (scratch / "project" / ".claude" / "ways.yaml").read_text() == "ways:\n  a/b: false\n"
    assert run(capsys, "set", "ways.subagents", "false", "--project", str(scratch / "other"))[0] == 0
    assert (scratch / "other" / ".claude" / "ways.yaml").read_text() == "subagents: false\n"
    assert run(capsys, "list", "--changed")[1] == "ways.project.a/b  false  (project)\n"


@pytest.mark.parametrize("option", ["--project", "--target"])
@pytest.mark.parametrize("command", [("set", "ways.enabled", "false"), ("unset", "ways.enabled"), ("list",)])
def test_a_folder_that_is_not_there_is_a_slip_of_the_pen(
    capsys: pytest.CaptureFixture[str], scratch: Path, option: str, command: tuple[str, ...]
) -> None:
    before = sorted(scratch.rglob("*"))
    code, _out, err = run(capsys, *command, option, str(scratch / "typo"))
    assert code == 2 and f"{scratch}/typo is no" in err.replace("is not a", "is no")
    assert sorted(scratch.rglob("*")) == before


def test_a_target_may_be_named_by_its_key(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    (scratch / "config").mkdir()
    (scratch / "work").mkdir()
    (scratch / "config" / "config.yaml").write_text(f"targets: [{scratch}/work]\n")
    key = target_key(str(scratch / "work"))
    assert run(capsys, "set", "language", "de", "--target", key)[0] == 0
    assert run(capsys, "get", "language", "--target", str(scratch / "work"))[1] == "de\n"


def test_a_value_that_is_overridden_exits_with_4(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    assert run(capsys, "set", "ways.enabled", "false", "--project", ".")[0] == 0
    code, out, err = run(capsys, "set", "ways.enabled", "true")
    assert code == 4 and out == "" and ".claude/ways.yaml sets it to false" in err
    assert (scratch / "config" / "config.yaml").read_text() == "enabled: true\n"


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("set", "ways.enabledd", "true"), "near it: ways.enabled"),
        (("get", "enabled"), "near it: ways.enabled"),
        (("set", "engine.threads", "many"), "a whole number from 1 to 64"),
        (("set", "macro.timeout_ms", "100", "--project", "."), "user and target"),
        (("set", "language", "de", "--project", ".", "--target", "."), "two files"),
        (("help", "x"), "is not a setting"),
    ],
)
def test_mistakes_are_named_and_change_nothing(
    capsys: pytest.CaptureFixture[str], scratch: Path, arguments: tuple[str, ...], part: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2 and part in err and "Next: " in err and out == ""
    assert not (scratch / "config").exists()


def test_list_has_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "list", "--json")[1])
    keys = {row["key"] for row in rows}
    assert {setting.key for setting in SETTINGS if "<" not in setting.key} <= keys
    assert "refire_presets.rare" in keys and all(row["source"] == "default" for row in rows)
    text = run(capsys, "list")[1].splitlines()
    assert len(text) == len(rows) and text[0].split() == ["ways.enabled", "true"]


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "help")[1].splitlines()
    assert len(lines) == len(SETTINGS)
    text = run(capsys, "help", "engine.threads")[1]
    assert "whole number from 1 to 64" in text and "Default: 1" in text and "engine.threads" in text
    assert "gate.profiles.<name>.model" in run(capsys, "help", "gate.profiles.mine.model")[1]


def test_lint(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    assert run(capsys, "lint") == (0, "", "")
    (scratch / "config").mkdir()
    (scratch / "config" / "config.yaml").write_text("enabld: true\nlanguage: 5\n")
    (scratch / "config" / "agent.yaml").write_text("gate: {mode: x}\n")
    (scratch / "project" / ".claude" / "ways.yaml").write_text("macro: {}\n\x1b[31m: 1\n")
    code, out, err = run(capsys, "lint")
    lines = out.splitlines()
    assert code == 1 and err == "" and "\x1b" not in out
    assert lines[0] == f"{scratch}/config/config.yaml:1: enabld: is not a setting (near it: ways.enabled)"
    assert lines[1].startswith(f"{scratch}/config/config.yaml:2: language: must be")
    assert "agent.yaml:1: gate.mode: must be one of" in lines[2] and "ways.yaml" in lines[3]
    assert len(json.loads(run(capsys, "lint", "--json")[1])) == 4


def test_a_broken_file_is_refused(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    (scratch / "config").mkdir()
    path = scratch / "config" / "config.yaml"
    path.write_text("enabled: [\n")
    code, _out, err = run(capsys, "set", "ways.enabled", "false")
    assert code == 3 and f"{path}:" in err and path.read_text() == "enabled: [\n"


def test_a_deleted_current_folder_is_named(
    capsys: pytest.CaptureFixture[str], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scratch / "gone").mkdir()
    monkeypatch.chdir(scratch / "gone")
    os.rmdir(scratch / "gone")
    code, _out, err = run(capsys, "set", "ways.project.a", "false")
    assert code == 2 and "has been deleted" in err
    assert run(capsys, "get", "ways.enabled")[0] == 0
