"""Reconcile as a whole, in a home of its own: what it makes, what it refuses, what it takes back."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from projection import records
from projection.reconcile import run_lock
from projection.system import RealSystem
from projection.targets import ACTIVE, PARTIAL, REFUSED_STATE, WITHDRAWN
from tests.unit.projection.world import World, times, tree
from ways.core.errors import DONE, REFUSED, WRITE_FAILED, UserError

MODES = ("link", "copy")
ROOTS = [
    "agents/reviewer.md",
    "bin/ways",
    "commands/ways.md",
    "hooks/check-config-updates.sh",
    "hooks/ways",
    "skills/ways",
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w")


def codes(outcomes: list[Any]) -> list[int]:
    return [outcome.exit_code for outcome in outcomes]


def test_link_mode_links_each_root_through_a_stable_name(world: World) -> None:
    outcomes = world.reconcile()
    assert [outcome.state for outcome in outcomes] == [ACTIVE]
    for root in ROOTS:
        path = world.target() / root
        assert os.readlink(path) == os.path.join(world.roots.app, root)
        assert path.exists()
    assert world.unresolved() == []
    assert len(world.hook_commands()) == 3


def test_copy_mode_copies_every_file_and_writes_a_shim(world: World) -> None:
    world.reconcile(mode="copy")
    target = world.target()
    assert not any(path.is_symlink() for path in target.rglob("*"))
    assert (target / "skills/ways/more/notes.md").read_text() == "notes"
    assert os.access(target / "hooks/ways/check-prompt.sh", os.X_OK)
    assert f"exec '{world.roots.app}/bin/ways'" in (target / "bin/ways").read_text()
    assert world.unresolved() == []


@pytest.mark.parametrize("mode", MODES)
def test_second_run_changes_no_byte_and_no_mtime(world: World, mode: str) -> None:
    world.write(".claude/settings.json", '{"model": "opus"}\n')
    world.reconcile(mode=mode)
    before, stamps = tree(world.home), times(world.home)
    outcomes = world.reconcile()
    assert [outcome.changed for outcome in outcomes] == [False]
    assert tree(world.home) == before
    assert times(world.home) == stamps


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("settings", [None, '{\n  "model": "opus"\n}', '{"hooks": {}}\n'])
def test_case_s15_withdrawing_restores_the_original_tree(
    world: World, mode: str, settings: str | None
) -> None:
    world.write(".claude/skills/mine/SKILL.md", "mine")
    (world.home / ".claude/agents").mkdir()
    if settings is not None:
        world.write(".claude/settings.json", settings, 0o600)
    before = tree(world.target())
    world.reconcile(mode=mode)
    assert tree(world.target()) != before
    outcomes = world.withdraw()
    assert [outcome.state for outcome in outcomes] == [WITHDRAWN]
    assert tree(world.target()) == before
    assert records.load_all(RealSystem(), world.roots) == {}


def test_a_target_that_we_made_goes_with_us(world: World) -> None:
    world.list_targets("~/deep/er/claude")
    before = tree(world.home, "^.local")
    world.reconcile()
    assert (world.home / "deep/er/claude/hooks/ways").is_symlink()
    world.withdraw()
    assert tree(world.home, "^.local") == before


def test_a_folder_that_the_user_had_empty_stays(world: World) -> None:
    (world.home / ".claude/skills").mkdir(parents=True)
    world.reconcile()
    world.withdraw()
    assert list(world.target().rglob("*")) == [world.target() / "skills"]


@pytest.mark.parametrize("mode", MODES)
def test_case_s18_a_real_folder_at_our_place_stops_the_target_untouched(world: World, mode: str) -> None:
    world.write(".claude/hooks/ways/own.md", "theirs")
    world.write(".claude/skills/ways/SKILL.md", "their skill")
    world.write(".claude/bin/ways", "their program")
    (world.home / ".claude/agents").mkdir()
    os.symlink("/somewhere/else.md", world.home / ".claude/agents/reviewer.md")
    world.write(".claude/settings.json", "{}")
    before, stamps = tree(world.target()), times(world.target())
    [outcome] = world.reconcile(mode=mode)
    assert (outcome.exit_code, outcome.state) == (REFUSED, REFUSED_STATE)
    named = "\n".join(outcome.plan.refusals)
    for place in ("hooks/ways", "skills/ways", "bin/ways", "agents/reviewer.md"):
        assert str(world.target() / place) in named
    assert tree(world.target()) == before
    assert times(world.target()) == stamps


def test_what_stops_one_target_leaves_the_others_going(world: World) -> None:
    world.list_targets("~/a", "~/b", "~/c")
    world.write("a/hooks/ways/own.md", "theirs")
    world.write("b/settings.json", "{ broken")
    outcomes = world.reconcile()
    assert codes(outcomes) == [REFUSED, REFUSED, DONE]
    assert "settings.json:1:3" in outcomes[1].plan.refusals[0]
    assert sorted(tree(world.home / "a")) == ["hooks", "hooks/ways", "hooks/ways/own.md"]
    assert sorted(os.listdir(world.home / "b")) == ["settings.json"]
    assert (world.home / "c/hooks/ways").is_symlink()


@pytest.mark.parametrize("mode", MODES)
def test_force_moves_the_users_things_away_and_withdrawal_puts_them_back(world: World, mode: str) -> None:
    world.write(".claude/hooks/ways/own.md", "theirs")
    world.write(".claude/skills/ways/SKILL.md", "their skill", 0o600)
    world.write(".claude/commands", "a file where a folder belongs")
    before = tree(world.target())
    [outcome] = world.reconcile(mode=mode, force=True)
    assert outcome.exit_code == DONE
    assert len([note for note in outcome.notes if note.startswith("moved ")]) == 3
    backups = Path(world.roots.state) / "backups" / outcome.plan.target.key
    index = json.loads(next(backups.glob("*/index.json")).read_text())
    assert {row["origin"] for row in index} == {
        str(world.target() / place) for place in ("hooks/ways", "skills/ways", "commands")
    }
    assert all(len(row["sha256"]) == 64 for row in index)
    assert world.unresolved() == []
    assert world.reconcile()[0].changed is False
    world.withdraw()
    assert tree(world.target()) == before
    assert not backups.exists()


def test_withdrawal_leaves_a_backup_whose_place_is_taken(world: World) -> None:
    world.write(".claude/agents/reviewer.md", "first")
    world.reconcile(force=True)
    (world.target() / "agents/reviewer.md").unlink()
    world.write(".claude/agents/reviewer.md", "second")
    world.withdraw()
    assert (world.target() / "agents/reviewer.md").read_text() == "second"
    kept = list((Path(world.roots.state) / "backups").rglob("reviewer.md"))
    assert [path.read_text() for path in kept] == ["first"]


@pytest.mark.parametrize("mode", MODES)
def test_case_s13_foreign_and_edited_things_survive_an_update(world: World, mode: str) -> None:
    foreign = {
        "skills/mine/SKILL.md": "my skill",
        "agents/mine.md": "my agent",
        "commands/mine.md": "my command",
        "bin/mine": "my program",
    }
    for path, text in foreign.items():
        world.write(f".claude/{path}", text)
    world.reconcile(mode=mode)
    if mode == "copy":
        (world.target() / "skills/ways/SKILL.md").write_text("edited by me")
        (world.target() / "agents/reviewer.md").write_text("edited too")
        world.write(".claude/skills/ways/extra.md", "my file in your skill")
    world.ship("skills/ways/SKILL.md", "a better skill")
    world.ship("agents/reviewer.md", None)
    [outcome] = world.reconcile()
    for path, text in foreign.items():
        assert (world.target() / path).read_text() == text
    assert (world.target() / "skills/ways/SKILL.md").read_text() == "a better skill"
    assert not os.path.lexists(world.target() / "agents/reviewer.md")
    if mode == "copy":
        assert (world.target() / "skills/ways/extra.md").read_text() == "my file in your skill"
        kept = (Path(world.roots.state) / "kept").rglob("*.md")
        assert sorted(path.read_text() for path in kept) == ["edited by me", "edited too"]
        named = "\n".join(outcome.notes)
        assert str(world.target() / "skills/ways/SKILL.md") in named
        assert str(world.target() / "agents/reviewer.md") in named


def test_our_links_are_repaired_and_repointed_the_users_are_not(world: World) -> None:
    world.reconcile()
    skill, agent = world.target() / "skills/ways", world.target() / "agents/reviewer.md"
    old = Path(world.roots.app) / "versions/0.0.1/skills/ways"
    for link, place in ((skill, old), (agent, Path(world.roots.app) / "gone/reviewer.md")):
        link.unlink()
        link.symlink_to(place)
    [outcome] = world.reconcile()
    assert outcome.exit_code == DONE
    assert os.readlink(skill) == os.path.join(world.roots.app, "skills/ways")
    assert agent.read_text() == "an agent"
    skill.unlink()
    skill.symlink_to(world.write("elsewhere/SKILL.md", "x").parent)
    [outcome] = world.reconcile()
    assert outcome.exit_code == REFUSED
    assert os.readlink(skill) == str(world.home / "elsewhere")


def test_an_entry_no_longer_shipped_goes_one_we_never_made_stays(world: World) -> None:
    world.reconcile()
    own = world.target() / "skills/alias"
    own.symlink_to(os.path.join(world.roots.app, "skills/ways"))
    world.ship("agents/reviewer.md", None)
    world.reconcile()
    assert not os.path.lexists(world.target() / "agents/reviewer.md")
    assert not (world.target() / "agents").exists()
    assert own.is_symlink()


@pytest.mark.parametrize("first", MODES)
def test_the_mode_is_kept_and_can_be_switched_both_ways(world: World, first: str) -> None:
    second = "copy" if first == "link" else "link"
    world.write(".claude/skills/mine/SKILL.md", "mine")
    world.reconcile(mode=first)
    there = tree(world.target())
    assert world.reconcile()[0].changed is False
    world.reconcile(mode=second)
    assert (world.target() / "hooks/ways").is_symlink() is (second == "link")
    assert world.unresolved() == []
    world.reconcile(mode=first)
    assert tree(world.target()) == there


def test_leaving_copy_mode_refuses_while_a_file_of_the_users_is_in_our_folder(world: World) -> None:
    world.reconcile(mode="copy")
    mine = world.write(".claude/skills/ways/mine.md", "mine")
    before = tree(world.target())
    [outcome] = world.reconcile(mode="link")
    assert outcome.exit_code == REFUSED
    assert str(mine) in outcome.plan.refusals[0]
    assert tree(world.target()) == before


def test_leaving_copy_mode_keeps_edited_copies(world: World) -> None:
    world.reconcile(mode="copy")
    (world.target() / "hooks/ways/core.md").write_text("my core")
    [outcome] = world.reconcile(mode="link")
    assert outcome.exit_code == DONE
    assert (world.target() / "hooks/ways").is_symlink()
    kept = list((Path(world.roots.state) / "kept").rglob("core.md"))
    assert [path.read_text() for path in kept] == ["my core"]


def test_case_s07_disabling_one_target_leaves_the_other_whole(world: World) -> None:
    world.list_targets("~/a", "~/b")
    world.write("a/settings.json", '{"model": "a"}')
    world.reconcile()
    other = tree(world.home / "b")
    world.list_targets({"path": "~/a", "enabled": False}, "~/b")
    outcomes = world.reconcile()
    assert [outcome.state for outcome in outcomes] == [WITHDRAWN, ACTIVE]
    assert tree(world.home / "a") == {"settings.json": ("file", oct(0o100644), b'{"model": "a"}')}
    assert tree(world.home / "b") == other
    assert world.unresolved("b") == []


def test_case_s07_a_folder_that_two_targets_share_is_kept_for_the_other(world: World) -> None:
    world.list_targets("~/a", "~/b")
    (world.home / "shared").mkdir()
    for name in ("a", "b"):
        (world.home / name).mkdir()
        (world.home / name / "skills").symlink_to(world.home / "shared")
    world.reconcile()
    world.list_targets({"path": "~/a", "enabled": False}, "~/b")
    world.reconcile()
    assert (world.home / "b/skills/ways/SKILL.md").read_text() == "a skill"
    assert (world.home / "a/skills").is_symlink()


def test_a_target_dropped_from_the_list_is_left_alone(world: World) -> None:
    world.list_targets("~/a", "~/b")
    world.reconcile()
    before = tree(world.home / "a")
    world.list_targets("~/b")
    assert codes(world.reconcile()) == [DONE]
    assert tree(world.home / "a") == before
    world.withdraw()
    assert not (world.home / "a").exists()


def test_a_target_inside_another_is_refused(world: World) -> None:
    world.list_targets("~/a", "~/a/inner")
    outcomes = world.reconcile()
    assert codes(outcomes) == [DONE, REFUSED]
    assert "lies inside the target" in outcomes[1].plan.refusals[0]
    assert not (world.home / "a/inner").exists()


def test_a_target_inside_one_of_our_roots_is_refused(world: World) -> None:
    world.list_targets(os.path.join(world.roots.state, "claude"))
    assert codes(world.reconcile()) == [REFUSED]


def test_a_target_that_is_a_file_or_a_dangling_link_is_refused(world: World) -> None:
    world.write("file", "x")
    (world.home / "link").symlink_to(world.home / "unmounted")
    world.list_targets("~/file", "~/link", "~/file/below")
    outcomes = world.reconcile()
    assert codes(outcomes) == [REFUSED] * 3
    assert not (world.home / "unmounted").exists()


def test_a_skills_folder_that_is_a_link_into_the_app_is_never_written_through(world: World) -> None:
    world.reconcile()
    world.withdraw()
    world.target().mkdir()
    (world.target() / "skills").symlink_to(os.path.join(world.roots.app, "skills"))
    app = tree(world.roots.app)
    [outcome] = world.reconcile(mode="copy")
    assert outcome.exit_code == REFUSED
    assert "link into the app" in outcome.plan.refusals[0]
    assert tree(world.roots.app) == app


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_target_is_a_failed_write(world: World) -> None:
    world.target().mkdir()
    world.target().chmod(0o500)
    assert codes(world.reconcile()) == [WRITE_FAILED]


def test_a_read_only_settings_file_leaves_the_target_untouched(world: World) -> None:
    world.write(".claude/settings.json", "{}", 0o444)
    before = tree(world.target())
    assert codes(world.reconcile()) == [WRITE_FAILED]
    assert tree(world.target()) == before


def test_case_s09_a_backup_never_lies_in_a_loaded_folder(world: World) -> None:
    world.write(".claude/skills/ways/SKILL.md", "their skill")
    world.write(".claude/settings.json", '{"model": "opus"}')
    world.reconcile(force=True)
    skills = sorted(path.name for path in (world.target() / "skills").iterdir())
    assert skills == ["ways"]
    assert not list(world.target().rglob("*backup*"))


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_case_s16_every_rendered_command_runs_whatever_the_home_is_called(tmp_path: Path, shell: str) -> None:
    world = World(tmp_path / "w", home='A B&(c)\' é $x `y` "z" \\')
    world.reconcile()
    commands = world.hook_commands()
    assert len(commands) == 3
    for command in commands:
        done = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "ran\n", "")


def test_one_folder_in_several_spellings_is_one_target(world: World) -> None:
    (world.home / "real").mkdir()
    (world.home / "link").symlink_to("real")
    world.list_targets("~/real/", "~/link", "~/link/../real", str(world.home) + "//real/.")
    outcomes = world.reconcile()
    assert len(outcomes) == 1
    before = tree(world.home / "real")
    world.list_targets("~/link")
    assert world.reconcile()[0].changed is False
    assert tree(world.home / "real") == before


def test_two_targets_name_each_its_own_hooks(world: World) -> None:
    world.list_targets("~/a", "~/b")
    world.reconcile()
    for name in ("a", "b"):
        assert all(f'"{world.home}/{name}/hooks/' in command for command in world.hook_commands(name))


@pytest.mark.parametrize("text", ["targets: 3\n", "targets: [1]\n", "targets:\n  - pat: x\n", "targets: [\n"])
def test_a_damaged_list_of_targets_stops_everything(world: World, text: str) -> None:
    world.write(".config/agent-ways/config.yaml", text)
    with pytest.raises(UserError) as caught:
        world.reconcile()
    assert caught.value.exit_code == REFUSED
    assert "config.yaml:" in str(caught.value)
    assert not world.target().exists()


def test_a_lost_record_costs_nothing_in_link_mode(world: World) -> None:
    world.write(".claude/settings.json", "{}\n")
    before = tree(world.target())
    world.reconcile()
    made = tree(world.target())
    for file in Path(world.roots.state).rglob("record.json"):
        file.write_text("{ damaged")
    assert codes(world.reconcile()) == [DONE]
    assert tree(world.target()) == made
    for file in Path(world.roots.state).rglob("record.json"):
        file.unlink()
    world.list_targets({"path": "~/.claude", "enabled": False})
    world.reconcile()
    left = tree(world.target())
    assert {path: what for path, what in left.items() if what[0] != "folder"} == before


def test_a_lost_record_in_copy_mode_refuses_and_loses_nothing(world: World) -> None:
    world.reconcile(mode="copy")
    for file in Path(world.roots.state).rglob("record.json"):
        file.unlink()
    before = tree(world.target())
    assert codes(world.reconcile(mode="copy")) == [REFUSED]
    assert tree(world.target()) == before


def test_withdrawal_that_is_refused_for_one_target_touches_none(world: World) -> None:
    world.list_targets("~/a", "~/b")
    world.reconcile()
    world.write("b/settings.json", "{ broken")
    before = tree(world.home)
    outcomes = world.withdraw()
    assert REFUSED in codes(outcomes)
    assert tree(world.home, "locks") == {p: w for p, w in before.items() if "locks" not in p}


def test_two_fresh_targets_that_share_a_folder_are_both_served(world: World) -> None:
    world.list_targets("~/a", "~/b")
    (world.home / "shared").mkdir()
    for name in ("a", "b"):
        (world.home / name).mkdir()
        (world.home / name / "skills").symlink_to(world.home / "shared")
    assert codes(world.reconcile()) == [DONE, DONE]
    assert [outcome.changed for outcome in world.reconcile()] == [False, False]
    world.withdraw()
    assert os.listdir(world.home / "shared") == []


def test_a_disabled_target_that_was_never_served_is_left_alone(world: World) -> None:
    world.list_targets({"path": "~/a", "enabled": False})
    world.write("a/settings.json", "{ broken")
    before = tree(world.home / "a")
    [outcome] = world.reconcile()
    assert (outcome.exit_code, outcome.state) == (DONE, WITHDRAWN)
    assert tree(world.home / "a") == before


def test_a_fifo_at_our_place_is_named_and_never_opened(world: World) -> None:
    (world.home / ".claude/agents").mkdir(parents=True)
    os.mkfifo(world.target() / "agents/reviewer.md")
    [outcome] = world.reconcile()
    assert outcome.exit_code == REFUSED
    assert "reviewer.md is a thing of yours" in outcome.plan.refusals[0]


class FullDisk(RealSystem):
    """A disk on which writing below one folder fails after so many steps."""

    def __init__(self, folder: Path, after: int) -> None:
        super().__init__()
        self._folder, self._after = str(folder), after

    def _done(self, verb: str, path: str, source: str = "") -> None:
        super()._done(verb, path, source)
        if path.startswith(self._folder):
            self._after -= 1
            if self._after <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("after", [1, 2, 4, 7, 9])
def test_a_failed_write_is_told_the_others_go_on_and_the_next_run_mends_it(
    world: World, mode: str, after: int
) -> None:
    world.list_targets("~/a", "~/b")
    world.write("a/settings.json", '{"model": "a"}')
    first, second = world.reconcile(FullDisk(world.home / "a", after), mode=mode)
    assert (first.exit_code, first.state) == (WRITE_FAILED, PARTIAL)
    assert "No space left" in first.error
    assert second.exit_code == DONE
    assert world.unresolved("a") == []
    assert [plan.ground.record.phase for plan in world.plans()] == ["applying", "done"]
    assert codes(world.reconcile(mode=mode)) == [DONE, DONE]
    assert world.unresolved("a") == []
    world.withdraw()
    assert os.listdir(world.home / "a") == ["settings.json"]


def test_case_s08_a_write_that_left_nothing_is_not_called_done(world: World) -> None:
    class Forgetful(RealSystem):
        def symlink(self, target: str, path: str, folder: bool = False) -> None:
            if not path.endswith("skills/ways"):
                super().symlink(target, path, folder)

    [outcome] = world.reconcile(Forgetful())
    assert outcome.exit_code == WRITE_FAILED
    assert "skills/ways is not there as it was written" in outcome.error


def test_case_u10_a_file_system_without_locks_does_not_stop_a_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", cannot)
    with run_lock(RealSystem(), world.roots):
        pass
    assert "goes on without a lock" in (Path(world.roots.state) / "debug.log").read_text()


def test_a_lock_that_another_run_holds_is_waited_for_and_then_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projection.reconcile.LOCK_SECONDS", 0.05)
    with (
        run_lock(RealSystem(), world.roots),
        pytest.raises(UserError, match="another ways run") as caught,
        run_lock(RealSystem(), world.roots),
    ):
        pass
    assert caught.value.exit_code == WRITE_FAILED


def test_withdrawing_finds_a_target_whose_link_leads_elsewhere_by_now(world: World) -> None:
    (world.home / "old").mkdir()
    world.target().symlink_to("old")
    world.reconcile()
    world.target().unlink()
    (world.home / "new").mkdir()
    world.target().symlink_to("new")
    assert codes(world.withdraw()) == [DONE, DONE]
    assert tree(world.home / "old") == {}
    assert tree(world.home / "new") == {}
