"""Which config directories `ways init` proposes."""

from __future__ import annotations

import hashlib
from pathlib import Path

from installer.discovery import allowed_envrcs, assignments, candidates, expand, looks_like_config


def paths(environ: dict[str, str], home: Path) -> list[str]:
    return [candidate.path for candidate in candidates(environ, str(home))]


def test_the_default_is_always_proposed(tmp_path: Path) -> None:
    (found,) = candidates({}, str(tmp_path))
    assert (found.path, found.exists) == (str(tmp_path / ".claude"), False)


def test_the_environment_comes_first_and_one_folder_comes_once(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "work")
    (tmp_path / ".zshrc").write_text('export CLAUDE_CONFIG_DIR="$HOME/alias"\n')
    found = paths({"CLAUDE_CONFIG_DIR": str(tmp_path / "work")}, tmp_path)
    assert found == [str(tmp_path / "work"), str(tmp_path / ".claude")]


def test_rc_files_are_read_and_never_run(tmp_path: Path) -> None:
    rc = tmp_path / ".bashrc"
    rc.write_text(
        "# CLAUDE_CONFIG_DIR=/commented\n"
        "export CLAUDE_CONFIG_DIR=~/one\n"
        "CLAUDE_CONFIG_DIR='/two words'; echo\n"
        f"CLAUDE_CONFIG_DIR=$(touch {tmp_path}/ran)\n"
    )
    assert assignments(str(rc))[:2] == ["~/one", "/two words"]
    assert paths({}, tmp_path) == [str(tmp_path / ".claude"), str(tmp_path / "one"), "/two words"]
    assert not (tmp_path / "ran").exists()


def test_an_rc_file_that_is_a_folder_or_binary_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").mkdir()
    (tmp_path / ".zshrc").write_bytes(b"\xff\xfe\x00CLAUDE_CONFIG_DIR=/x\n")
    assert paths({}, tmp_path) == [str(tmp_path / ".claude")]


def test_only_allowed_envrc_files_count(tmp_path: Path) -> None:
    project = tmp_path / "p"
    project.mkdir()
    envrc = project / ".envrc"
    envrc.write_text("export CLAUDE_CONFIG_DIR=$PWD/.claude-cfg\n")
    allow = tmp_path / ".local/share/direnv/allow"
    allow.mkdir(parents=True)
    digest = hashlib.sha256(f"{envrc}\n".encode() + envrc.read_bytes()).hexdigest()
    (allow / digest).write_text(f"{envrc}\n")
    (allow / ("0" * 64)).write_text(f"{envrc}\n")
    assert allowed_envrcs({}, str(tmp_path)) == [str(envrc)]
    assert str(project / ".claude-cfg") in paths({}, tmp_path)
    envrc.write_text("export CLAUDE_CONFIG_DIR=/changed\n")
    assert allowed_envrcs({}, str(tmp_path)) == []


def test_folders_that_look_like_one(tmp_path: Path) -> None:
    for name in (".claude-work", ".config/claude", ".claude-notes"):
        (tmp_path / name).mkdir(parents=True)
    for name in (".claude-work", ".config/claude"):
        (tmp_path / name / "settings.json").write_text("{}")
        (tmp_path / name / "projects").mkdir()
    assert looks_like_config(str(tmp_path / ".claude-work"))
    assert paths({}, tmp_path) == [
        str(tmp_path / ".claude"),
        str(tmp_path / ".claude-work"),
        str(tmp_path / ".config/claude"),
    ]


def test_what_needs_a_shell_is_not_guessed() -> None:
    assert expand("$WORK/x", "/h") == ""
    assert expand("relative", "/h") == ""
    assert expand("${HOME}/x", "/h") == "/h/x"
