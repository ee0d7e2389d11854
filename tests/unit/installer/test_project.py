"""The files that every project gets, and the places that must not get them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from installer import project
from ways.core import roots


@pytest.fixture
def where(tmp_path: Path) -> roots.Roots:
    return roots.resolve({"HOME": str(tmp_path / "home"), "WAYS_SESSIONS_ROOT": str(tmp_path / "s")})


def run(folder: Path, where: roots.Roots, targets: list[str] | None = None) -> list[str]:
    return [
        one.path for one in project.write_missing(project.missing_files(str(folder), where, targets or []))
    ]


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.parametrize("sign", [".git", ".claude"])
def test_a_project_gets_both_files_once(tmp_path: Path, where: roots.Roots, sign: str) -> None:
    (tmp_path / "p" / sign).mkdir(parents=True)
    assert len(run(tmp_path / "p", where)) == 2
    assert run(tmp_path / "p", where) == []
    assert b"settings.local.json" in (tmp_path / "p/.claude/.gitignore").read_bytes()


def test_a_worktree_has_a_git_file(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/.git").write_text("gitdir: elsewhere\n")
    assert len(run(tmp_path / "p", where)) == 2


def test_nothing_is_overwritten(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "p/.claude/ways").mkdir(parents=True)
    (tmp_path / "p/.claude/.gitignore").write_text("mine\n")
    assert run(tmp_path / "p", where) == [str(tmp_path / "p/.claude/ways/_template.md")]
    assert (tmp_path / "p/.claude/.gitignore").read_text() == "mine\n"


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "p/.git").mkdir(parents=True)
    wanted = project.missing_files(str(tmp_path / "p"), where, [])
    (tmp_path / "p/.claude").mkdir()
    (tmp_path / "p/.claude/.gitignore").write_text("mine\n")
    project.write_missing(wanted)
    assert (tmp_path / "p/.claude/.gitignore").read_text() == "mine\n"


def test_an_ordinary_folder_stays_empty(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "p").mkdir()
    assert run(tmp_path / "p", where) == [] and tree(tmp_path / "p") == []


def test_a_home_that_is_a_repository_stays_as_it_is(tmp_path: Path, where: roots.Roots) -> None:
    home = tmp_path / "home"
    (home / ".git").mkdir(parents=True)
    (home / ".claude").mkdir()
    before = tree(home)
    assert run(home, where) == [] and tree(home) == before


def test_a_config_directory_is_no_project(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "dotfiles/.claude").mkdir(parents=True)
    assert run(tmp_path / "dotfiles", where, [str(tmp_path / "dotfiles/.claude")]) == []
    assert len(run(tmp_path / "dotfiles", where)) == 2


@pytest.mark.parametrize("link", [".claude", ".claude/ways"])
def test_links_out_of_the_project_are_not_followed(tmp_path: Path, where: roots.Roots, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "p/.git").mkdir(parents=True)
    (tmp_path / "p" / link).parent.mkdir(exist_ok=True)
    (tmp_path / "p" / link).symlink_to(outside)
    run(tmp_path / "p", where)
    assert tree(outside) == []


def test_a_file_in_the_way_is_left(tmp_path: Path, where: roots.Roots) -> None:
    (tmp_path / "p/.git").mkdir(parents=True)
    (tmp_path / "p/.claude").write_text("a file\n")
    assert run(tmp_path / "p", where) == []
    assert os.path.isfile(tmp_path / "p/.claude")
