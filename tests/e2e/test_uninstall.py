"""Leaving, as a person does it: agents ended, a target in the way, the app deleted by hand, auto-update."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.release_home import ReleaseHome, build
from tests.unit.installer.release_world import Releases
from tests.unit.projection.world import tree

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program of these releases is a POSIX script")
ORIGINAL = '{\n  "model": "opus",\n  "hooks": {"Stop": []}\n}\n'


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    folder = tmp_path_factory.mktemp("uninstall-releases")
    found = Releases(folder, folder / "asked")
    found.publish(build(found, "1.0.0"), build(found, "1.1.0"))
    return found


@pytest.fixture
def home(tmp_path: Path, releases: Releases) -> ReleaseHome:
    found = ReleaseHome(tmp_path / "A B&(c)' é", releases, releases.repository.as_uri())
    (found.path / ".claude").mkdir()
    (found.path / ".claude/settings.json").write_text(ORIGINAL)
    found.install("1.0.0")
    found.ways("reconcile")
    return found


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"Z (zombie)" not in Path(f"/proc/{pid}/status").read_bytes()


def test_a_running_agent_is_ended(home: ReleaseHome) -> None:
    home.ways("agent", "load")
    pid = int(json.loads(home.ways("agent", "status", "--json").stdout)["agent"]["pid"])
    assert runs(pid)
    home.ways("uninstall", "--yes")
    deadline = time.monotonic() + 30
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not runs(pid)
    assert not home.app.exists()


def test_a_target_that_cannot_be_read_stops_it_before_anything_is_deleted(home: ReleaseHome) -> None:
    (home.path / ".claude/settings.json").write_text("{ // a comment\n}")
    before = tree(home.path)
    plan = home.ways("uninstall", code=3)
    assert "settings.json" in plan.stdout and "Nothing can be done" in plan.stdout
    assert "settings.json" in home.ways("uninstall", "--yes", code=3).stderr
    unlocked = {path: what for path, what in tree(home.path).items() if "/locks" not in path}
    assert unlocked == {path: what for path, what in before.items() if "/locks" not in path}


def test_the_app_deleted_by_hand(home: ReleaseHome) -> None:
    shutil.rmtree(home.app)
    script = Path(home.roots.state, "withdraw.sh")
    done = subprocess.run(["sh", script], env=home.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    left = tree(home.path / ".claude")
    assert list(left) == ["settings.json"]
    assert (home.path / ".claude/settings.json").read_text() == ORIGINAL


def test_an_app_root_half_removed_is_finished_by_the_script(home: ReleaseHome) -> None:
    home.ways("uninstall", "--json")
    (home.app / "bin").unlink()
    Path(home.roots.state, "update-journal.json").write_text(
        json.dumps({"schema": 1, "operation": "uninstall", "step": "app"}, indent=1)
    )
    (home.app / "theirs.txt").write_text("somebody's")
    script = Path(home.roots.state, "withdraw.sh")
    done = subprocess.run(["sh", script], env=home.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "holds what is not ours" in done.stderr
    assert os.listdir(home.app) == ["theirs.txt"]


def test_auto_update_installs_in_the_background(home: ReleaseHome) -> None:
    config = Path(home.roots.config, "config.yaml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("install:\n  auto_update: true\n")
    assert home.ways("update", "--check", "--quiet", code=None).stdout == ""
    assert home.version() == "1.1.0"
    assert not Path(home.roots.state, "update-notice.json").exists()
