"""Homes for the end-to-end tests: one set up a module, so that staging is paid once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.session_home import WITH_ENGINE, Home, Session
from tests.e2e.stranger_home import FrozenReleases, Stranger, frozen_releases
from tests.unit.installer.release_world import Server, serving


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


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> FrozenReleases:
    """Two frozen builds in a signed repository, shared by all workers of a run."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    return frozen_releases(shared / "frozen-releases")


@pytest.fixture
def server(frozen: FrozenReleases) -> Iterator[Server]:
    with serving(frozen.repository) as found:
        yield found


@pytest.fixture(scope="module")
def prepared(frozen: FrozenReleases, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    """A home with the older build installed and a target served, to be copied."""
    made = Stranger(tmp_path_factory.mktemp("prepared") / "home")
    with serving(frozen.repository) as found:
        made.install("--base", found.base, "--version", frozen.old)
    (made.claude).mkdir()
    (made.claude / "settings.json").write_text('{"model": "opus"}\n')
    made.ways("target", "add", str(made.claude))
    return made


@pytest.fixture
def installed(prepared: Stranger, server: Server) -> Iterator[Stranger]:
    """The prepared home as it was, at the same path, with the served repository as its release base."""
    kept = prepared.path.parent / "kept"
    if not kept.exists():
        shutil.copytree(prepared.path, kept, symlinks=True)
    shutil.rmtree(prepared.path)
    shutil.copytree(kept, prepared.path, symlinks=True)
    shutil.rmtree(prepared.runtime)
    prepared.runtime.mkdir(mode=0o700)
    prepared.extra = {"WAYS_RELEASE_BASE": server.base}
    yield prepared
    prepared.extra = {}
