"""Writing the file: links, modes, backups, failures, concurrent writers, crashes."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from projection.claude_settings import backup
from projection.claude_settings.apply import ATTEMPTS
from projection.claude_settings.slices import EMPTY
from projection.system import Crash, CrashingSystem, DryRunSystem, KillingSystem, RealSystem
from tests.unit.projection.claude_settings.helpers import Place, make_place
from ways.core.errors import REFUSED, WRITE_FAILED, UserError

THEIRS = (
    '{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}\n}\n'
)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(str(tmp_path))


def leftovers(place: Place) -> list[str]:
    return [name for name in os.listdir(place.context.target) if name != "settings.json"]


def failure(place: Place, system: RealSystem | None = None) -> UserError:
    with pytest.raises(UserError) as found:
        place.apply(system=system)
    return found.value


def test_a_second_run_changes_nothing_at_all(place: Place) -> None:
    place.write(THEIRS)
    assert place.apply().action == "write"
    before = place.tree()
    again = place.apply()
    assert again.action == "unchanged"
    assert place.tree() == before


def test_a_dry_run_shows_the_diff_and_touches_nothing(place: Place) -> None:
    place.write(THEIRS)
    before = place.tree()
    plan = place.plan(system=DryRunSystem())
    assert plan.action == "write"
    assert '+  "permissions": {' in plan.diff()
    assert plan.diff().startswith(f"--- {place.settings}")
    as_data = json.loads(json.dumps(plan.to_json()))
    assert as_data["action"] == "write"
    assert len(as_data["added"]) == 6
    system = DryRunSystem()
    assert place.apply(system=system).action == "write"
    assert any(step.path == place.settings for step in system.steps)
    assert place.tree() == before


def test_a_missing_file_is_made_private_and_taken_away_again(place: Place) -> None:
    assert place.apply().action == "create"
    assert stat.S_IMODE(os.stat(place.settings).st_mode) == 0o600
    assert place.withdraw().action == "remove"
    assert not os.path.lexists(place.settings)
    assert leftovers(place) == []
    assert "original.absent" in os.listdir(place.backups)


def test_a_missing_target_folder_is_made(place: Place) -> None:
    os.rmdir(place.context.target)
    assert place.apply().action == "create"
    assert place.json()["hooks"]


# Links


def test_links_are_followed_to_the_real_file_and_stay(place: Place) -> None:
    dotfiles = os.path.join(place.home, "dotfiles")
    os.makedirs(os.path.join(dotfiles, "deep"))
    real = os.path.join(dotfiles, "claude.json")
    Path(real).write_text(THEIRS)
    os.symlink("../claude.json", os.path.join(dotfiles, "deep", "second"))
    os.symlink("../dotfiles/deep/second", place.settings)
    place.apply()
    assert os.path.islink(place.settings)
    assert os.path.islink(os.path.join(dotfiles, "deep", "second"))
    assert not os.path.islink(real)
    assert b"check-prompt" in Path(real).read_bytes()
    assert sorted(os.listdir(dotfiles)) == ["claude.json", "deep"]
    place.withdraw()
    assert Path(real).read_text() == THEIRS


def test_a_dangling_link_is_filled_when_its_folder_exists(place: Place) -> None:
    real = os.path.join(place.home, "dotfiles", "claude.json")
    os.symlink(real, place.settings)
    refusal = place.plan().refusal
    assert refusal
    assert refusal.exit_code == REFUSED
    assert "folder does not exist" in refusal.what
    assert failure(place).exit_code == REFUSED
    os.mkdir(os.path.dirname(real))
    place.apply()
    assert os.path.islink(place.settings)
    assert not os.path.islink(real)
    place.withdraw()
    assert os.path.islink(place.settings)
    assert not os.path.exists(real)


def test_a_link_loop_a_folder_and_a_pipe_are_refused(place: Place) -> None:
    os.symlink("settings.json", place.settings)
    assert "back to itself" in failure(place).message
    os.unlink(place.settings)
    os.mkdir(place.settings)
    assert failure(place).exit_code == REFUSED
    os.rmdir(place.settings)
    os.mkfifo(place.settings)
    assert failure(place).exit_code == REFUSED


def test_a_hard_link_is_broken_with_a_warning_that_names_it(place: Place) -> None:
    other = os.path.join(place.home, "other.json")
    Path(other).write_text(THEIRS)
    os.link(other, place.settings)
    assert any(place.settings in line and "hard link" in line for line in place.plan().warnings)
    outcome = place.apply()
    assert any(place.settings in line for line in outcome.warnings)
    assert Path(other).read_text() == THEIRS
    assert b"check-prompt" in place.read()
    assert place.apply().warnings == ()


# Modes and owners


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o664, 0o755, 0o400 | 0o200])
def test_case_s10_the_mode_is_kept_and_the_backup_is_no_wider(place: Place, mode: int) -> None:
    place.write(THEIRS)
    os.chmod(place.settings, mode)
    kept = place.apply().backup
    assert stat.S_IMODE(os.stat(place.settings).st_mode) == mode
    about = stat.S_IMODE(os.stat(kept).st_mode)
    assert about & ~mode == 0
    assert about & 0o077 == 0
    for folder in (os.path.dirname(kept), place.context.store, place.context.locks):
        assert stat.S_IMODE(os.stat(folder).st_mode) & 0o077 == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_is_kept(place: Place) -> None:
    place.write(THEIRS)
    os.chown(place.settings, 1234, 2345)
    place.apply()
    about = os.stat(place.settings)
    assert (about.st_uid, about.st_gid) == (1234, 2345)
    os.unlink(place.settings)
    os.chown(place.context.target, 1234, 2345)
    place.apply()
    about = os.stat(place.settings)
    assert (about.st_uid, about.st_gid) == (1234, 2345)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_is_read_only_is_left_alone(place: Place, what: str) -> None:
    place.write(THEIRS)
    path = place.settings if what == "file" else place.context.target
    mode = 0o444 if what == "file" else 0o555
    os.chmod(path, mode)
    before = place.tree()
    plan = place.plan()
    assert plan.refusal
    assert plan.refusal.exit_code == WRITE_FAILED
    error = failure(place)
    assert error.exit_code == WRITE_FAILED
    assert "read-only" in error.message
    os.chmod(path, mode)
    after = {path: found for path, found in place.tree().items() if not path.endswith(".lock")}
    assert after == before
    os.chmod(path, 0o755)


def test_a_read_only_file_that_needs_nothing_is_no_failure(place: Place) -> None:
    place.write(THEIRS)
    place.apply()
    os.chmod(place.settings, 0o444)
    assert place.apply().action == "unchanged"


# Backups


def test_case_s09_the_original_survives_and_backups_rotate(place: Place) -> None:
    place.write(THEIRS)
    place.apply()
    for number in range(9):
        place.write(json.dumps({"model": "opus", "n": number}))
        place.apply()
    names = sorted(name for name in os.listdir(place.backups) if name.endswith(".json"))
    assert "original.json" in names
    assert len(names) == 1 + backup.ROTATION
    original = os.path.join(place.backups, "original.json")
    assert Path(original).read_text() == THEIRS
    for name in names:
        path = os.path.join(place.backups, name)
        assert backup.intact(RealSystem(), path)
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert Path(path + ".sha256").read_text().split()[0] == digest
    assert not any("backup" in name for name in os.listdir(place.context.target))
    assert len(os.listdir(place.backups)) == 2 * len(names)


def test_a_copy_that_is_kept_already_is_not_taken_again(place: Place) -> None:
    place.write(THEIRS)
    for _ in range(4):
        place.apply()
        place.withdraw()
    names = [name for name in os.listdir(place.backups) if name.endswith(".json")]
    assert len(names) == 2
    assert Path(os.path.join(place.backups, "original.json")).read_text() == THEIRS


# Failures while writing


class Interfering(RealSystem):
    """Another program does something to the file at chosen moments of ours."""

    def __init__(self, moment: str, act: Callable[[], None], times: int = 1) -> None:
        super().__init__()
        self.moment = moment
        self.act = act
        self.times = times

    def _interfere(self, moment: str, path: str) -> None:
        if (
            moment == self.moment
            and self.times
            and os.path.basename(path).lstrip(".").startswith("settings.json")
        ):
            self.times -= 1
            self.act()

    def write_atomic(self, path: str, data: bytes, *args: Any, **more: Any) -> None:
        super().write_atomic(path, data, *args, **more)
        self._interfere("after staging", path)

    def rename(self, source: str, path: str) -> None:
        super().rename(source, path)
        self._interfere("after rename", path)


def add_key(place: Place, key: str) -> None:
    """What Claude Code does: read, change one key, write all."""
    document = place.json()
    document[key] = True
    place.write(json.dumps(document, indent=2))


@pytest.mark.parametrize("moment", ["after staging", "after rename"])
def test_case_s11_a_program_that_writes_meanwhile_loses_nothing(place: Place, moment: str) -> None:
    place.write(THEIRS)
    outcome = place.apply(system=Interfering(moment, lambda: add_key(place, "theirs")))
    document = place.json()
    assert document["theirs"] is True
    assert b"check-prompt" in place.read()
    assert outcome.attempts <= 2
    assert leftovers(place) == []
    assert place.apply().action == "unchanged"
    place.withdraw()
    assert place.json() == {**json.loads(THEIRS), "theirs": True}


def test_case_s11_a_stale_copy_written_over_ours_is_merged_again(place: Place) -> None:
    place.write(THEIRS)
    stale = json.dumps({"model": "haiku"})
    outcome = place.apply(system=Interfering("after rename", lambda: place.write(stale)))
    assert outcome.attempts == 2
    assert place.json()["model"] == "haiku"
    assert b"check-prompt" in place.read()


def test_case_s11_a_file_that_never_rests_is_given_up_unchanged(place: Place) -> None:
    place.write(THEIRS)
    count = iter(range(100))
    system = Interfering("after staging", lambda: add_key(place, f"k{next(count)}"), times=100)
    error = failure(place, system)
    assert error.exit_code == WRITE_FAILED
    assert next(count) == ATTEMPTS
    assert b"check-prompt" not in place.read()
    assert leftovers(place) == []
    place.apply()
    assert place.json()["k4"] is True


def test_a_half_written_file_of_another_program_is_left_to_it(place: Place) -> None:
    place.write(THEIRS)
    error = failure(place, Interfering("after rename", lambda: place.write('{"model": ')))
    assert error.exit_code == REFUSED
    assert place.read() == b'{"model": '


class Lying(RealSystem):
    """A disk that keeps something else than it was given, without saying so."""

    def __init__(self, change: Callable[[str], None], moment: str) -> None:
        super().__init__()
        self.change = change
        self.moment = moment

    def write_atomic(self, path: str, data: bytes, *args: Any, **more: Any) -> None:
        super().write_atomic(path, data, *args, **more)
        if self.moment == "staging" and ".ways-tmp-" in path:
            self.change(path)

    def rename(self, source: str, path: str) -> None:
        if self.moment == "no rename":
            return
        super().rename(source, path)
        if self.moment == "rename":
            self.change(path)


def _lose_the_users_key(path: str) -> None:
    about = os.stat(path)
    document = json.loads(Path(path).read_bytes())
    del document["model"]
    with open(path, "r+") as stream:
        stream.write(json.dumps(document))
        stream.truncate()
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize("moment", ["staging", "rename", "no rename"])
def test_case_s08_what_was_not_written_is_put_back_and_said(place: Place, moment: str) -> None:
    place.write(THEIRS)
    error = failure(place, Lying(_lose_the_users_key, moment))
    assert error.exit_code == WRITE_FAILED
    assert place.read() == THEIRS.encode()
    assert not os.path.exists(os.path.join(place.context.store, "settings-base.json"))
    place.apply()
    place.withdraw()
    assert place.read() == THEIRS.encode()


class Busy(RealSystem):
    """As on Windows while another process reads the file: replacing it fails, for good."""

    def rename(self, source: str, path: str) -> None:
        raise PermissionError(13, "The process cannot access the file", path)


def test_case_s12_a_file_that_cannot_be_replaced_is_left_as_it_was(place: Place) -> None:
    place.write(THEIRS)
    error = failure(place, Busy())
    assert error.exit_code == WRITE_FAILED
    assert place.read() == THEIRS.encode()
    assert leftovers(place) == []
    assert place.apply().action == "write"


class Full(RealSystem):
    def write_atomic(self, path: str, data: bytes, *args: Any, **more: Any) -> None:
        if self.steps and ".ways-tmp-" in path:
            raise OSError(28, "No space left on device", path)
        super().write_atomic(path, data, *args, **more)


def test_a_full_disk_changes_nothing(place: Place) -> None:
    place.write(THEIRS)
    error = failure(place, Full())
    assert "No space left" in error.message
    assert place.read() == THEIRS.encode()


def test_another_run_that_holds_the_lock_costs_exit_5(place: Place) -> None:
    import portalocker

    place.write(THEIRS)
    place.apply()
    (name,) = os.listdir(place.context.locks)
    place.write(THEIRS)
    from projection.claude_settings.apply import apply_settings

    with portalocker.Lock(os.path.join(place.context.locks, name)):
        with pytest.raises(UserError) as found:
            apply_settings(RealSystem(), place.plan(), lock_seconds=0.05)
        assert found.value.exit_code == WRITE_FAILED
    assert place.read() == THEIRS.encode()


# Crashes


def _crash_points(run: Callable[[CrashingSystem], object]) -> int:
    """How many changes a run makes that does not crash."""
    system = CrashingSystem(after=10_000)
    run(system)
    return 10_000 - system._left


@pytest.mark.parametrize("content", [THEIRS, None])
@pytest.mark.parametrize("had", [False, True])
def test_a_crash_after_any_step_is_made_good_by_the_next_run(
    tmp_path: Path, content: str | None, had: bool
) -> None:
    """Also for entries that the user had before, which only the base tells from ours."""
    if content and had:
        content = '{"permissions": {"allow": ["Bash(ways:*)", "x"], "deny": []}}'
    probe = make_place(str(tmp_path), "probe")
    if content:
        probe.write(content)
    apply_points = _crash_points(lambda system: probe.apply(system=system))
    withdraw_points = _crash_points(probe.withdraw)
    assert apply_points > 5
    for phase, points in (("apply", apply_points), ("withdraw", withdraw_points)):
        for after in range(1, points + 1):
            place = make_place(str(tmp_path), f"{phase}-{after}")
            if content:
                place.write(content)
            if phase == "withdraw":
                place.apply()
            wanted = place.ours() if phase == "apply" else EMPTY
            with pytest.raises(Crash):
                place.apply(wanted, CrashingSystem(after))
            if os.path.exists(place.settings):
                place.json()
            place.apply()
            assert place.apply().action == "unchanged"
            assert leftovers(place) == []
            assert not os.path.exists(os.path.join(place.context.store, "settings-pending.json"))
            place.withdraw()
            if content is None:
                assert not os.path.exists(place.settings), (phase, after)
            else:
                assert place.read() == content.encode(), (phase, after)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a child made by fork")
def test_a_kill_at_any_step_is_made_good_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    """SIGKILL: nothing is cleaned up, also not the temporary file that was being written."""
    after, finished = 0, False
    while not finished:
        after += 1
        place = make_place(str(tmp_path), str(after))
        place.write(THEIRS)
        child = os.fork()
        if child == 0:
            try:
                place.apply(system=KillingSystem(after))
            finally:
                os._exit(0)
        finished = not os.WIFSIGNALED(os.waitpid(child, 0)[1])
        assert place.json()["model"] == "opus"
        place.apply()
        assert b"check-prompt" in place.read()
        place.withdraw()
        assert place.read() == THEIRS.encode()
        assert not [path for path in place.tree() if ".ways-tmp-" in path]
    assert after > 10


def test_a_crash_between_write_and_base_then_an_edit_still_knows_what_is_ours(place: Place) -> None:
    place.write('{"permissions": {"allow": ["x"]}}')
    written = False
    for after in range(1, 30):
        with pytest.raises(Crash):
            place.apply(system=CrashingSystem(after))
        if b"ways" in place.read():
            written = True
            break
    assert written
    assert not os.path.exists(os.path.join(place.context.store, "settings-base.json"))
    add_key(place, "theirs")
    place.apply()
    place.withdraw()
    assert place.json() == {"permissions": {"allow": ["x"]}, "theirs": True}


def test_a_damaged_base_and_pending_note_are_survived(place: Place) -> None:
    place.write(THEIRS)
    place.apply()
    written = place.read()
    for name in ("settings-base.json", "settings-pending.json"):
        for damage in (b"", b"\xff\x00", b"[]", b'{"schema": 1}', b'{"base": 3, "after": 4, "before": 5}'):
            Path(os.path.join(place.context.store, name)).write_bytes(damage)
            outcome = place.apply()
            assert place.read() == written
            if name == "settings-base.json":
                assert any("damaged" in line for line in outcome.warnings)
            assert place.apply().warnings == ()
    place.withdraw()
    assert json.loads(place.read()) == json.loads(THEIRS)
