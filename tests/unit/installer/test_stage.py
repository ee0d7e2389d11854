"""Staging a source install: the app root's layout, its start script, and what happens around a switch."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from installer.stage import Source, plan_version, prepare, stage
from projection.payload_manifest import compute, from_json
from projection.system import DryRunSystem, RealSystem
from tests.unit.projection.world import World, times, tree
from ways.core.errors import REFUSED, UserError


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w", home="A B&(c)' é $x")


def versions(world: World) -> list[str]:
    return sorted(os.listdir(Path(world.roots.app) / "versions"))


def test_the_layout(world: World) -> None:
    app = world.prepare(RealSystem())
    root = Path(world.roots.app)
    assert os.readlink(root / "current") == f"versions/{app.version}"
    for name in ("bin", "hooks", "skills", "agents", "commands", "settings.json"):
        assert os.readlink(root / name) == f"current/{name}"
        assert (root / name).exists()
    listed = from_json((root / "current/payload-manifest.json").read_bytes(), "x")
    assert listed == compute(os.path.realpath(root / "current"))
    assert os.access(root / "bin/ways", os.X_OK)
    assert app.version.startswith("0.") and "+src." in app.version
    assert json.loads((root / "current/release.json").read_text())["build"] == "source"


def test_staging_again_changes_nothing(world: World) -> None:
    world.prepare(RealSystem())
    before, stamps = tree(world.roots.app), times(world.roots.app)
    system = RealSystem()
    world.prepare(system)
    assert system.steps == []
    assert (tree(world.roots.app), times(world.roots.app)) == (before, stamps)


def test_a_dry_run_stages_nothing_and_still_knows_everything(world: World) -> None:
    system = DryRunSystem()
    app = world.prepare(system)
    assert not os.path.exists(world.roots.app)
    assert system.read_bytes(os.path.join(world.roots.app, "settings.json")).startswith(b"{")
    assert system.exists(app.file("hooks/ways/check-prompt.sh"))


def test_current_and_previous_are_kept_older_ones_go(world: World) -> None:
    seen = []
    for text in ("one", "two", "three"):
        world.ship("agents/reviewer.md", text)
        seen.append(world.prepare(RealSystem()).version)
    assert versions(world) == sorted(seen[1:])
    root = Path(world.roots.app)
    assert os.readlink(root / "previous") == f"versions/{seen[1]}"
    assert (root / "agents/reviewer.md").read_text() == "three"


def test_a_released_version_is_not_pruned(world: World) -> None:
    released = Path(world.roots.app) / "versions/1.2.3"
    released.mkdir(parents=True)
    for text in ("one", "two", "three"):
        world.ship("agents/reviewer.md", text)
        world.prepare(RealSystem())
    assert released.exists()


def test_what_was_damaged_by_hand_is_repaired(world: World) -> None:
    app = world.prepare(RealSystem())
    before = tree(world.roots.app)
    folder = Path(app.content)
    (folder / "bin/ways").unlink()
    (folder / "hooks/ways/check-prompt.sh").chmod(0o644)
    (folder / "agents/reviewer.md").write_text("AN AGENT")
    shutil.rmtree(folder / "skills")
    (Path(world.roots.app) / "hooks").unlink()
    world.prepare(RealSystem())
    assert tree(world.roots.app) == before


def test_leftovers_of_a_killed_run_are_swept(world: World) -> None:
    world.prepare(RealSystem())
    (Path(world.roots.app) / "versions/.staging-update").mkdir()  # another program's: stays
    before = tree(world.roots.app)
    leftover = Path(world.roots.app) / "versions/.staging-src-12345"
    leftover.mkdir()
    (leftover / "half").write_text("x")
    (Path(world.roots.app) / ".current.ways-tmp-1-2-3").symlink_to("versions/x")
    world.prepare(RealSystem())
    assert tree(world.roots.app) == before


def test_something_else_at_a_stable_name_is_refused(world: World) -> None:
    mine = Path(world.roots.app) / "hooks/mine.sh"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(UserError) as caught:
        world.prepare(RealSystem())
    assert caught.value.exit_code == REFUSED
    assert str(mine.parent) in str(caught.value)
    assert tree(world.roots.app) == {
        "hooks": ("folder", oct(os.stat(mine.parent).st_mode)),
        "hooks/mine.sh": ("file", oct(os.stat(mine).st_mode), b"mine"),
    }


def test_case_s06_an_adapter_no_longer_shipped_stays_callable_until_settings_are_merged(world: World) -> None:
    world.reconcile()
    old = [command for command in world.hook_commands() if "check-state" in command]
    world.ship("hooks/ways/check-state.sh", None)
    world.adapters("ways/check-prompt.sh", "check-config-updates.sh")
    world.prepare(RealSystem())
    done = subprocess.run(["sh", "-c", old[0]], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    world.reconcile()
    assert not [command for command in world.hook_commands() if "check-state" in command]
    world.ship("agents/reviewer.md", "next version")
    world.reconcile()
    assert not (Path(world.roots.app) / "hooks/ways/check-state.sh").exists()


# The start script


def checkout(folder: Path, entry: str) -> Source:
    """A source whose program is `entry`."""
    (folder / "ways").mkdir(parents=True)
    (folder / "ways/__init__.py").write_text("")
    (folder / "ways/entry.py").write_text(entry)
    (folder / "payload").mkdir()
    (folder / "payload/settings.json").write_text('{"hooks": {}}')
    return Source(str(folder), sys.executable, (), str(folder / "payload"))


ENTRY = """\
import sys
def main():
    print(sys.argv[1:], sys.flags.utf8_mode, sys.flags.isolated)
    return 4
