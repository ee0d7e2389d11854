"""An empty project, and one that is a git repository with a commit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.payload.runs import git


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "pro ject \u00e9"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init", "-q", "-b", "main")
    (project / "a.txt").write_text("one\n")
    git(project, "add", "a.txt")
    git(project, "commit", "-q", "-m", "First: a file")
    return project
