"""`ways update` from end to end inside one process, with real programs, archives and signatures."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from installer import journal, recovery, update, versions
from installer.switching import Finished
from projection.system import DryRunSystem, KillingSystem, RealSystem
from tests.unit.installer.conftest import enter
from tests.unit.installer.release_world import Releases, World, serving
from tests.unit.projection.world import tree
from ways.core.errors import OVERRIDDEN, REFUSED, UNVERIFIED, WRITE_FAILED, UserError

CHECKOUT = Path(__file__).resolve().parents[3]


def test_an_update_and_nothing_more_to_do(world: World) -> None:
    done = world.update()
    assert done == Finished("1.1.0")
    assert (world.launched(), world.pointed("current"), world.pointed("previous")) == (
        "1.1.0",
        "1.1.0",
        "1.0.0",
    )
    assert world.names() == ["1.0.0", "1.1.0"]
    assert not recovery.is_needed(world.roots)
    assert os.listdir(update.downloads_folder(world.roots)) == []
    before = tree(world.app)
    again = world.update()
    assert "is the newest release and is installed" in again.notes[0]
    assert tree(world.app) == before
    receipt = json.loads(Path(world.roots.state, "receipt.json").read_text())
    assert [row["after"] for row in receipt["history"]] == ["1.1.0"]


def served(world: World) -> None:
    """A config directory is listed as a target: without one an update has nothing to bring up to date."""
    os.makedirs(world.roots.config, exist_ok=True)
    Path(world.roots.config, "config.yaml").write_text(f"targets:\n  - path: {world.home}/.claude\n")


def test_the_new_program_reconciles_after_the_switch(world: World) -> None:
    served(world)
    world.releases.log.unlink(missing_ok=True)
    world.update()
    asked = world.releases.log.read_text().splitlines()
    assert asked[-3:-1] == ["1.1.0 reconcile --json", "1.1.0 corpus --if-stale --quiet"] or asked[-2:] == [
        "1.1.0 reconcile --json",
        "1.1.0 corpus --if-stale --quiet",
    ]
    assert asked.index("1.1.0 doctor --offline --json") < asked.index("1.1.0 reconcile --json")


def test_older_versions_go_and_the_two_newest_stay(base: Path, fresh: Releases, monkeypatch: Any) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    home.update()
    fresh.add("1.2.0")
    home.update()
    assert home.names() == ["1.1.0", "1.2.0"]
    assert home.pointed("previous") == "1.1.0"


def test_registered_adapters_of_the_old_version_still_resolve(world: World) -> None:
    world.update()
    assert os.access(world.app / "hooks/ways/only-1.0.0.sh", os.X_OK)
    assert os.access(world.app / "hooks/ways/only-1.1.0.sh", os.X_OK)


def test_case_s19_a_plan_writes_nothing_and_asks_for_metadata_only(world: World) -> None:
    before = tree(world.home)
    with serving(world.releases.repository) as server:
        system = DryRunSystem()
        found = update.available(world.roots, server.base, world.releases.root, keep=False)
        plan = update.plan(system, world.roots, update.Wish(), found)
        assert plan.release is not None and plan.release.version == "1.1.0"
        assert any("unpack" in line for line in plan.lines(world.roots))
        assert all(name.startswith("metadata/") for name in server.asked)
    assert system.steps == []
    assert tree(world.home) == before


# What is refused


def test_never_downgrades_unless_asked(world: World) -> None:
    world.update()
    with pytest.raises(UserError, match=r"1\.0\.0 is older than the installed 1\.1\.0") as caught:
        world.update(version="1.0.0")
    assert caught.value.exit_code == REFUSED
    assert caught.value.next_command == "ways update --version 1.0.0 --allow-downgrade"
    assert world.update(version="1.0.0", allow_downgrade=True).version == "1.0.0"
    assert (world.launched(), world.pointed("previous")) == ("1.0.0", "1.1.0")


def test_a_newer_installed_version_is_left(world: World) -> None:
    world.releases.build("2.0.0")
    world.install("2.0.0")
    assert "newer than the release" in world.update().notes[0]
    assert world.launched() == "2.0.0"


def test_a_version_that_is_not_there(world: World) -> None:
    with pytest.raises(UserError, match=r"there is no release 7\.7\.7 .* there are 1\.1\.0, 1\.0\.0"):
        world.update(version="7.7.7")


def test_channels(base: Path, fresh: Releases, monkeypatch: Any) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    fresh.add("1.2.0-rc.1")
    assert home.update().version == "1.1.0"
    assert home.update(channel="beta").version == "1.2.0-rc.1"
    assert "newer than the release 1.1.0" in home.update().notes[0]


def test_a_development_build_is_not_replaced_by_itself(world: World) -> None:
    (world.app / "versions/1.0.0/release.json").write_text('{"version": "1.0.0", "build": "source"}')
    with pytest.raises(UserError, match="development build") as caught:
        world.update()
    assert (caught.value.exit_code, caught.value.next_command) == (REFUSED, "ways update --force")
    assert world.update(force=True).version == "1.1.0"


def test_a_package_managers_installation_is_the_managers(world: World) -> None:
    marker = world.app / "versions/1.0.0" / update.MARKER
    marker.write_text('{"manager": "Homebrew", "update": "brew upgrade ways"}')
    with pytest.raises(UserError, match="kept up to date by Homebrew") as caught:
        world.update()
    assert caught.value.next_command == "brew upgrade ways"
    marker.write_text("damaged")
    with pytest.raises(UserError, match="kept up to date by a package manager"):
        world.update()


def test_without_a_base_nothing_can_be_asked(world: World) -> None:
    with pytest.raises(UserError, match="no release base is known"):
        world.update(base="")
    environ = {**world.environ, update.BASE_VARIABLE: world.releases.served}
    assert update.run(RealSystem(), world.roots, update.Wish(), environ).version == "1.1.0"


# Programs that do not work


def refused_update(world: World, version: str, match: str) -> None:
    before = {name: what for name, what in tree(world.app).items() if ".in-use" not in name}
    with pytest.raises(UserError, match=match):
        world.update(version=version)
    assert {name: what for name, what in tree(world.app).items() if ".in-use" not in name} == before
    assert world.launched() == "1.0.0"
    assert not recovery.is_needed(world.roots)


BROKEN = {
    "crashes at start": ("#!/bin/sh\nkill -SEGV $$\n", "ended by signal 11"),
    "a missing library": ("#!/bin/sh\necho 'libx.so: not found' >&2\nexit 127\n", "libx.so"),
    "no program": ("", "Exec format error|does not tell|cannot be started"),
    "tells another version": ('#!/bin/sh\necho \'{"version": "9"}\'\n', "reports the version 9"),
    "cannot set itself up": (
        '#!/bin/sh\ncase $1 in --version) echo \'{"version": "2.0.0"}\' ;; *) echo broken >&2; exit 5 ;; '
        "esac\n",
        "cannot set itself up in an empty home: broken",
    ),
    "its doctor crashes": (
        '#!/bin/sh\ncase $1 in --version) echo \'{"version": "2.0.0"}\' ;; doctor) exit 1 ;; esac\n',
        "its doctor does not work",
    ),
    "its hooks fail": (
        '#!/bin/sh\ncase $1 in --version) echo \'{"version": "2.0.0"}\' ;; doctor) '
        'echo \'{"findings": [{"subject": "hook Stop", "state": "fault", "message": "it failed"}]}\' ;; '
        "esac\n",
        "its doctor finds: it failed",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_case_u04_a_version_that_does_not_work_never_becomes_current(
    base: Path, fresh: Releases, monkeypatch: Any, name: str
) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    program, match = BROKEN[name]
    fresh.publish(fresh.build("2.0.0", broken=program or "\n"))
    refused_update(home, "2.0.0", match)


def test_case_u01_what_works_staged_and_not_launched_is_taken_back(
    base: Path, fresh: Releases, monkeypatch: Any
) -> None:
    """Nothing is called updated unless the launched path reports the new version."""
    home = World(base, fresh)
    enter(home, monkeypatch)
    staged_only = 'case $0 in */versions/.*) ;; *) echo "not from here" >&2; exit 1 ;; esac'
    fresh.publish(fresh.build("2.0.0", first=staged_only.replace("*/versions/.*", "*/.probe-*|*/.staging-*")))
    with pytest.raises(UserError, match=r"did not work: not from here; 1\.0\.0 is active again"):
        home.update(version="2.0.0")
    assert (home.launched(), home.pointed("previous")) == ("1.0.0", "")
    assert not recovery.is_needed(home.roots)


def test_case_u01_another_ways_first_on_the_path_is_told(world: World, tmp_path: Path) -> None:
    other = tmp_path / "bin"
    other.mkdir()
    (other / "ways").write_text('#!/bin/sh\necho \'{"version": "0.9.0"}\'\n')
    (other / "ways").chmod(0o755)
    world.environ["PATH"] = f"{other}:{world.environ['PATH']}"
    done = world.update()
    assert done.exit_code == OVERRIDDEN
    assert f"`ways` starts {other}/ways, which reports 0.9.0" in done.problems[0]
    (other / "ways").unlink()
    (other / "ways").symlink_to(world.app / "bin/ways")
    assert world.update(version="1.0.0", allow_downgrade=True).exit_code == 0


def test_a_fault_after_the_switch_is_its_own_and_undoes_nothing(
    base: Path, fresh: Releases, monkeypatch: Any
) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    served(home)
    answer = '{"targets": [{"refusals": ["x is yours"]}]}'
    refusing = f"case \"$*\" in 'reconcile --json') echo '{answer}'; exit 3 ;; esac"
    fresh.publish(fresh.build("2.0.0", first=refusing))
    done = home.update(version="2.0.0")
    assert (done.version, done.exit_code) == ("2.0.0", 3)
    assert "x is yours" in done.problems[0] and "ways reconcile" in done.problems[0]
    assert home.launched() == "2.0.0"
    assert not recovery.is_needed(home.roots)


# Archives that are not what was signed


@pytest.mark.parametrize("how", ["longer", "truncated", "another", "missing"])
def test_case_u09_an_archive_that_was_tampered_with(
    base: Path, fresh: Releases, monkeypatch: Any, how: str
) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    place = next((fresh.repository / "targets").glob("*ways-1.1.0-*"))
    data = place.read_bytes()
    if how == "missing":
        place.unlink()
    else:
        place.write_bytes({"longer": data + b"x", "truncated": data[:-10], "another": b"x" * len(data)}[how])
    with pytest.raises(UserError) as caught:
        home.update()
    assert caught.value.exit_code == UNVERIFIED
    assert (home.launched(), home.names()) == ("1.0.0", ["1.0.0"])


def test_a_signed_archive_with_a_hole_in_it_is_not_put_in_place(
    base: Path, fresh: Releases, monkeypatch: Any
) -> None:
    from build import archive as packing

    home = World(base, fresh)
    enter(home, monkeypatch)
    place = fresh.build("2.0.0")
    (fresh.folder / "build/2.0.0/bin/ways").write_bytes(b"")
    packing.pack(fresh.folder / "build/2.0.0", place, "ways-2.0.0", 1_700_000_000)
    fresh.publish(place)
    refused_update(home, "2.0.0", "is not whole: .*bin/ways is not as it was shipped")


def test_repairing_the_installed_version(world: World) -> None:
    skill = world.app / "versions/1.0.0/skills/ways/SKILL.md"
    program = world.app / "versions/1.0.0/bin/ways"
    skill.write_text("changed")
    program.unlink()
    shutil.rmtree(world.app / "versions/1.0.0/agents")
    assert world.update(version="1.0.0").notes == ("1.0.0 was repaired",)
    assert versions.damage(RealSystem(), str(world.app / "versions/1.0.0")) == ""
    assert (world.launched(), world.names()) == ("1.0.0", ["1.0.0"])
    assert not recovery.is_needed(world.roots)


def test_a_damaged_folder_of_the_new_version_is_replaced(world: World) -> None:
    left = world.app / "versions/1.1.0"
    left.mkdir()
    (left / "bin").mkdir()
    (left / "bin/ways").write_bytes(b"")
    assert world.update().version == "1.1.0"
    assert world.launched() == "1.1.0"


# Deaths


def killed(act: Any, after: int) -> bool:
    """Run `act` with a system that dies by SIGKILL after that many changes; False when it got through."""
    child = os.fork()
    if child == 0:
        try:
            os.fsync = lambda fd: None  # a killed process needs no flushed disk
            os.sync = lambda: None
            act(KillingSystem(after))
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
def test_case_u02_killed_at_every_step(base: Path, releases: Releases, monkeypatch: Any) -> None:
    after, alive, steps = 0, False, set()
    while not alive:
        after += 1
        home = World(base, releases)
        enter(home, monkeypatch)
        alive = not killed(home.update, after)
        # Whatever it was doing: there is a program, it is one of the two, and it is whole.
        launched = home.launched()
        assert launched in {"1.0.0", "1.1.0"}, after
        assert versions.damage(RealSystem(), os.path.realpath(home.app / "current")) == "", after
        entry = journal.load(RealSystem(), home.roots)
        steps.add(entry.step if entry is not None else "")
        told = recovery.recover(RealSystem(), home.roots, home.environ)
        assert (told != "") == (entry is not None), after
        assert not recovery.is_needed(home.roots)
        assert home.launched() == ("1.1.0" if "finished" in told or alive else launched), after
        assert not [name for name in home.names() if name.startswith(".")], after
        assert set(home.names()) == {"1.0.0", home.launched()}, after
        assert home.pointed("previous") == ("1.0.0" if home.launched() == "1.1.0" else ""), after
        # And the next update comes to the same end.
        assert home.update().version == "1.1.0"
        assert (home.launched(), home.names()) == ("1.1.0", ["1.0.0", "1.1.0"]), after
    every = {journal.STAGE, journal.PROBE, journal.PLACE, journal.SWITCH, journal.CONFIRM}
    assert steps >= every | {journal.RECONCILE, journal.CLEAN}
    assert after > 30


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_case_u02_killed_in_mid_download_and_resumed(world: World) -> None:
    code = f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n" + (
        "import os\nfrom installer import update\nfrom projection.system import RealSystem\n"
        "from ways.core import roots\n"
        "update.run(RealSystem(), roots.resolve(), update.Wish(base=sys.argv[1]), os.environ)\n"
    )
    with serving(world.releases.repository) as server:
        server.stall[".tar.gz"] = 200
        child = subprocess.Popen([sys.executable, "-c", code, server.base])
        assert server.stalled.wait(60)
        folder = Path(update.downloads_folder(world.roots))
        while not any(path.stat().st_size for path in folder.glob("*")) and child.poll() is None:
            time.sleep(0.02)
            if not any(folder.glob("*")):
                continue
            break
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert (world.launched(), world.names()) == ("1.0.0", ["1.0.0"])
        server.stall.clear()
        assert world.update(base=server.base).version == "1.1.0"
    assert world.launched() == "1.1.0"


def test_case_u04_recovery_goes_back_from_a_version_that_does_not_start(world: World) -> None:
    """Killed between the switch and its confirmation, and the new version is broken there."""
    world.install("1.1.0")
    entry = journal.begin(journal.UPDATE, "1.0.0", "1.1.0", "")
    journal.write(RealSystem(), world.roots, entry, journal.CONFIRM)
    versions.point(RealSystem(), world.roots, "previous", "1.0.0")
    (world.app / "versions/1.1.0/bin/ways").write_text("#!/bin/sh\nexit 3\n")
    told = recovery.recover(RealSystem(), world.roots, world.environ)
    assert "was undone, because it does not work" in told
    assert (world.launched(), world.names(), world.pointed("previous")) == ("1.0.0", ["1.0.0"], "")


@pytest.mark.parametrize("text", ["", "{", '{"schema": 99}', '{"schema": 1, "step": "x"}'])
def test_a_journal_that_makes_no_sense_blocks_nobody(world: World, text: str) -> None:
    Path(world.roots.state).mkdir(parents=True, exist_ok=True)
    Path(journal.path(world.roots)).write_text(text)
    assert recovery.recover(RealSystem(), world.roots, world.environ) == ""
    assert not recovery.is_needed(world.roots)
    assert world.update().version == "1.1.0"


# Disks


def mounted(place: Path, options: str) -> bool:
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    return done.returncode == 0


def test_case_u02_a_full_disk_leaves_the_old_version(
    tmp_path: Path, fresh: Releases, monkeypatch: Any
) -> None:
    """Too little room by the list, and too little although the list says there is enough."""
    if os.name == "nt" or os.geteuid() != 0 or not mounted(tmp_path / "small", "size=3m"):
        pytest.skip("needs the right to mount a tmpfs")
    try:
        home = World(tmp_path / "small", fresh)
        enter(home, monkeypatch)
        noise = "".join(chr(33 + byte % 90) for byte in os.urandom(4_000_000))
        fresh.publish(fresh.build("2.0.0", **{"lib/large": noise}))
        with pytest.raises(UserError, match="MB free, and this update needs") as caught:
            home.update()
        assert caught.value.exit_code == WRITE_FAILED
        assert (home.launched(), home.names()) == ("1.0.0", ["1.0.0"])
        monkeypatch.setattr(update, "_check_space", lambda *_: None)
        for _ in range(2):  # the download does not fit, and is not half kept
            with pytest.raises(UserError, match="No space left") as caught:
                home.update()
            assert caught.value.exit_code == WRITE_FAILED
            assert (home.launched(), home.names()) == ("1.0.0", ["1.0.0"])
        # The download fits (elsewhere), what is in it does not.
        cache = tmp_path / "cache"
        monkeypatch.setattr(update, "downloads_folder", lambda _: str(cache))
        with pytest.raises(UserError, match="No space left"):
            home.update()
        assert (home.launched(), home.names()) == ("1.0.0", ["1.0.0"])
        assert not recovery.is_needed(home.roots)
        assert home.update(version="1.1.0").version == "1.1.0"
        assert home.launched() == "1.1.0"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "small")], check=False)


def test_case_u05_a_temporary_folder_that_runs_nothing(
    world: World, tmp_path: Path, monkeypatch: Any
) -> None:
    if os.name == "nt" or os.geteuid() != 0 or not mounted(tmp_path / "noexec", "size=1m,noexec"):
        pytest.skip("needs the right to mount a tmpfs")
    try:
        monkeypatch.setenv("TMPDIR", str(tmp_path / "noexec"))
        monkeypatch.setattr("tempfile.tempdir", None)
        assert world.update().version == "1.1.0"
        assert world.launched() == "1.1.0"
    finally:
        subprocess.run(["umount", "-l", str(tmp_path / "noexec")], check=False)
        monkeypatch.setattr("tempfile.tempdir", None)


# Hooks while it happens


def test_two_hundred_hooks_across_the_switches_all_succeed(
    base: Path, fresh: Releases, monkeypatch: Any
) -> None:
    """Each reads a second file of its version some time after it has started."""
    home = World(base, fresh)
    enter(home, monkeypatch)
    fresh.add("1.2.0", "1.3.0")
    outcomes: list[tuple[int, str]] = []
    stop = threading.Event()

    def hooks() -> None:
        while not stop.is_set() or len(outcomes) < 200:
            done = subprocess.run(
                [home.app / "bin/ways", "hook", "prompt"],
                input="{}",
                capture_output=True,
                text=True,
                check=False,
            )
            outcomes.append((done.returncode, done.stdout.strip() or done.stderr))

    threads = [threading.Thread(target=hooks) for _ in range(3)]
    for thread in threads:
        thread.start()
    for version in ("1.1.0", "1.2.0", "1.3.0"):
        assert home.update(version=version).version == version
    home.update(version="1.2.0", allow_downgrade=True)
    stop.set()
    for thread in threads:
        thread.join()
    assert len(outcomes) >= 200
    wrong = [one for one in outcomes if one[0] != 0 or one[1] not in {"1.0.0", "1.1.0", "1.2.0", "1.3.0"}]
    assert wrong == []
    assert len({version for _, version in outcomes}) >= 2
