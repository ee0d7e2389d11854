"""A project with ways, in a home of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from build import packages
from ways.catalogue.cache import load
from ways.catalogue.way import Catalogue, WayRoots


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    # What is dear to build stays where it is found with the real home.
    monkeypatch.setenv("WAYS_BUILD_CACHE", str(packages.cache_folder()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    folder = tmp_path / "project"
    (folder / ".claude" / "ways").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def way(project: Path) -> Callable[..., Path]:
    def write(
        way_id: str, front: str = "description: x\nvocabulary: y", body: str = "Body\n", name: str = ""
    ) -> Path:
        folder = project / ".claude" / "ways" / way_id
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / (name or f"{folder.name}.md")
        path.write_text(f"---\n{front}\n---\n{body}", "utf-8", newline="")
        return path

    return write


@pytest.fixture
def catalogue(project: Path, tmp_path: Path) -> Callable[[], Catalogue]:
    return lambda: load(WayRoots(project=str(project)), str(tmp_path / "cache"))
