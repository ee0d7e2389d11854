"""Homes for the end-to-end tests: one set up a module, so that staging is paid once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.session_home import WITH_ENGINE, Home, Session


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home whose path is awkward (case s16), without the engine: keyword ways fail open.

    The shipped domains are left out, so that a test sees only the ways that it wrote itself.
    """
    home = Home(tmp_path_factory.mktemp("e2e") / "A B&(c)' é")
    home.ways("target", "add", str(home.claude))
    config = home.path / ".config/agent-ways/config.yaml"
    shipped = [path.name for path in (home.claude / "hooks/ways").iterdir() if path.is_dir()]
    config.write_text(config.read_text("utf-8") + f"disabled_domains: [{', '.join(shipped)}]\n", "utf-8")
    return home


@pytest.fixture
def project(home: Home, request: pytest.FixtureRequest) -> Path:
    """A git project of its own for each test."""
    import re

    folder = home.path / "work" / re.sub(r"\W+", "_", request.node.name)
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def config(home: Home) -> Iterator[Callable[[str], None]]:
    """Adds lines to the user's config.yaml for one test."""
    path = home.path / ".config/agent-ways/config.yaml"
    before = path.read_text("utf-8")
    yield lambda lines: void(path.write_text(before + lines, "utf-8"))
    path.write_text(before, "utf-8")


@pytest.fixture(scope="session", autouse=True)
def no_resident_is_left() -> Iterator[None]:
    """What the hooks of a test run have started ends with it."""
    yield
    for home in WITH_ENGINE:
        home.stop_residents()


def void(_value: object) -> None:
    """Nothing, for a lambda."""


@pytest.fixture
def session(home: Home, project: Path) -> Session:
    """A session in the project, not started yet."""
    return Session(home, project)
