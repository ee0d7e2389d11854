"""What is planned and done for Windows, on any machine: the system calls themselves are not tried here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from projection.file_apply import Done, apply_additions
from projection.file_plan import Ground, plan_files
from projection.records import COPY, HARD_LINK, JUNCTION, LINK, Record
from projection.system import DryRunSystem, RealSystem, System
from projection.targets import make_target
from projection.wants import App, wanted
from projection.wiring import render
from tests.unit.projection.world import World, times, tree
from windows.junctions import NoJunctions


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w")


class WindowsLike(RealSystem):
    """Junctions stand in as symlinks; symlinks and hard links may be forbidden."""

    def __init__(self, *forbidden: str) -> None:
        super().__init__()
        self._forbidden = forbidden

    def junction(self, target: str, path: str) -> None:
        super().symlink(target, path, True)

    def symlink(self, target: str, path: str, folder: bool = False) -> None:
        if "symlink" in self._forbidden:
            raise OSError(1314, "A required privilege is not held by the client", path)
        super().symlink(target, path, folder)

    def hard_link(self, source: str, path: str) -> None:
        if "hard link" in self._forbidden:
            raise OSError(17, "another volume", path)
        super().hard_link(source, path)


def project(world: World, system: System, record: Record | None = None) -> tuple[Any, Done, Ground]:
    app: App = world.prepare(RealSystem())
    target = make_target(system, "~/.claude", str(world.home))
    ground = Ground(system, target, app, record or Record(target.key, target.path, target.folder), "windows")
    plan = plan_files(ground, wanted(app, "link", "windows"))
    done = Done()
    apply_additions(ground, world.roots, plan, done)
    return plan, done, ground


def test_folders_become_junctions_and_no_program_is_projected(world: World) -> None:
    system = DryRunSystem()
    _, done, _ = project(world, system)
    kinds = {path: entry.kind for path, entry in done.entries.items()}
    assert kinds == {
        "agents/reviewer.md": LINK,
        "commands/ways.md": LINK,
        "hooks/check-config-updates.sh": LINK,
        "hooks/ways": JUNCTION,
        "skills/ways": JUNCTION,
    }
    assert system.kind(str(world.target() / "hooks/ways")) == "junction"
    assert system.read_bytes(str(world.target() / "skills/ways/SKILL.md")) == b"a skill"
    assert not world.target().exists()


@pytest.mark.parametrize(
    ("forbidden", "kind"),
    [((), LINK), (("symlink",), HARD_LINK), (("symlink", "hard link"), COPY)],
)
def test_a_file_is_linked_as_well_as_the_machine_allows(
    world: World, forbidden: tuple[str, ...], kind: str
) -> None:
    system = WindowsLike(*forbidden)
    _, done, ground = project(world, system)
    agent = world.target() / "agents/reviewer.md"
    assert done.entries["agents/reviewer.md"].kind == kind
    assert agent.read_text() == "an agent"
    assert agent.is_symlink() is (kind == LINK)
    assert (os.stat(agent).st_nlink > 1) is (kind == HARD_LINK)
    record = Record(
        ground.record.key,
        ground.record.path,
        ground.record.folder,
        entries=done.entries,
        folders=tuple(str(world.target() / name) for name in ("agents", "commands", "hooks", "skills")),
    )
    again = plan_files(
        Ground(system, ground.target, ground.app, record, "windows"), wanted(ground.app, "link", "windows")
    )
    assert not again.changes


def test_a_stand_in_is_renewed_when_the_shipped_file_changes(world: World) -> None:
    system = WindowsLike("symlink", "hard link")
    _, done, ground = project(world, system)
    world.ship("agents/reviewer.md", "a better agent")
    record = Record(ground.record.key, ground.record.path, ground.record.folder, entries=done.entries)
    project(world, system, record)
    assert (world.target() / "agents/reviewer.md").read_text() == "a better agent"


def test_an_edited_stand_in_is_kept_before_it_is_renewed(world: World) -> None:
    system = WindowsLike("symlink", "hard link")
    _, done, ground = project(world, system)
    (world.target() / "agents/reviewer.md").write_text("an agent of mine")
    record = Record(ground.record.key, ground.record.path, ground.record.folder, entries=done.entries)
    plan = plan_files(
        Ground(system, ground.target, ground.app, record, "windows"), wanted(ground.app, "link", "windows")
    )
    [placement] = plan.placements
    assert placement.edited == ("agents/reviewer.md",)


class NoJunctionsHere(WindowsLike):
    """A volume as FAT, a network share or Wine has it."""

    def junction(self, target: str, path: str) -> None:
        raise NoJunctions(22, "this volume takes no junctions", path)


def test_a_volume_without_junctions_is_served_by_copies_and_says_so(world: World) -> None:
    mine = world.write(".claude/skills/mine/SKILL.md", "mine")
    world.list_targets("~/.claude")
    [outcome] = world.reconcile(NoJunctionsHere(), platform="windows")
    assert (outcome.exit_code, outcome.state, outcome.error) == (0, "active", "")
    assert outcome.notes[0] == (
        f"{world.target()} is served by copies, because its volume takes no junctions"
    )
    for path in ("hooks/ways/core.md", "skills/ways/more/notes.md", "agents/reviewer.md"):
        copy = world.target() / path
        assert copy.is_file() and not copy.is_symlink()
        assert copy.read_bytes() == (world.payload / path).read_bytes()
    assert mine.read_text() == "mine"
    before, when = tree(world.home), times(world.home)
    [again] = world.reconcile(NoJunctionsHere(), platform="windows")
    assert (again.changed, again.notes) == (False, ())
    assert (tree(world.home), times(world.home)) == (before, when)


def test_links_that_were_asked_for_are_not_replaced_by_copies(world: World) -> None:
    world.list_targets("~/.claude")
    [outcome] = world.reconcile(NoJunctionsHere(), platform="windows", mode="link")
    assert outcome.exit_code == 5
    assert "takes no junctions" in outcome.error
    assert not (world.target() / "hooks/ways").exists()


def test_an_app_without_stable_names_is_copied_from_and_named_by_its_version(world: World) -> None:
    app: App = world.prepare(RealSystem())
    unlinked = App(app.root, app.content, app.payload, app.version, linked=False)
    assert unlinked.stable("bin/ways.exe") == os.path.join(app.content, "bin", "ways.exe")
    target = make_target(RealSystem(), "~/.claude", str(world.home))
    block = {"hooks": {"Stop": [{"hooks": [{"command": "{hooks}/ways/check-response.sh"}]}]}}
    [group] = render(block, target, unlinked, "windows")["hooks"]["Stop"]
    assert group["hooks"][0]["command"] == os.path.join(app.content, "bin", "ways.exe")
