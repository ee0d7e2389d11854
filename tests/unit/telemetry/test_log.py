"""The event log: what a line looks like, and that no line is lost, torn or interleaved."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.core import files
from ways.core.locking import Lock
from ways.telemetry import folding, lines
from ways.telemetry.compaction import Limits
from ways.telemetry.log import append, event, lock_path
from ways.telemetry.reading import read

REPOSITORY = str(Path(__file__).parents[3])


@pytest.fixture
def log(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "events.jsonl")


def numbers(log: str) -> list[str]:
    return [line["n"] for line in read(log)]


def test_every_value_is_a_string() -> None:
    line = event(
        "way_fired",
        way="a/b",
        token_position=12,
        fire_score=0.123456789,
        anchored=True,
        team=None,
        surface="",
        ways=("a", "b", None),
        bad=float("nan"),
        worse=float("inf"),
        text="a\ud800\0b",
        name="n",
    )
    stamp = line.pop("ts")
    assert len(stamp) == 24 and stamp.endswith("Z")
    assert line == {
        "event": "way_fired",
        "way": "a/b",
        "token_position": "12",
        "fire_score": "0.123457",
        "anchored": "true",
        "surface": "",
        "ways": "a,b",
        "text": "a��b",
        "name": "n",
    }
    assert len(event("x", span="y" * 10**6)["span"]) == 4_000


@given(
    st.dictionaries(
        st.text(), st.none() | st.text() | st.integers() | st.floats() | st.lists(st.text()), max_size=5
    )
)
def test_any_field_makes_a_line_that_can_be_written(fields: dict[str, object]) -> None:
    line = event("x", **fields)
    assert all(isinstance(value, str) for value in line.values())
    json.dumps(line).encode("ascii")


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_the_log_is_private_and_ends_every_line(log: str) -> None:
    assert append(log, [event("a", n="1"), event("b", n="2")])
    assert append(log, [])
    data = Path(log).read_bytes()
    assert data.count(b"\n") == 2 and data.endswith(b"\n") and data.isascii()
    assert stat.S_IMODE(Path(log).stat().st_mode) == 0o600
    assert stat.S_IMODE(Path(log).parent.stat().st_mode) == 0o700


def test_sixteen_processes_lose_tear_and_mix_nothing(log: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.telemetry.log import append, event\n"
        "who = sys.argv[1]\n"
        "for i in range(50):\n"
        f"    batch = [event('x', n=f'{{who}}-{{i}}-{{j}}', pad='p' * (i * 40)) for j in (0, 1)]\n"
        f"    assert append({log!r}, batch, timeout=0.02)\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, str(who)]) for who in range(16)]
    assert [worker.wait(180) for worker in workers] == [0] * 16
    assert append(log, [event("x", n="last")])
    wanted = sorted([f"{who}-{i}-{j}" for who in range(16) for i in range(50) for j in (0, 1)] + ["last"])
    assert sorted(numbers(log)) == wanted
    raw = Path(log).read_bytes().splitlines()
    assert all(json.loads(line)["event"] == "x" for line in raw)
    # Batches stay together and in order, wherever they were written first.
    seen = [json.loads(line)["n"] for line in raw]
    for who in range(16):
        mine = [name for name in seen if name.startswith(f"{who}-")]
        assert all(mine[at + 1] == f"{mine[at][:-1]}1" for at in range(0, 100, 2))


def test_a_held_lock_puts_lines_aside_and_the_next_writer_folds_them(log: str, tmp_path: Path) -> None:
    append(log, [event("x", n="1")])
    with Lock(lock_path(log), 0):
        assert append(log, [event("x", n="2"), event("x", n="3")], timeout=0.01)
        assert append(log, [event("x", n="4")], timeout=0.01)
    aside = os.listdir(folding.folder_of(log))
    assert len(aside) == 2 and all(
        name.startswith(f"{os.getpid()}-") and name.endswith(".jsonl") for name in aside
    )
    assert numbers(log) == ["1", "2", "3", "4"], "a reader sees what was put aside"
    assert append(log, [event("x", n="5")])
    assert os.listdir(folding.folder_of(log)) == []
    assert [json.loads(line)["n"] for line in Path(log).read_bytes().splitlines()] == [
        "1",
        "2",
        "3",
        "4",
        "5",
    ]
    assert "put aside" in (tmp_path / "state" / "debug.log").read_text()


@pytest.mark.parametrize("torn", [b'{"event": "x", "n": "to', b"\x00\x00", b"garbage"])
def test_a_torn_last_line_is_ended_before_appending(log: str, torn: bytes) -> None:
    append(log, [event("x", n="1")])
    with open(log, "ab") as file:
        file.write(torn)
    append(log, [event("x", n="2")])
    assert numbers(log) == ["1", "2"]
    assert Path(log).read_bytes().splitlines()[1] == torn


@pytest.mark.parametrize("appended", ["nothing", "all", "part"])
def test_a_fold_that_was_killed_is_finished_once(log: str, appended: str) -> None:
    append(log, [event("x", n="1")])
    aside = json.dumps({"event": "x", "n": "2"}).encode() + b"\n"
    offset = os.path.getsize(log)
    folder = Path(folding.folder_of(log))
    folder.mkdir()
    (folder / f"77-1.jsonl.folding-{offset}").write_bytes(aside)
    with open(log, "ab") as file:
        file.write({"nothing": b"", "all": aside, "part": aside[:7]}[appended])
    append(log, [event("x", n="3")])
    append(log, [event("x", n="4")])
    assert numbers(log) == ["1", "2", "3", "4"] and os.listdir(folder) == []


def test_a_folding_file_with_a_foreign_name_is_folded_too(log: str) -> None:
    folder = Path(folding.folder_of(log))
    folder.mkdir(parents=True)
    (folder / "1-1.jsonl.folding-x").write_bytes(b'{"event": "x", "n": "1"}')
    (folder / "2-1.jsonl").write_bytes(b'{"event": "x", "n": "2"}')
    (folder / ".3-1.jsonl.ways-tmp-1").write_bytes(b'{"event": "x", "n": "half"}')
    append(log, [event("x", n="3")])
    assert numbers(log) == ["1", "2", "3"]


def test_a_full_disk_leaves_no_torn_line(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    append(log, [event("x", n="1")])
    before = Path(log).read_bytes()
    real = files.write_all

    def full(descriptor: int, data: bytes) -> None:
        real(descriptor, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(lines.files, "write_all", full)
        assert not append(log, [event("x", n="2")])
        assert Path(log).read_bytes() == before
    assert "No space left" in (Path(log).parent / "debug.log").read_text()
    assert append(log, [event("x", n="3")]) and numbers(log) == ["1", "3"]


def test_an_unusable_place_is_false_and_no_exception(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert not append(str(tmp_path / "file" / "events.jsonl"), [event("x")])
    (tmp_path / "events.jsonl").mkdir()
    assert append(str(tmp_path / "events.jsonl"), [event("x", n="1")])
    assert len(os.listdir(tmp_path / "events.d")) == 1


def test_case_u10_a_file_system_that_cannot_lock_puts_lines_aside(
    log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert append(log, [event("x", n="1")])
    assert numbers(log) == ["1"]
    assert "No locks available" in (Path(log).parent / "debug.log").read_text()


def test_a_killed_writer_leaves_whole_lines(log: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.telemetry.log import append, event\n"
        "i = 0\n"
        "while True:\n"
        f"    append({log!r}, [event('x', n=str(i), pad='p' * 2000)]); i += 1\n"
        "    if i == 20: print('going', flush=True)\n"
    )
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as worker:
            assert worker.stdout is not None and worker.stdout.readline() == b"going\n"
            worker.kill()
    append(log, [event("x", n="end")])
    found = numbers(log)
    assert found[-1] == "end" and found.count("0") == 3 and found.count("19") == 3


def test_growth_past_the_limit_compacts_while_appending(log: str) -> None:
    limits = Limits(past=4_000, keep=2_000, growth=1_000)
    for number in range(200):
        assert append(log, [event("judge_call" if number % 50 == 0 else "x", n=number)], limits=limits)
        assert os.path.getsize(log) <= 5_200
    found = numbers(log)
    assert found[-1] == "199" and len(found) < 80
    assert [n for n in found if int(n) % 50 == 0] == ["0", "50", "100", "150"]
