"""One update at a time, and no dead or recycled holder in the way (cases u03, u10)."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from installer import update_lock
from installer.update_lock import Holder, is_alive, process_start
from tests.unit.installer.release_world import World
from ways.core.errors import WRITE_FAILED, UserError

CHECKOUT = Path(__file__).resolve().parents[3]


def locker(world: World) -> subprocess.Popen[str]:
    """Another process inside the lock until its input ends."""
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "from installer.update_lock import update_lock\nfrom ways.core import roots\n"
        "with update_lock(roots.resolve(), 'ways update'):\n"
        "    print('in', flush=True); sys.stdin.read()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "in\n"
    return process


def test_a_second_one_is_told_who_is_at_it(world: World) -> None:
    other = locker(world)
    with (
        pytest.raises(UserError, match=rf"ways update is running \(process {other.pid} ") as caught,
        update_lock.update_lock(world.roots, "ways rollback", wait=0),
    ):
        pass
    assert caught.value.exit_code == WRITE_FAILED
    other.communicate("")
    with update_lock.update_lock(world.roots, "ways rollback", wait=0):
        holder = update_lock.read(world.roots)
        assert holder is not None
        assert (holder.pid, holder.command) == (os.getpid(), "ways rollback")
    assert update_lock.read(world.roots) is None


def test_case_u03_a_killed_holder_is_taken_over(world: World) -> None:
    other = locker(world)
    other.send_signal(signal.SIGKILL)
    other.communicate()
    left = update_lock.read(world.roots)
    assert left is not None and left.pid == other.pid
    assert not is_alive(left)
    with update_lock.update_lock(world.roots, "ways update", wait=0):
        pass


def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)


def write_record(world: World, holder: Holder) -> None:
    path = Path(update_lock.record_path(world.roots))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(holder.__dict__))


def test_case_u10_where_nothing_can_be_locked_the_record_is_the_lock(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_locks(monkeypatch)
    sleeper = subprocess.Popen(["sleep", "60"])
    mine = update_lock.this_process("ways update")
    alive = Holder(sleeper.pid, process_start(sleeper.pid), "ways update", mine.host, "then")
    write_record(world, alive)
    with pytest.raises(UserError, match="ways update is running"), update_lock.update_lock(world.roots, "x"):
        pass
    sleeper.kill()
    sleeper.wait()
    with update_lock.update_lock(world.roots, "x"):
        pass
    assert "goes on with the holder's record only" in Path(world.roots.state, "debug.log").read_text()


def test_case_u03_a_recycled_number_is_not_believed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    no_locks(monkeypatch)
    sleeper = subprocess.Popen(["sleep", "60"])
    mine = update_lock.this_process("ways update")
    write_record(world, Holder(sleeper.pid, "boot:1", "ways update", mine.host, "then"))
    with update_lock.update_lock(world.roots, "x"):
        pass
    sleeper.kill()
    sleeper.wait()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_record_that_makes_no_sense_blocks_nobody(world: World, text: str) -> None:
    path = Path(update_lock.record_path(world.roots))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with update_lock.update_lock(world.roots, "x", wait=0):
        assert update_lock.read(world.roots) is not None


def test_a_start_tells_two_processes_apart(world: World) -> None:
    mine = process_start(os.getpid())
    assert mine and mine == process_start(os.getpid())
    other = subprocess.Popen(["sleep", "60"])
    assert process_start(other.pid) not in {"", mine}
    other.kill()
    other.wait()
    assert process_start(other.pid) == ""
