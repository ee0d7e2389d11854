"""Back to the version before: by the program, and by the script when no program works (case u04)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from installer import journal, recovery, rollback, versions
from projection.system import DryRunSystem, RealSystem, System
from tests.unit.installer.conftest import enter
from tests.unit.installer.release_world import Releases, World
from tests.unit.installer.test_update import killed
from tests.unit.projection.world import tree
from ways.core.errors import UserError

SHELLS = [shell for shell in ("sh", "dash", "bash", "busybox") if shutil.which(shell)]


@pytest.fixture
def updated(world: World) -> World:
    """1.1.0 over 1.0.0."""
    world.update()
    return world


def go_back(world: World, system: System | None = None) -> Any:
    return rollback.apply(system or RealSystem(), world.roots, world.environ)


def test_back_and_forth_without_a_network(updated: World) -> None:
    shutil.rmtree(Path(updated.roots.state, "tuf"))
    assert go_back(updated).version == "1.0.0"
    assert (updated.launched(), updated.pointed("previous")) == ("1.0.0", "1.1.0")
    assert go_back(updated).version == "1.1.0"
    assert (updated.launched(), updated.pointed("previous")) == ("1.1.0", "1.0.0")
    assert updated.names() == ["1.0.0", "1.1.0"]
    receipt = json.loads(Path(updated.roots.state, "receipt.json").read_text())
    assert [row["operation"] for row in receipt["history"]] == ["update", "rollback", "rollback"]


def test_the_new_versions_adapters_still_resolve(updated: World) -> None:
    go_back(updated)
    assert os.access(updated.app / "hooks/ways/only-1.1.0.sh", os.X_OK)


def test_a_plan_changes_nothing(updated: World) -> None:
    before = tree(updated.home)
    plan = rollback.plan(DryRunSystem(), updated.roots)
    assert plan.lines() == ["Go back from 1.1.0 to 1.0.0."]
    assert tree(updated.home) == before


def test_without_a_version_before(world: World) -> None:
    with pytest.raises(UserError, match=r"there is no version before 1\.0\.0"):
        go_back(world)


def test_a_damaged_version_before_is_not_gone_back_to(updated: World) -> None:
    (updated.app / "versions/1.0.0/lib/late.sh").write_text("")
    with pytest.raises(UserError, match="not as it was shipped"):
        go_back(updated)
    assert updated.launched() == "1.1.0"
    shutil.rmtree(updated.app / "versions/1.0.0")
    with pytest.raises(UserError, match=r"is not in .* any more"):
        go_back(updated)


def test_a_version_before_that_does_not_start_is_undone(
    base: Path, fresh: Releases, monkeypatch: Any
) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    flag = base / "broken"
    fresh.build("1.0.0", first=f'[ ! -e "{flag}" ] || exit 9')
    shutil.rmtree(home.app)
    home.install("1.0.0")
    home.update()
    flag.write_text("")
    with pytest.raises(UserError, match=r"1\.1\.0 is active again"):
        go_back(home)
    assert (home.launched(), home.pointed("previous")) == ("1.1.0", "1.0.0")
    assert not recovery.is_needed(home.roots)


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
def test_case_u02_killed_at_every_step(base: Path, releases: Releases, monkeypatch: Any) -> None:
    after, alive = 0, False
    while not alive:
        after += 1
        home = World(base, releases)
        enter(home, monkeypatch)
        home.install("1.1.0")
        versions.point(RealSystem(), home.roots, "previous", "1.0.0")
        alive = not killed(lambda system, home=home: go_back(home, system), after)
        launched = home.launched()
        assert launched in {"1.0.0", "1.1.0"}, after
        recovery.recover(RealSystem(), home.roots, home.environ)
        assert home.launched() in {"1.0.0", "1.1.0"}, after
        assert home.pointed("previous") == ({"1.0.0", "1.1.0"} - {home.launched()}).pop(), after
        assert not recovery.is_needed(home.roots)
        assert home.names() == ["1.0.0", "1.1.0"], after
    assert home.launched() == "1.0.0"
    assert after > 8


def test_the_journal_of_a_rollback_undoes_to_where_it_came_from(updated: World) -> None:
    entry = journal.begin(journal.ROLLBACK, "1.1.0", "1.0.0", "1.0.0")
    journal.write(RealSystem(), updated.roots, entry, journal.SWITCH)
    versions.point(RealSystem(), updated.roots, "previous", "1.1.0")
    told = recovery.recover(RealSystem(), updated.roots, updated.environ)
    assert told == "an interrupted rollback to 1.0.0 was undone"
    assert (updated.launched(), updated.pointed("previous")) == ("1.1.0", "1.0.0")


# The script


def script(world: World, shell: str) -> subprocess.CompletedProcess[str]:
    command = [shell, "sh"] if shell == "busybox" else [shell]
    path = world.app / "rollback.sh"
    return subprocess.run([*command, path], capture_output=True, text=True, check=False, env=world.environ)


@pytest.mark.parametrize("shell", SHELLS)
def test_case_u04_the_script_needs_no_program_that_works(updated: World, shell: str) -> None:
    (updated.app / "versions/1.1.0/bin/ways").write_text("#!/bin/sh\nkill -SEGV $$\n")
    done = script(updated, shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ways is 1.0.0 again (it was 1.1.0).\n"
    assert (updated.launched(), updated.pointed("previous")) == ("1.0.0", "1.1.0")
    assert os.readlink(updated.app / "current") == "versions/1.0.0"
    assert os.access(updated.app / "hooks/ways/only-1.1.0.sh", os.X_OK)
    assert not [path for path in updated.app.iterdir() if ".new." in path.name]
    assert updated.releases.log.read_text().splitlines()[-2] == "1.0.0 reconcile --quiet"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_changes_nothing_where_it_cannot_help(updated: World, shell: str) -> None:
    program = updated.app / "versions/1.0.0/bin/ways"
    program.write_text("#!/bin/sh\nexit 1\n")
    done = script(updated, shell)
    assert done.returncode == 1
    assert "does not start either" in done.stderr
    (updated.app / "previous").unlink()
    assert "no version to go back to" in script(updated, shell).stderr
    assert updated.launched() == "1.1.0"


def test_after_the_script_the_journal_of_a_dead_update_changes_nothing(updated: World) -> None:
    """Killed after the switch, gone back by the script, then started: it stays gone back."""
    entry = journal.begin(journal.UPDATE, "1.0.0", "1.1.0", "")
    journal.write(RealSystem(), updated.roots, entry, journal.CONFIRM)
    assert script(updated, "sh").returncode == 0
    recovery.recover(RealSystem(), updated.roots, updated.environ)
    assert updated.launched() == "1.0.0"
    assert not recovery.is_needed(updated.roots)
