"""Releases and homes for the installer's tests, in memory where the machine has that."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.installer.release_world import Releases, World


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: some tests make the same home very often."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "w"
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="ways-update-") as folder:
        yield Path(folder) / "w"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """A repository with 1.0.0 and 1.1.0, shared by the tests of a module that do not change it."""
    folder = tmp_path_factory.mktemp("releases")
    found = Releases(folder, folder / "asked")
    found.add("1.0.0", "1.1.0")
    return found


@pytest.fixture
def fresh(tmp_path: Path) -> Releases:
    """A repository of the test's own, with 1.0.0 and 1.1.0."""
    found = Releases(tmp_path / "releases", tmp_path / "asked")
    found.add("1.0.0", "1.1.0")
    return found


@pytest.fixture
def world(base: Path, releases: Releases, monkeypatch: pytest.MonkeyPatch) -> World:
    """A home with 1.0.0 installed; the process's own environment leads there."""
    found = World(base, releases)
    enter(found, monkeypatch)
    return found


def enter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give this process, and so its children, the environment of that home."""
    for name in list(os.environ):
        if name.startswith(("WAYS_", "XDG_", "CLAUDE_")):
            monkeypatch.delenv(name)
    for name, value in world.environ.items():
        monkeypatch.setenv(name, value)