"""


def run(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = os.path.join(world.roots.app, "bin", "ways")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def test_the_program_runs_from_its_source(world: World) -> None:
    source = checkout(world.base / "my 'source' é", ENTRY)
    stage(RealSystem(), world.roots, plan_version(source, world.roots))
    done = run(world, "a b", "-x", "$HOME")
    assert done.stdout == "['a b', '-x', '$HOME'] 1 1\n"
    assert (done.returncode, done.stderr) == (4, "")


@pytest.mark.parametrize("damage", ["checkout", "syntax", "python", "version"])
def test_a_hook_never_fails_when_the_source_is_gone(world: World, damage: str) -> None:
    source = checkout(world.base / "source2", ENTRY)
    if damage == "python":
        own = world.base / "python3"
        own.symlink_to(sys.executable)
        source = Source(source.code, str(own), (), source.payload)
    version = plan_version(source, world.roots)
    stage(RealSystem(), world.roots, version)
    match damage:
        case "checkout":
            shutil.rmtree(source.code)
        case "syntax":
            Path(source.code, "ways/entry.py").write_text("def main(:\n")
        case "python":
            Path(source.python).unlink()
        case "version":
            Path(version.folder, "bin/boot.py").unlink()
    hook = run(world, "hook", "prompt")
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, "", "")
    other = run(world, "status")
    assert other.returncode == 1
    assert "Next: " in other.stderr
    assert "Traceback" not in other.stderr


def test_built_engine_and_models_are_linked_where_they_are(world: World) -> None:
    built = world.base / "out"
    for name in ("lib", "models"):
        (built / name).mkdir(parents=True)
        (built / name / "f").write_text(name)
    source = checkout(world.base / "source3", ENTRY)
    without = plan_version(source, world.roots)
    native = tuple((name, str(built / name)) for name in ("lib", "models"))
    version = plan_version(Source(source.code, source.python, (), source.payload, native), world.roots)
    assert version.name != without.name
    stage(RealSystem(), world.roots, version)
    assert (Path(world.roots.app) / "current/lib/f").read_text() == "lib"
    assert (Path(world.roots.app) / "current/models/f").read_text() == "models"


def test_this_very_source_can_be_prepared(world: World) -> None:
    app = prepare(DryRunSystem(), world.roots)
    assert any(file.path == "hooks/ways/check-prompt.sh" for file in app.payload.files)
