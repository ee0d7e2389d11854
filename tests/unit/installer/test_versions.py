"""Versions in the app root: their order, switching, what is kept and what goes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from installer import versions
from installer.stage import CURRENT, PREVIOUS
from projection.system import RealSystem
from tests.unit.installer.release_world import World
from ways.core import in_use
from ways.core.errors import UserError

CHECKOUT = Path(__file__).resolve().parents[3]


def test_versions_are_ordered_as_people_expect() -> None:
    names = [
        "0.9.9",
        "1.0.0.dev1",
        "1.0.0a1",
        "1.0.0-beta.2",
        "1.0.0rc1",
        "1.0.0-rc.2",
        "1.0.0",
        "1.0.1",
        "1.10.0",
    ]
    orders = [versions.order(name) for name in names]
    assert None not in orders
    assert orders == sorted(orders, key=lambda one: one or ())
    assert len(set(orders)) == len(names)


@pytest.mark.parametrize(
    "name", ["0.1.0+src.12345678", "1.0", "latest", "", "1.0.0x", "v1.0.0", "1.0.0-rc1-x"]
)
def test_what_is_no_release_has_no_place(name: str) -> None:
    assert versions.order(name) is None
    assert not versions.is_final(name)


@pytest.mark.parametrize(
    "name", ["../1.0.0", "1.0.0/..", ".1", "", "1 0", "1.0.0\n", "1:0", "1" * 65, "1.0."]
)
def test_a_name_that_is_no_folders_is_refused(name: str) -> None:
    with pytest.raises(UserError):
        versions.checked_name(name)


def test_switching_is_one_rename_and_leaves_a_relative_link(world: World) -> None:
    world.install("1.1.0")
    system = RealSystem()
    versions.point(system, world.roots, CURRENT, "1.0.0")
    assert os.readlink(world.app / "current") == "versions/1.0.0"
    assert [step.verb for step in system.steps] == ["link"]
    versions.point(system, world.roots, CURRENT, "1.0.0")
    assert len(system.steps) == 1


def test_current_and_previous_are_kept_the_rest_goes(world: World) -> None:
    for name in ("1.1.0", "1.2.0"):
        world.install(name)
    system = RealSystem()
    versions.point(system, world.roots, PREVIOUS, "1.1.0")
    assert versions.prune(system, world.roots) == ()
    assert world.names() == ["1.1.0", "1.2.0"]


def holder(folder: Path, statement: str) -> subprocess.Popen[str]:
    """A process that holds the version's shared lock until its input ends."""
    code = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n{statement}\nprint('held', flush=True)\n"
    code += "sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_version_that_somebody_runs_is_kept_until_they_end(world: World) -> None:
    for name in ("1.1.0", "1.2.0"):
        world.install(name)
    system = RealSystem()
    versions.point(system, world.roots, PREVIOUS, "1.1.0")
    folder = world.app / "versions/1.0.0"
    statement = f"from ways.core import in_use; assert in_use.share({str(folder)!r})"
    users = [holder(folder, statement) for _ in range(2)]
    assert versions.prune(system, world.roots) == ("1.0.0",)
    users[0].communicate("")
    assert versions.prune(system, world.roots) == ("1.0.0",)
    assert (folder / "bin/ways").is_file()
    users[1].kill()
    users[1].communicate()
    assert versions.prune(system, world.roots) == ()
    assert not folder.exists()


def test_a_frozen_program_holds_the_version_it_runs_from(world: World) -> None:
    """Through whatever link it was started; a program from source holds nothing."""
    program = world.app / "bin/ways"
    frozen = (
        f"sys.frozen = True; sys.executable = {str(program)!r}\nfrom ways.core import in_use; in_use.hold()"
    )
    process = holder(world.app, frozen)
    with versions.claimed(RealSystem(), str(world.app / "versions/1.0.0")) as free:
        assert not free
    process.communicate("")
    with versions.claimed(RealSystem(), str(world.app / "versions/1.0.0")) as free:
        assert free
    assert in_use._held == []
    in_use.hold()
    assert in_use._held == []


def test_damage_is_found_in_content_size_mode_and_absence(world: World) -> None:
    content = world.app / "versions/1.0.0"
    system = RealSystem()
    assert versions.damage(system, str(content)) == ""
    path = content / "agents/reviewer.md"
    path.write_text("agenT\n")
    assert "is not as it was shipped" in versions.damage(system, str(content))
    path.unlink()
    assert "is missing" in versions.damage(system, str(content))
    path.write_text("agent\n")
    assert versions.damage(system, str(content)) == ""
    (content / "bin/ways").chmod(0o644)
    assert "mode" in versions.damage(system, str(content))
    (content / "payload-manifest.json").write_text("{")
    assert "is damaged" in versions.damage(system, str(content))
    (content / "payload-manifest.json").unlink()
    assert "is missing" in versions.damage(system, str(content))


def test_sweeping_takes_leftovers_of_the_dead_only(world: World) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    folder = world.app / "versions"
    alive = holder(folder, "")
    names = [f".staging-1.1.0-{dead.pid}", f".probe-1.1.0-{dead.pid}", f".removing-0.9.0-{dead.pid}"]
    kept = [f".staging-install-{alive.pid}", ".staging-77", "mine"]
    for name in (*names, *kept):
        (folder / name / "below").mkdir(parents=True)
    versions.sweep(RealSystem(), world.roots)
    assert world.names() == sorted(["1.0.0", *kept])
    alive.communicate("")


def test_a_file_of_somebody_elses_at_a_links_place_is_refused(world: World) -> None:
    (world.app / "agents").unlink()
    (world.app / "agents").mkdir()
    with pytest.raises(UserError, match="is in the way") as caught:
        versions.check_places(RealSystem(), world.roots)
    assert caught.value.exit_code == 3
