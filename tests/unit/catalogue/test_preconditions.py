"""Preconditions, globs and root keys."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ways.catalogue import globs
from ways.catalogue.globs import file_exists, matches
from ways.catalogue.preconditions import Context, find_command, holds
from ways.catalogue.rootkey import project_key
from ways.catalogue.way import When

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX paths")


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("/home/u/work/a/b", "/home/u/*", True),
        ("/home/u/work", "/home/*/work", True),
        ("/home/u", "/home/u/*", False),
        ("abc", "a?c", True),
        ("abc", "a[a-c]c", True),
        ("abc", "a[!a-c]c", False),
        ("a]c", "a[]]c", True),
        ("a[c", "a[c", True),
        ("", "*", True),
        ("", "", True),
        ("x", "", False),
        ("ab", "a", False),
        ("a" * 5000, "*a" * 200 + "b", False),
    ],
)
def test_globs(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, pattern) is expected


def test_file_globs(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "er" / "x.py").write_text("")
    (tmp_path / ".git").mkdir()
    (tmp_path / "node_modules" / "m").mkdir(parents=True)
    (tmp_path / "node_modules" / "m" / "only.here").write_text("")
    project = str(tmp_path)
    for pattern in (
        ".git",
        "src",
        "s*",
        "src/*/er/*.py",
        "**/*.py",
        "src/**/x.py",
        "**/er",
        ".g*",
        "src\\deep",
    ):
        assert file_exists(project, pattern), pattern
    for pattern in ("*.py", "git", "**/*.rs", "*git", "**/only.here", "", "missing/**"):
        assert not file_exists(project, pattern), pattern
    assert not file_exists("", ".git")


@pytest.mark.parametrize(
    "pattern", ["../secret", "a/../../secret", "/etc/passwd", "~/x", "C:/x", "a\0b", "*" * 600]
)
def test_case_h05_a_glob_cannot_leave_the_project(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "secret").write_text("")
    (tmp_path / "p" / "a").mkdir(parents=True)
    assert not file_exists(str(tmp_path / "p"), pattern)


def test_a_file_glob_is_bounded(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(globs, "MAX_ENTRIES", 50)
    for number in range(60):
        (tmp_path / f"d{number:02}" / "x").mkdir(parents=True)
    listed = []
    real = os.scandir
    monkeypatch.setattr(globs.os, "scandir", lambda path: (listed.append(path), real(path))[1])
    assert not file_exists(str(tmp_path), "**/nothing")
    assert len(listed) <= 52


@posix
def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    assert not file_exists(str(tmp_path), "**/nothing")
    assert not file_exists(str(tmp_path), "*/*/*/*/nothing")


def context(tmp_path: Path, **fields) -> Context:
    values = {
        "project": str(tmp_path / "work" / "p"),
        "home": str(tmp_path),
        "environ": {},
        "platform": "linux",
    }
    return Context(**{**values, **fields})


def test_every_key_must_hold(tmp_path: Path) -> None:
    (tmp_path / "work" / "p" / ".git").mkdir(parents=True)
    here = context(tmp_path, environ={"A": "", "B": "1"}, model="claude-opus-4-8")
    assert holds(When(), here)
    assert holds(When(project="~/work/*"), here)
    assert holds(When(project="~/work/p/"), here)
    assert not holds(When(project="~/play/*"), here)
    assert holds(When(project="*/p"), here)
    assert holds(When(file_exists=(".git",)), here)
    assert not holds(When(file_exists=(".git", "*.toml")), here)
    assert holds(When(os=("macos", "linux")), here)
    assert not holds(When(os=("windows",)), here)
    assert holds(When(env=("A", "B")), here)
    assert not holds(When(env=("A", "C")), here)
    assert holds(When(model="claude-opus*"), here)
    assert holds(When(model="CLAUDE-*"), here)
    assert not holds(When(model="claude-haiku*"), here)
    assert not holds(When(env=("A",), os=("windows",)), here)
    assert not holds(When(unknown=("phase",)), here)
    assert not holds(When(project="*"), context(tmp_path, project=""))
    assert not holds(When(model="claude-*"), context(tmp_path))


@posix
def test_a_home_with_glob_characters_and_a_linked_project(tmp_path: Path) -> None:
    home = tmp_path / "h[x]*"
    (home / "work" / "p").mkdir(parents=True)
    (tmp_path / "link").symlink_to(home / "work" / "p")
    assert holds(When(project="~/work/*"), Context(str(home / "work" / "p"), str(home), environ={}))
    assert holds(When(project="~/work/*"), Context(str(tmp_path / "link"), str(home), environ={}))
    assert not holds(
        When(project="~/work/*"), Context(str(tmp_path / "hx" / "work" / "p"), str(home), environ={})
    )


def test_facts_are_looked_up_once_and_only_when_asked_for(tmp_path: Path) -> None:
    asked = []

    def model() -> str:
        asked.append(1)
        return "claude-x"

    here = context(tmp_path, model=model)
    assert holds(When(os=("linux",)), here)
    assert asked == []
    assert holds(When(model="claude-*"), here) and holds(When(model="*x"), here)
    assert asked == [1]


@posix
def test_commands_on_path(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    environ = {"PATH": f"{tmp_path / 'none'}:{tmp_path}"}
    assert find_command("tool", environ) == ""
    tool.chmod(0o755)
    assert find_command("tool", environ) == str(tool)
    for name in ("", "../tool", str(tool), "to\0ol", "a:b"):
        assert find_command(name, environ) == ""
    here = context(tmp_path, environ=environ)
    assert holds(When(command_exists=("tool",)), here)
    assert not holds(When(command_exists=("tool", "other")), here)


@posix
def test_commands_on_a_windows_path_take_the_endings_of_pathext(tmp_path: Path) -> None:
    (tmp_path / "git.EXE").write_text("")
    environ = {"PATH": f"{tmp_path};C:\\none", "PATHEXT": ".COM;.EXE"}
    assert find_command("git", environ, "windows").endswith("git.EXE")
    assert find_command("git.EXE", environ, "windows").endswith("git.EXE")
    assert find_command("gitx", environ, "windows") == ""


@posix
def test_a_projects_key_is_that_of_its_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "l").symlink_to(tmp_path / "p")
    key = project_key(str(tmp_path / "p"))
    assert key == project_key(str(tmp_path / "l")) == project_key(str(tmp_path / "p" / "..") + "/p/")
    assert len(key) == 14 and key.startswith("p-")
    assert key != project_key(str(tmp_path))
