"""The hook's lock and portalocker's lock are one lock (spec: roots and files)."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import portalocker
import pytest

from ways.core.locking import Lock, LockTimeout

WORKER = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, {root!r})
    kind, lock, data, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    if kind == "ours":
        from ways.core.locking import Lock
        make = lambda: Lock(lock, 60)
    else:
        import portalocker
        make = lambda: portalocker.Lock(lock, "a", timeout=60, check_interval=0.004)
    for _ in range(rounds):
        with make():
            with open(data) as file:
                number = int(file.read())
            with open(data, "w") as file:
                file.write(str(number + 1))
    """
)


def start(*arguments: str) -> subprocess.Popen[bytes]:
    code = WORKER.format(root=str(Path(__file__).parents[2]))
    return subprocess.Popen([sys.executable, "-c", code, *arguments])


def test_processes_with_either_lock_never_overlap(tmp_path: Path) -> None:
    lock, data = str(tmp_path / "new" / "x.lock"), tmp_path / "number"
    (tmp_path / "new").mkdir()
    data.write_text("0")
    workers = [start(kind, lock, str(data), "40") for kind in ("ours", "portalocker") * 3]
    assert [worker.wait(120) for worker in workers] == [0] * 6
    assert data.read_text() == "240"


def test_each_sees_the_others_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "deep" / "er" / "x.lock")
    with Lock(path, 0), pytest.raises(portalocker.LockException), portalocker.Lock(path, "a", timeout=0):
        pytest.fail("portalocker had a lock that is ours")
    with portalocker.Lock(path, "a", timeout=0), pytest.raises(LockTimeout) as caught, Lock(path, 0.02):
        pytest.fail("we had a lock that is portalocker's")
    assert caught.value.path == path and "held" in caught.value.why
    with Lock(path, 0):
        assert Path(path).exists()
    assert Path(path).exists()


def test_a_killed_holder_does_not_block_the_next(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    code = (
        f"import sys, time; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        f"from ways.core.locking import Lock\nLock({str(path)!r}, 1).acquire()\n"
        "print('held', flush=True)\ntime.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        with pytest.raises(LockTimeout):
            Lock(str(path), 0).acquire()
        holder.kill()
        holder.wait()
    with Lock(str(path), 5):
        assert path.stat().st_size == 0


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_case_u10_a_file_system_that_cannot_lock_is_a_bounded_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import errno
    import fcntl

    def refuse(_descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(LockTimeout) as caught:
        Lock(str(tmp_path / "x.lock"), 10).acquire()
    assert "No locks available" in caught.value.why


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_case_u10_a_lock_that_stays_held_ends_after_the_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    moments = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(moments)))
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)

    def busy(_descriptor: int, operation: int) -> None:
        raise BlockingIOError

    monkeypatch.setattr(fcntl, "flock", busy)
    with pytest.raises(LockTimeout):
        Lock(str(tmp_path / "x.lock"), 5).acquire()
    assert next(moments) < 20


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_a_failing_unlock_still_frees_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    real = fcntl.flock

    def stubborn(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:
            raise OSError("unlocking fails here")
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", stubborn)
    with Lock(str(tmp_path / "x.lock"), 0):
        pass
    with Lock(str(tmp_path / "x.lock"), 0) as again:
        assert again.path.endswith("x.lock")


def test_a_lock_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "x.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LockTimeout):
        Lock(str(tmp_path / "x.lock"), 0).acquire()
    assert not (tmp_path / "elsewhere").exists()
