"""The frozen program, built once and kept in the build cache until something in it changes.

`WAYS_FROZEN_ARCHIVE` names an archive to test instead: the release job tests the one that it publishes.
"""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from build import archive as archives
from build import freeze, selftest
from tests.e2e import conftest as e2e
from tests.e2e.session_home import Home

MORE_TOOLS = ("sleep", "touch", "yes")  # what the scripts of the sessions use
project = e2e.project
session = e2e.session


@pytest.fixture(scope="session")
def packed() -> Path:
    """The archive."""
    named = os.environ.get("WAYS_FROZEN_ARCHIVE")
    return Path(named).absolute() if named else freeze.cached()


@pytest.fixture(scope="session")
def content(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the archive holds: the content of a version's folder. Only to be read."""
    return archives.unpack(packed, tmp_path_factory.mktemp("unpacked"))


@pytest.fixture(scope="session")
def staged(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same once more, to run the program from: a run may leave a lock beside the program."""
    return archives.unpack(packed, tmp_path_factory.mktemp("staged"))


@pytest.fixture(scope="session")
def members(packed: Path) -> list[tarfile.TarInfo]:
    """The entries of the archive."""
    with tarfile.open(packed) as opened:
        return opened.getmembers()


@dataclass
class FrozenHome(Home):
    """A home in which the frozen program is installed and no Python can be found."""

    @property
    def place(self) -> selftest.Place:
        """The installed program."""
        return selftest.Place(self.path)

    @property
    def program(self) -> Path:
        return self.place.program

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.place.environment()['PATH']}:{self.path / 'more'}"
        return {**super().environment, "PATH": path, **self.extra}


@pytest.fixture(scope="module")
def home(packed: Path, tmp_path_factory: pytest.TempPathFactory) -> FrozenHome:
    """A home whose path is awkward (case s16), without the engine and the shipped domains, as for the
    sessions that are played against the source."""
    path = tmp_path_factory.mktemp("frozen") / "A B&(c)' é"
    selftest.install(packed, path)
    (path / "more").mkdir()
    for name in MORE_TOOLS:
        (path / "more" / name).symlink_to(shutil.which(name) or "/nonexistent")
    home = FrozenHome(path)
    home.ways("target", "add", str(home.claude))
    config = home.path / ".config/agent-ways/config.yaml"
    shipped = [folder.name for folder in (home.claude / "hooks/ways").iterdir() if folder.is_dir()]
    config.write_text(config.read_text("utf-8") + f"disabled_domains: [{', '.join(shipped)}]\n", "utf-8")
    return home


@pytest.fixture
def config(home: FrozenHome) -> Iterator[Callable[[str], None]]:
    """Adds lines to the user's config.yaml for one test."""
    path = home.path / ".config/agent-ways/config.yaml"
    before = path.read_text("utf-8")

    def add(lines: str) -> None:
        path.write_text(before + lines, "utf-8")

    yield add
    path.write_text(before, "utf-8")
