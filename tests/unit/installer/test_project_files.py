"""Taking back the files that ways put into projects: only what nobody has made theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from installer import project, project_files
from projection.system import DryRunSystem, RealSystem
from tests.unit.projection.world import tree
from ways.core import roots as core_roots
from ways.core.roots import Roots

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return core_roots.resolve({"HOME": str(tmp_path / "home"), "WAYS_SESSIONS_ROOT": str(tmp_path / "s")})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "work" / "p r"
    made.mkdir(parents=True)
    git(made, "init", "-q")
    return made


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def start(folder: Path, roots: Roots) -> None:
    """What a session's start does."""
    project_files.note(roots, project.write_missing(project.missing_files(str(folder), roots, [])))


def names(folder: Path) -> list[str]:
    return sorted(path for path in tree(folder) if not path.startswith(".git/") and path != ".git")


def test_unchanged_files_and_their_folders_go(folder: Path, roots: Roots) -> None:
    before = names(folder)
    start(folder, roots)
    start(folder, roots)
    assert len(project_files.ours(DryRunSystem(), roots)) == 2
    assert project_files.take_back(RealSystem(), roots) == ()
    assert names(folder) == before
    assert not os.path.exists(os.path.join(roots.state, project_files.NAME))
    assert project_files.take_back(RealSystem(), roots) == ()


def test_what_is_not_a_repository_is_freed_too(tmp_path: Path, roots: Roots) -> None:
    (tmp_path / "plain/.claude").mkdir(parents=True)
    start(tmp_path / "plain", roots)
    project_files.take_back(RealSystem(), roots)
    assert names(tmp_path / "plain") == [".claude"], "a folder that was there stays"


@pytest.mark.parametrize("how", ["changed", "tracked", "staged", "link", "no git", "damaged repository"])
def test_what_has_become_the_projects_stays(
    folder: Path, roots: Roots, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(folder, roots)
    template = folder / ".claude/ways/_template.md"
    if how == "changed":
        template.write_text(template.read_text() + "ours\n")
    elif how in {"tracked", "staged"}:
        git(folder, "add", ".claude/ways/_template.md")
        if how == "tracked":
            git(folder, "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "x")
    elif how == "link":
        template.rename(folder / "kept.md")
        template.symlink_to(folder / "kept.md")
    elif how == "no git":
        monkeypatch.setattr(project_files.shutil, "which", lambda name: None)
    else:
        (folder / ".git/HEAD").write_text("nonsense")
    project_files.take_back(RealSystem(), roots)
    assert template.is_file()
    assert (folder / ".claude/.gitignore").exists() == (how in {"no git", "damaged repository"})


def test_the_ignore_file_stays_while_it_protects_something(folder: Path, roots: Roots) -> None:
    start(folder, roots)
    (folder / ".claude/settings.local.json").write_text("{}")
    project_files.take_back(RealSystem(), roots)
    assert names(folder) == [".claude", ".claude/.gitignore", ".claude/settings.local.json"]


def test_a_repositorys_own_commands_are_not_started(folder: Path, roots: Roots, tmp_path: Path) -> None:
    start(folder, roots)
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(trap))
    project_files.take_back(RealSystem(), roots)
    assert not (tmp_path / "sprung").exists()
    assert names(folder) == []


def test_a_damaged_record_names_nothing_wrong(folder: Path, roots: Roots) -> None:
    start(folder, roots)
    record = Path(roots.state, project_files.NAME)
    first = record.read_text().splitlines()[0]
    record.write_text('{"path": "relative", "sha256": "x"}\nnonsense\n[]\n{"path": 1}\n' + first + "\n{")
    assert [os.path.basename(one.path) for one in project_files.load(RealSystem(), roots)] == [".gitignore"]
