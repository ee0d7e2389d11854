"""From an installed release to the next, back, and away, by the commands that a person types."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from installer import journal
from tests.e2e.release_home import ReleaseHome, build
from tests.unit.installer.release_world import Releases, Server, serving
from tests.unit.projection.world import tree

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the program of these releases is a POSIX script")


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    folder = tmp_path_factory.mktemp("e2e-releases")
    found = Releases(folder, folder / "asked")
    found.publish(build(found, "1.0.0"), build(found, "1.1.0"))
    return found


@pytest.fixture
def server(releases: Releases) -> Iterator[Server]:
    with serving(releases.repository) as found:
        yield found


@pytest.fixture
def home(tmp_path: Path, releases: Releases, server: Server) -> ReleaseHome:
    found = ReleaseHome(tmp_path / "A B&(c)' é", releases, server.base)
    (found.path / ".claude").mkdir()
    (found.path / ".claude/settings.json").write_text('{\n  "model": "opus"\n}\n')
    (found.path / ".claude/CLAUDE.md").write_text("mine")
    found.install("1.0.0")
    return found


def prompt(home: ReleaseHome) -> subprocess.CompletedProcess[str]:
    return home.hook(
        "check-prompt.sh", {"hook_event_name": "UserPromptSubmit", "prompt": "x", "session_id": "s"}
    )


def test_the_whole_life(home: ReleaseHome, server: Server) -> None:
    """Served, updated, gone back, updated again, uninstalled: afterwards the home is as it was."""
    before = {path: what for path, what in tree(home.path).items() if not path.startswith(".local")}
    home.ways("reconcile")
    assert prompt(home).returncode == 0
    assert "Update 1.0.0 to 1.1.0" in home.ways("update", "--check", code=1).stdout
    assert home.ways("update").stdout == "ways is 1.1.0.\n"
    assert home.version() == "1.1.0"
    done = prompt(home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "is installed" in home.ways("update", "--check").stdout
    assert home.ways("rollback").stdout == "ways is 1.0.0.\n"
    assert home.version() == "1.0.0" and prompt(home).returncode == 0
    assert json.loads(home.ways("update", "--json").stdout)["version"] == "1.1.0"
    plan = home.ways("uninstall", "--purge").stdout
    assert "To do this: ways uninstall --yes --purge" in plan
    assert "gone from this machine" in home.ways("uninstall", "--yes", "--purge").stdout
    left = tree(home.path)
    assert {path: what for path, what in left.items() if what[0] != "folder"} == {
        path: what for path, what in before.items() if what[0] != "folder"
    }
    assert not [path for path in left if "agent-ways" in path]


def test_case_s19_a_dry_run_writes_nothing_and_fetches_no_program(home: ReleaseHome, server: Server) -> None:
    before = tree(home.path)
    for arguments in (("update", "--dry-run"), ("update", "--dry-run", "--json"), ("uninstall",)):
        home.ways(*arguments)
    home.ways("update", "--check", code=1)
    home.ways("rollback", "--dry-run", code=1)
    assert tree(home.path, r"\.in-use\.lock") == {k: v for k, v in before.items() if ".in-use.lock" not in k}
    assert server.asked and all(name.startswith("metadata/") for name in server.asked)


def test_an_update_activates_nothing(home: ReleaseHome) -> None:
    """An installation that serves no config directory serves none after an update either."""
    before = tree(home.path / ".claude")
    assert home.ways("update").stdout == "ways is 1.1.0.\n"
    home.ways("rollback")
    assert tree(home.path / ".claude") == before


def test_the_notice_at_session_start(home: ReleaseHome) -> None:
    """The first session starts the look-up, the next one shows its line, an update ends it."""
    home.ways("reconcile")
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s"}
    assert home.hook("check-config-updates.sh", start).stdout == ""
    notice = Path(home.roots.state, "update-notice.json")
    deadline = time.monotonic() + 60
    while not notice.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    shown = json.loads(home.hook("check-config-updates.sh", start).stdout)
    assert shown == {"systemMessage": "ways 1.1.0 is available (installed: 1.0.0). To update: ways update"}
    home.environ["DISABLE_UPDATES"] = "1"
    assert home.hook("check-config-updates.sh", start).stdout == ""
    del home.environ["DISABLE_UPDATES"]
    home.ways("update")
    assert home.hook("check-config-updates.sh", start).stdout == ""


def test_case_u02_killed_while_it_tries_the_new_version_and_started_again(
    home: ReleaseHome, server: Server
) -> None:
    child = subprocess.Popen(
        [home.app / "bin/ways", "update"], env=home.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    path = Path(journal.path(home.roots))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.exists() and json.loads(path.read_text())["step"] == journal.PROBE:
            break
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert path.exists()
    done = home.ways("sessions-root")
    assert "an interrupted update to 1.1.0 was undone" in done.stderr
    assert not path.exists()
    assert home.version() == "1.0.0"
    assert home.ways("sessions-root").stderr == ""
    assert home.ways("update").stdout == "ways is 1.1.0.\n"


def test_case_u04_a_newest_version_that_crashes(
    home: ReleaseHome, releases: Releases, tmp_path: Path
) -> None:
    home.ways("update")
    (home.app / "versions/1.1.0/bin/ways").write_text("#!/bin/sh\nkill -SEGV $$\n")
    done = subprocess.run(
        ["sh", home.app / "rollback.sh"], env=home.environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ways is 1.0.0 again (it was 1.1.0).\n"), done.stderr
    assert home.version() == "1.0.0"


def test_two_updates_at_once(home: ReleaseHome) -> None:
    """One does it; the other waits for it or says who is at it. The end is the same."""
    both = [
        subprocess.Popen(
            [home.app / "bin/ways", "update"],
            env=home.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    ended = [(child.communicate(), child.returncode) for child in both]
    codes = sorted(code for _, code in ended)
    assert codes in ([0, 0], [0, 5]), ended
    if codes == [0, 5]:
        assert any("ways update is running (process " in err for (_, err), _ in ended)
    assert home.version() == "1.1.0"


def test_an_update_without_a_network_says_what_to_do(home: ReleaseHome) -> None:
    done = home.ways("update", "--from", "http://127.0.0.1:9/", code=6)
    assert done.stderr.startswith("ways: the release list cannot be had: http://127.0.0.1:9/metadata/")
    assert home.version() == "1.0.0"
    assert home.ways("update", "--allow-downgrade", code=2).stderr


def test_the_lookup_never_runs_from_a_sample(home: ReleaseHome, server: Server) -> None:
    home.ways("reconcile")
    home.ways("doctor", "--offline", "--json", code=None)
    assert server.asked == []
