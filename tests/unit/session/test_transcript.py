"""Reading transcripts from their end."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.unit.session import rows
from ways.matching.envelopes import ENVELOPES, is_envelope
from ways.session import transcript
from ways.session.backwards import MAX_LINE
from ways.session.transcript import Queue, Transcript, locate, read


def never(_text: str) -> bool:
    return False


def envelopes(text: str) -> bool:
    return text.lstrip().startswith("<task-notification")


def test_position_and_model_are_the_newest_assistant_rows(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl",
        rows.assistant("a", 100, "claude-opus-5"),
        rows.assistant("b", 54_321),
        rows.user("hi"),
    )
    found = read(path)
    assert (found.position, found.model) == (54_321, "claude-sonnet-5")
    assert found.size == os.stat(path).st_size and found.inode == os.stat(path).st_ino


def test_case_h06_the_position_is_tokens_and_not_bytes(tmp_path: Path) -> None:
    big = rows.result("x" * 900_000)
    path = rows.write(tmp_path / "t.jsonl", rows.assistant("a", 112_000), big, big, big)
    assert read(path).position == 112_000


NEWER_ROWS: list[Any] = [
    rows.assistant("No response requested.", 0, "<synthetic>"),
    rows.assistant("API Error", 500, isApiErrorMessage=True),
    rows.assistant("x", 0),
    rows.assistant("side", 777, isSidechain=True),
    rows.user("[Request interrupted by user]"),
    rows.attachment(),
    {"type": "system", "subtype": "local_command", "content": "-"},
    {"type": "summary", "summary": "usage"},
    {"type": "file-history-snapshot", "snapshot": {"timestamp": "x", "usage": 5}},
    "-",
    5,
    None,
    [],
    {},
    {"type": "assistant"},
    {"type": "assistant", "message": "usage"},
    {
        "type": "assistant",
        "message": {"usage": {"input_tokens": "9", "cache_read_input_tokens": -4}, "model": 5},
    },
    {"type": "assistant", "message": {"usage": [1], "content": 5}},
]


@pytest.mark.parametrize("row", NEWER_ROWS)
def test_case_h07_a_newest_row_of_another_kind_is_walked_past(tmp_path: Path, row: Any) -> None:
    found = read(rows.write(tmp_path / "t.jsonl", rows.assistant("a", 4_000), row))
    assert (found.position, found.model) == (4_000, "claude-sonnet-5")


def test_case_h07_lines_that_are_no_json_are_walked_past(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    good = rows.encode(rows.assistant("a\u2028b\u0085c", 4_000))
    for tail in (
        b'{"type":"assistant","message":{"usage":{"inp',
        b"\xff\xfe\n",
        b"-\n\n\n",
        b'"usage"\r\n',
        b"\0" * 50,
        b"[" * 9000,
    ):
        path.write_bytes(good + tail)
        assert read(str(path)).position == 4_000
        assert read(str(path)).prose == "a\u2028b\u0085c"


def test_a_complete_last_line_without_a_newline_counts(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(rows.encode(rows.assistant("a", 1), rows.assistant("b", 2))[:-1])
    assert read(str(path)).position == 2


@pytest.mark.parametrize(("post", "expected"), [(20_000, 20_000), (None, 0), (0, 0), ("x", 0)])
def test_a_newer_compact_boundary_gives_the_position(tmp_path: Path, post: Any, expected: int) -> None:
    older, newer = rows.assistant("a", 150_000, "claude-opus-4-5"), rows.assistant("b", 30_000)
    summary = rows.user("summary", isCompactSummary=True)
    path = rows.write(tmp_path / "t.jsonl", older, rows.boundary(post), summary)
    assert (read(path).position, read(path).model) == (expected, "claude-opus-4-5")
    path = rows.write(tmp_path / "t.jsonl", older, rows.boundary(post), summary, newer)
    assert (read(path).position, read(path).model) == (30_000, "claude-sonnet-5")


def test_a_side_chain_counts_only_in_a_subagents_own_file(tmp_path: Path) -> None:
    side = rows.assistant("side", 777, "claude-haiku-4-5", isSidechain=True)
    path = rows.write(tmp_path / "t.jsonl", rows.user("task", isSidechain=True), side)
    assert (read(path).position, read(path).prose) == (0, "")
    own = read(path, sidechain=True)
    assert (own.position, own.model, own.prose) == (777, "claude-haiku-4-5", "side")


def test_prose_is_claudes_text_since_the_last_human_turn(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl",
        rows.assistant("too old", 1),
        rows.user("do it"),
        rows.assistant("First — then.", 2),
        rows.assistant("", 2),
        rows.result(),
        rows.user([{"type": "text", "text": "meta"}], isMeta=True),
        rows.user("summary", isCompactSummary=True),
        {"type": "user", "message": {"content": [{"type": "text", "text": "x"}]}, "toolUseResult": {"a": 1}},
        rows.assistant("side", 5, isSidechain=True),
        rows.assistant("No response requested.", 0, "<synthetic>"),
        rows.assistant("Second \ud83d.".encode("utf-8", "replace").decode(), 3),
    )
    assert read(path).prose == "First — then.\n\nSecond ?."
    assert read(path, prose=False).prose == ""
    assert read(path, prose=False).position == 3


@pytest.mark.parametrize("content", ["hello", [{"type": "text", "text": "hello"}], [{"type": "image"}]])
def test_a_human_turn_ends_the_prose(tmp_path: Path, content: Any) -> None:
    path = rows.write(tmp_path / "t.jsonl", rows.assistant("old", 1), rows.user(content), rows.attachment())
    assert read(path).prose == ""


def test_prose_comes_from_the_last_64_kib_only(tmp_path: Path) -> None:
    blocks = [rows.assistant(f"{number} " + "x" * 1_000, 5) for number in range(100)]
    prose = read(rows.write(tmp_path / "t.jsonl", rows.user("go"), *blocks)).prose
    assert prose.split("\n\n")[-1].startswith("99 ")
    assert 40_000 < len(prose) <= transcript.PROSE_BYTES


def queued(path: str, mark: str | None, **more: Any) -> Transcript:
    return read(path, queue=Queue(mark, more.pop("is_envelope", never), **more))


def test_case_h16_three_enqueues_are_one_list_newer_than_the_mark(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl",
        rows.enqueue("before the mark", 100),
        rows.assistant("a", 5, at=110),
        rows.enqueue("one — ", 120),
        rows.result("x", 121),
        rows.enqueue(
            [{"type": "text", "text": "two"}, {"type": "image"}, {"type": "text", "text": "more"}], 122
        ),
        {"type": "queue-operation", "operation": "dequeue", "timestamp": rows.stamp(123)},
        rows.enqueue("three", 124, origin={"kind": "human"}),
        rows.assistant("b", 6, at=125),
    )
    found = queued(path, rows.stamp(100))
    assert found.messages == ("one — ", "two\nmore", "three")
    assert found.mark == rows.stamp(124) and found.newest == rows.stamp(125)
    again = queued(path, found.mark)
    assert (again.messages, again.mark) == ((), "")


def test_case_h16_a_first_hook_gets_only_the_newest_time(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl", rows.enqueue("old", 5), rows.assistant("a", 5, at=9), {"type": "x"}
    )
    for mark in (None, "", "nonsense"):
        found = queued(path, mark)
        assert (found.messages, found.mark, found.newest) == ((), "", rows.stamp(9))


def test_case_h17_envelopes_and_foreign_origins_are_no_messages(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl",
        rows.enqueue("  <task-notification>x", 10),
        rows.enqueue("from a peer", 11, origin={"kind": "peer"}),
        rows.enqueue("", 12),
        rows.enqueue([], 13),
        rows.enqueue({"text": "x"}, 14),
        {"type": "queue-operation", "operation": "enqueue", "content": "no time"},
        {"type": "queue-operation", "operation": "enqueue", "content": "bad time", "timestamp": 5},
        rows.enqueue("mine", 15, origin={"kind": None}),
    )
    found = queued(path, rows.stamp(1), is_envelope=envelopes)
    assert found.messages == ("mine",) and found.mark == rows.stamp(15)


@pytest.mark.parametrize("beginning", ENVELOPES)
def test_case_h17_the_matchers_own_list_is_what_the_lane_passes(tmp_path: Path, beginning: str) -> None:
    rows_ = (rows.enqueue(f" {beginning} x", 10), rows.enqueue(f"about {beginning}", 11))
    found = queued(rows.write(tmp_path / "t.jsonl", *rows_), rows.stamp(1), is_envelope=is_envelope)
    assert found.messages == (f"about {beginning}",)


def test_rows_a_little_out_of_order_are_found(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl", rows.enqueue("x", 1000), rows.assistant("a", 1, at=980), rows.result("y", 1001)
    )
    assert queued(path, rows.stamp(999)).messages == ("x",)


def test_the_search_ends_at_rows_much_older_than_the_mark(tmp_path: Path) -> None:
    old = [rows.result("x" * 3000, 10) for _ in range(2000)]
    path = rows.write(tmp_path / "t.jsonl", *old, rows.assistant("a", 1, at=5000), rows.enqueue("x", 5001))
    found = queued(path, rows.stamp(4999))
    assert found.messages == ("x",) and found.bytes_read <= 64 * 1024


def test_rows_scanned_before_are_not_read_again(tmp_path: Path) -> None:
    path = rows.write(
        tmp_path / "t.jsonl", rows.enqueue("x", 100), *[rows.result("y" * 9000, 100) for _ in range(400)]
    )
    with open(path, "ab") as file:
        file.write(rows.encode(rows.assistant("a", 1, at=101)))
    whole = queued(path, rows.stamp(99))
    assert whole.messages == ("x",) and whole.bytes_read == whole.size
    inode = os.stat(path).st_ino
    again = queued(path, rows.stamp(99), scanned=(inode, whole.size))
    assert again.messages == () and again.bytes_read <= 64 * 1024
    assert queued(path, rows.stamp(99), scanned=(inode + 1, whole.size)).messages == ("x",)


def test_a_row_that_was_torn_at_the_last_scan_is_still_found(tmp_path: Path) -> None:
    data = rows.encode(rows.assistant("a", 1, at=1), rows.enqueue("x", 100))
    path = tmp_path / "t.jsonl"
    path.write_bytes(data[:-20])
    first = queued(str(path), rows.stamp(50))
    assert first.messages == ()
    with open(path, "ab") as file:
        file.write(data[-20:])
    second = queued(str(path), rows.stamp(50), scanned=(first.inode, first.size))
    assert second.messages == ("x",)


def test_a_huge_transcript_costs_what_a_small_one_does(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    filler = rows.encode(rows.result("x" * 60_000))
    tail = rows.encode(rows.user("go", 9), rows.assistant("Done.", 4_000, at=9), rows.enqueue("more", 10))
    with open(path, "wb") as file:
        for _ in range(64 * 1024 * 1024 // len(filler)):
            file.write(filler)
        file.write(tail)
    assert path.stat().st_size > 60_000_000
    found = queued(str(path), rows.stamp(8))
    # The row with no newer mark behind it is read back to the first row that is old.
    assert (found.position, found.prose, found.messages) == (4_000, "Done.", ("more",))
    assert read(str(path)).bytes_read == 64 * 1024
    small = rows.write(tmp_path / "small.jsonl", rows.assistant("Done.", 4_000))
    assert read(small).position == 4_000


def test_the_search_gives_up_after_a_bounded_number_of_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with open(path, "wb") as file:
        file.write(rows.encode(rows.assistant("a", 5)))
        file.truncate(200 * 1024 * 1024)  # sparse: one endless line of NUL
        file.seek(0, os.SEEK_END)
        file.write(b"\n")
    found = read(str(path))
    assert found.position == 0 and found.bytes_read <= 32 * 1024 * 1024


def test_a_huge_line_is_passed_over_without_being_held(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    huge = b'{"type":"user","usage":"' + b"x" * (2 * MAX_LINE) + b'"}\n'
    path.write_bytes(rows.encode(rows.assistant("a", 5)) + huge + rows.encode(rows.user("hi")))
    assert read(str(path)).position == 5


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "empty", "nul"])
def test_what_is_no_transcript_is_empty(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    found = read("a\0b" if kind == "nul" else str(path))
    assert (found.position, found.model, found.prose, found.messages) == (0, "", "", ())
    assert read("") == Transcript()


def test_a_row_with_lone_surrogates_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(rows.assistant("a\ud800b", 5, "m\udfff")) + "\n")
    assert read(str(path)).prose == "a�b" and read(str(path)).model == "m�"


# Finding the file


@pytest.mark.parametrize("slug", ["-home-a-b", "-home-a_b c.d", "-häuser-プロジェクト", "-🎉"])
def test_case_h11_a_transcript_is_found_by_its_session_id(tmp_path: Path, slug: str) -> None:
    path = rows.write(tmp_path / "projects" / slug / "s1.jsonl", rows.assistant("a", 5))
    rows.write(tmp_path / "projects" / "other" / "s2.jsonl", rows.assistant("a", 6))
    assert locate("", "s1", "", str(tmp_path)) == path
    assert locate(str(tmp_path / "projects" / "wrong" / "s1.jsonl"), "s1", "", str(tmp_path)) == path


def test_case_h23_a_path_that_does_not_exist_is_no_fault(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.jsonl")
    for agent in ("", "main", "a1"):
        assert locate(missing, "s1", agent, str(tmp_path / "none")) == ""
    assert locate("a\0b", "s1", "", "c\0d") == ""
    assert read(locate(missing, "s1", "", str(tmp_path))) == Transcript()


def test_an_existing_path_is_taken_as_it_is(tmp_path: Path) -> None:
    path = rows.write(tmp_path / "elsewhere.jsonl", rows.assistant("a", 5))
    rows.write(tmp_path / "projects" / "p" / "s1.jsonl", rows.assistant("a", 6))
    assert locate(path, "s1", "", str(tmp_path)) == path


def test_the_newest_copy_of_a_moved_session_wins(tmp_path: Path) -> None:
    old = rows.write(tmp_path / "projects" / "a" / "s1.jsonl", rows.assistant("a", 5))
    new = rows.write(tmp_path / "projects" / "b" / "s1.jsonl", rows.assistant("a", 6))
    os.utime(old, (10, 10))
    assert locate("", "s1", "", str(tmp_path)) == new


@pytest.mark.parametrize("below", ["", "workflows/w1"])
@pytest.mark.parametrize("given", ["parent", "own", "missing", "sibling"])
def test_a_subagents_transcript_is_found_by_its_agent_id(tmp_path: Path, below: str, given: str) -> None:
    project = tmp_path / "projects" / "-p"
    parent = rows.write(project / "s1.jsonl", rows.assistant("parent", 5))
    own = rows.write(
        project / "s1" / "subagents" / below / "agent-a1.jsonl", rows.assistant("own", 6, isSidechain=True)
    )
    sibling = rows.write(project / "s1" / "subagents" / below / "agent-a2.jsonl", rows.assistant("other", 7))
    path = {"parent": parent, "own": own, "missing": str(tmp_path / "none.jsonl"), "sibling": sibling}[given]
    assert locate(path, "s1", "a1", str(tmp_path)) == own
    assert locate(path, "s1", "a3", str(tmp_path)) == ""


@pytest.mark.parametrize("bad", ["", "..", "../../etc", "a/b", "x" * 300])
def test_case_h10_an_unusable_id_is_not_looked_for(tmp_path: Path, bad: str) -> None:
    rows.write(tmp_path / "projects" / "p" / "s1.jsonl", rows.assistant("a", 5))
    assert locate("", bad, "", str(tmp_path)) == ""
    if bad:
        assert locate("", "s1", bad, str(tmp_path)) == ""
