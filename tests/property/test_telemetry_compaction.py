"""Compaction keeps the newest lines, every judge_call, whole lines only, and their order."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.core import files
from ways.telemetry import compaction
from ways.telemetry.compaction import Limits, compact, compact_if_due

LINE = st.one_of(
    st.tuples(st.sampled_from(["x", "judge_call"]), st.integers(0, 80)).map(
        lambda pair: json.dumps({"event": pair[0], "pad": "p" * pair[1]}).encode()
    ),
    st.sampled_from([b"", b"torn {", b'{"event": "judge_call"', b'{"event": "x", "say": "judge_call"}']),
)


def is_call(line: bytes) -> bool:
    try:
        document = json.loads(line)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("event") == "judge_call"


@settings(max_examples=200, deadline=None)
@given(st.lists(LINE, max_size=40), st.integers(0, 3_000), st.booleans())
def test_compaction(lines: list[bytes], keep: int, ended: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ended and lines else b"")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        path.write_bytes(data)
        size = compact(str(path), keep)
        after = path.read_bytes()
        assert os.listdir(folder) == ["events.jsonl"]
    assert size == len(after)
    tail_length = 0
    while tail_length <= min(keep, len(data)) and after.endswith(data[len(data) - tail_length :]):
        tail_length += 1
    tail_length -= 1
    # The longest common end reaches back to a line's beginning, and not one more line would have fitted.
    start = len(data) - tail_length
    while start > 0 and start < len(data) and data[start - 1 : start] != b"\n":
        start += 1
    kept = data[start:]
    assert len(kept) <= keep or not data
    earlier = data[:start].rfind(b"\n", 0, max(0, start - 1)) + 1
    assert start == 0 or len(data) - earlier > keep
    carried = after[: len(after) - len(kept)]
    assert carried == b"".join(line + b"\n" for line in data[:start].split(b"\n") if is_call(line))


def fill(path: Path, count: int, name: str = "x", start: int = 0) -> int:
    with path.open("ab") as file:
        for number in range(start, start + count):
            file.write(json.dumps({"event": name, "n": f"{number:06d}"}).encode() + b"\n")
    return path.stat().st_size


def test_nothing_happens_below_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    size = fill(path, 100)
    assert not compact_if_due(str(path), size, Limits(past=size, keep=100, growth=100))
    assert path.stat().st_size == size


def test_calls_that_free_too_little_wait_for_growth(tmp_path: Path) -> None:
    path, limits = tmp_path / "events.jsonl", Limits(past=4_000, keep=3_000, growth=1_000)
    size = fill(path, 200, "judge_call")
    assert compact_if_due(str(path), size, limits)
    after = path.stat().st_size
    assert after == size, "every line is carried"
    assert not compact_if_due(str(path), after + limits.growth, limits)
    size = fill(path, 60, start=200)
    assert size > after + limits.growth
    assert compact_if_due(str(path), size, limits)
    assert path.read_bytes().count(b"judge_call") == 200


def test_a_new_log_forgets_the_old_ones_size(tmp_path: Path) -> None:
    path, limits = tmp_path / "events.jsonl", Limits(past=1_000, keep=500, growth=100_000)
    assert compact_if_due(str(path), fill(path, 500, "judge_call"), limits)
    path.unlink()
    assert compact_if_due(str(path), fill(path, 100), limits)
    assert path.stat().st_size <= 500


@pytest.mark.parametrize("damage", [b"", b"x", b"-5", b"\xff"])
def test_a_damaged_record_of_the_last_size_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "events.jsonl"
    (tmp_path / "events.jsonl.compacted").write_bytes(damage)
    assert compact_if_due(str(path), fill(path, 100), Limits(past=1_000, keep=500, growth=100))


def test_a_log_that_cannot_be_replaced_is_unchanged_and_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, limits = tmp_path / "events.jsonl", Limits(past=1_000, keep=500, growth=10_000)
    size = fill(path, 100)
    before = path.read_bytes()
    real = files.replace

    def refuse(source: str, target: str) -> None:
        if target.endswith(".jsonl"):
            raise PermissionError("in use")
        real(source, target)

    monkeypatch.setattr(compaction.files, "replace", refuse)
    with pytest.raises(PermissionError):
        compact_if_due(str(path), size, limits)
    assert path.read_bytes() == before
    assert not compact_if_due(str(path), size + 10, limits)
    assert sorted(os.listdir(tmp_path)) == ["events.jsonl", "events.jsonl.compacted"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_linked_log_stays_a_link_and_left_overs_are_swept(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    real, link = tmp_path / "disk" / "events.jsonl", tmp_path / "events.jsonl"
    link.symlink_to(real)
    (tmp_path / "disk" / ".events.jsonl.ways-tmp-1-1-1").write_bytes(b"left by a kill")
    fill(real, 100)
    compact(str(link), 500)
    assert link.is_symlink() and real.stat().st_size <= 500
    assert os.listdir(tmp_path / "disk") == ["events.jsonl"]


def test_a_line_longer_than_a_block_is_cut_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"a\n" + b"x" * 700_000 + b"\nlast\n")
    compact(str(path), 600_000)
    assert path.read_bytes() == b"last\n"
    compact(str(path), 2)
    assert path.read_bytes() == b""
