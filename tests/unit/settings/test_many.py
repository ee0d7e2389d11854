"""`ways settings fix`, `emit` and `apply` from the outside."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest
import yaml

from ways.cli.main import main
from ways.settings.registry import LIST, SETTINGS, USER


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "project" / ".claude" / "ways").mkdir(parents=True)
    (tmp_path / "config").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["settings", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


BROKEN = """\
# mine
enbaled: false   # off for now
macro:
  timeout_ms: "2000"
  max_char: 100
hooks: {tool_delivery: Pre}
ways.subagents: no
matching.near_miss_margin: 0.1
language: de
"""
REPAIRED = """\
# mine
enabled: false   # off for now
macro:
  timeout_ms: 2000
  max_chars: 100
hooks: {tool_delivery: pre}
language: de
subagents: false
near_miss_margin: 0.1
"""


def test_fix_repairs_what_is_certain(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    path = scratch / "config" / "config.yaml"
    path.write_bytes(BROKEN.replace("\n", "\r\n").encode())
    code, out, _ = run(capsys, "fix", "--dry-run")
    assert code == 0 and out.count("Would repair") == 6 and "config.yaml:2: enbaled is now enabled" in out
    assert path.read_bytes() == BROKEN.replace("\n", "\r\n").encode()
    code, out, err = run(capsys, "fix")
    assert (code, err) == (0, "") and out.count("Repaired") == 6
    assert path.read_bytes() == REPAIRED.replace("\n", "\r\n").encode()
    assert run(capsys, "lint")[0] == 0
    assert run(capsys, "fix") == (0, "", "")


@pytest.mark.parametrize(
    "text",
    [
        "enabled: true\nenbaled: false\n",  # both names are there
        "frobnicate: 1\n",
        "enabled: perhaps\n",
        "enbaled: perhaps\n",
        "macro:\n  timeout_ms: 5\n",  # out of range: which number was meant?
        "enabled: true\nenabled: false\n",
        "gate: {mode: off}\n",
    ],
)
def test_fix_leaves_what_is_not(capsys: pytest.CaptureFixture[str], scratch: Path, text: str) -> None:
    path = scratch / "config" / "config.yaml"
    path.write_text(text)
    assert run(capsys, "fix")[0] == 1
    assert path.read_text() == text


def test_fix_refuses_what_does_not_parse(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    path = scratch / "config" / "config.yaml"
    path.write_text("a: [\n")
    code, _, err = run(capsys, "fix")
    assert code == 3 and "config.yaml:" in err and path.read_text() == "a: [\n"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a file that the user cannot write")
def test_fix_of_a_read_only_file(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    path = scratch / "config" / "config.yaml"
    path.write_text("enbaled: false\n")
    path.chmod(0o400)
    assert run(capsys, "fix")[0] == 5


def test_emit_is_yaml_of_everything_and_applies_to_nothing_new(
    capsys: pytest.CaptureFixture[str], scratch: Path
) -> None:
    run(capsys, "set", "ways.disabled_domains", "yes,a b")
    run(capsys, "set", "gate.mode", "off")
    code, out, _ = run(capsys, "emit")
    document = yaml.safe_load(out)
    assert code == 0 and document["disabled_domains"] == ["yes", "a b"]
    assert document["gate"]["mode"] == "off" and document["refire_presets"]["rare"] == 0.4
    plain = [
        one
        for one in SETTINGS
        if "<" not in one.key and one.kind != LIST and one.default is not None and USER in one.scopes
    ]
    for one in plain:
        place = document
        for name in one.place:
            place = place[name]
    assert yaml.safe_load(run(capsys, "emit", "--changed")[1]) == {
        "disabled_domains": ["yes", "a b"],
        "gate": {"mode": "off"},
    }
    (scratch / "all.yaml").write_text(run(capsys, "emit", "--changed")[1])
    assert run(capsys, "apply", str(scratch / "all.yaml")) == (0, "Everything is set so already.\n", "")


def test_what_emit_prints_apply_takes_elsewhere(
    capsys: pytest.CaptureFixture[str], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "set", "engine.threads", "2")
    run(capsys, "set", "refire_presets.daily", "0.2")
    emitted = run(capsys, "emit")[1]
    monkeypatch.setenv("WAYS_CONFIG_ROOT", str(scratch / "other"))
    (scratch / "all.yaml").write_text(emitted)
    assert run(capsys, "apply", str(scratch / "all.yaml"))[0] == 0
    assert run(capsys, "emit")[1] == emitted


def test_apply_plans_then_writes_both_files(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    config, agent = (scratch / "config" / name for name in ("config.yaml", "agent.yaml"))
    config.write_text("# mine\nlanguage: de  # keep\n")
    wanted = scratch / "wanted.yaml"
    wanted.write_text("language: fr\nenabled: false\ngate: {mode: shadow}\n")
    code, out, _ = run(capsys, "apply", str(wanted), "--dry-run")
    assert code == 0 and "language: de -> fr" in out and "gate.mode: not set -> shadow" in out
    assert config.read_text() == "# mine\nlanguage: de  # keep\n" and not agent.exists()
    assert run(capsys, "apply", str(wanted))[0] == 0
    assert config.read_text() == "# mine\nlanguage: fr  # keep\nenabled: false\n"
    assert agent.read_text() == "gate:\n  mode: shadow\n"


def test_apply_from_standard_input(
    capsys: pytest.CaptureFixture[str], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"language: de\n")))
    assert run(capsys, "apply", "-")[0] == 0
    assert (scratch / "config" / "config.yaml").read_text() == "language: de\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("language: de\nfrob: 1\n", ":2: frob: is not a setting"),
        ("language: de\ngate: {frob: 1}\n", ":2: gate.frob: is not a setting"),
        ("engine: {threads: many}\n", "engine.threads: must be a whole number"),
        ("ways: {a/b: false}\n", "project's .claude/ways.yaml only"),
        ("targets: [{path: /x}]\n", "managed by `ways target`"),
        ("a: [\n", "is not YAML"),
    ],
)
def test_apply_names_every_fault_and_sets_nothing(
    capsys: pytest.CaptureFixture[str], scratch: Path, text: str, part: str
) -> None:
    (scratch / "wanted.yaml").write_text(text)
    code, _, err = run(capsys, "apply", str(scratch / "wanted.yaml"))
    assert code == 2 and part in err and "nothing was set" in err
    assert not (scratch / "config" / "config.yaml").exists()


def test_apply_exits_with_4_when_something_overrides(
    capsys: pytest.CaptureFixture[str], scratch: Path
) -> None:
    run(capsys, "set", "ways.enabled", "false", "--project", ".")
    (scratch / "wanted.yaml").write_text("enabled: true\nlanguage: de\n")
    code, _, err = run(capsys, "apply", str(scratch / "wanted.yaml"))
    assert code == 4 and "ways.yaml sets it to false" in err
    assert (scratch / "config" / "config.yaml").read_text() == "enabled: true\nlanguage: de\n"


def test_apply_to_a_project(capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    (scratch / "wanted.yaml").write_text("enabled: false\nways: {a/b: false}\n")
    assert run(capsys, "apply", str(scratch / "wanted.yaml"), "--project", ".")[0] == 0
    assert (scratch / "project/.claude/ways.yaml").read_text() == "enabled: false\nways:\n  a/b: false\n"
    assert yaml.safe_load(run(capsys, "emit", "--changed", "--project", ".")[1]) == {
        "enabled": False,
        "ways": {"a/b": False},
    }
    (scratch / "wanted.yaml").write_text("language: de\n")
    assert run(capsys, "apply", str(scratch / "wanted.yaml"), "--project", ".")[0] == 2


def test_apply_stops_before_the_first_file_when_the_second_cannot_be_edited(
    capsys: pytest.CaptureFixture[str], scratch: Path
) -> None:
    (scratch / "config" / "agent.yaml").write_text("gate: [\n")
    (scratch / "wanted.yaml").write_text("language: de\ngate: {mode: off}\n")
    code, _, err = run(capsys, "apply", str(scratch / "wanted.yaml"))
    assert code == 3 and "agent.yaml" in err
    assert not (scratch / "config" / "config.yaml").exists()


def test_a_write_that_fails_exits_with_5(
    capsys: pytest.CaptureFixture[str], scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ways.core import files

    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(28, "No space left on device")

    (scratch / "wanted.yaml").write_text("language: de\n")
    monkeypatch.setattr(files, "write_atomic", full)
    code, _, err = run(capsys, "apply", str(scratch / "wanted.yaml"))
    assert code == 5 and "No space left" in err
