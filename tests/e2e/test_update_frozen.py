"""The frozen program updates, is updated to, goes back and leaves: with the archive in the build cache.

Nothing is built here; without an archive (python build/freeze.py, or tests/frozen) there is nothing to run.
`WAYS_FROZEN_ARCHIVE` names another one.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from build import archive as packing
from build import freeze, packages
from installer import tuf_client
from projection import payload_manifest
from tests.e2e.release_home import ReleaseHome, build
from tests.unit.installer.release_world import Releases, serving
from tests.unit.projection.world import tree
from ways import __version__

pytestmark = [pytest.mark.frozen, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX archive")]


def cached_archive() -> Path | None:
    """The archive that is named, or the one in the build cache that was made from just these sources."""
    named = os.environ.get("WAYS_FROZEN_ARCHIVE")
    if named:
        return Path(named)
    folder = packages.cache_folder() / "frozen" / freeze.key(__version__)
    return next(folder.glob("ways-*.tar.gz"), None)


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    """The frozen release, with the keys of this repository in it, between two that run from source."""
    archive = cached_archive()
    if archive is None:
        pytest.skip("the build cache holds no archive of these sources")
    folder = tmp_path_factory.mktemp("frozen-releases")
    found = Releases(folder, folder / "asked")
    content = packing.unpack(archive, folder / "unpacked")
    version = content.name.removeprefix("ways-")
    (content / tuf_client.ROOT_NAME).write_bytes(found.root)
    (content / payload_manifest.NAME).write_bytes(
        payload_manifest.to_json(payload_manifest.compute(str(content)))
    )
    place = folder / "archives" / archive.name
    packing.pack(content, place, content.name, 1_700_000_000)
    shutil.copytree(content, folder / "build" / version)
    found.frozen = version  # type: ignore[attr-defined]
    found.publish(place, build(found, "0.0.9"), build(found, "9.0.0"))
    return found


@pytest.fixture
def home(tmp_path: Path, releases: Releases) -> ReleaseHome:
    found = ReleaseHome(tmp_path / "A B&(c)' é", releases, releases.repository.as_uri())
    (found.path / ".claude").mkdir()
    (found.path / ".claude/settings.json").write_text('{"model": "opus"}\n')
    return found


def prompt(home: ReleaseHome) -> tuple[int, str]:
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "x", "session_id": "s"}
    done = home.hook("check-prompt.sh", payload)
    return done.returncode, done.stderr


def test_the_frozen_program_updates_goes_back_and_leaves(home: ReleaseHome, releases: Releases) -> None:
    frozen = releases.frozen  # type: ignore[attr-defined]
    before = tree(home.path)
    home.install(frozen)
    home.ways("reconcile")
    assert prompt(home) == (0, "")
    with serving(releases.repository) as server:
        home.environ["WAYS_RELEASE_BASE"] = server.base
        assert f"Update {frozen} to 9.0.0" in home.ways("update", "--check", code=1).stdout
        assert json.loads(home.ways("update", "--json").stdout)["version"] == "9.0.0"
    assert home.version() == "9.0.0" and prompt(home) == (0, "")
    home.ways("rollback")
    assert home.version() == frozen and prompt(home) == (0, "")
    home.ways("rollback")
    home.ways("rollback")
    assert home.version() == frozen
    home.ways("uninstall", "--yes", "--purge")
    after = {path: what for path, what in tree(home.path).items() if what[0] != "folder"}
    assert after == {path: what for path, what in before.items() if what[0] != "folder"}


def test_an_update_to_the_frozen_program(home: ReleaseHome, releases: Releases) -> None:
    frozen = releases.frozen  # type: ignore[attr-defined]
    home.install("0.0.9")
    home.ways("reconcile")
    done = home.ways("update", "--version", frozen, "--json")
    assert json.loads(done.stdout)["version"] == frozen
    assert json.loads(home.ways("--version", "--json").stdout)["build"] == "frozen"
    assert prompt(home) == (0, "")


def test_the_frozen_program_refuses_what_is_not_signed(
    home: ReleaseHome, releases: Releases, tmp_path: Path
) -> None:
    """Its client works without the compiled library that made the signatures."""
    frozen = releases.frozen  # type: ignore[attr-defined]
    home.install(frozen)
    other = Releases(tmp_path / "other", tmp_path / "asked")
    other.add("9.9.9")
    done = home.ways("update", "--from", str(other.repository), code=6)
    assert "is not signed by the keys that this program trusts" in done.stderr
    assert home.version() == frozen
