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
from tests.unit.projection.world import World


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
