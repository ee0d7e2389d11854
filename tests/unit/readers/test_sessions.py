"""Summaries of sessions from damaged, foreign and big logs; which events a reader gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers import generated
from tests.unit.readers.world import START, event, fire, write_log
from ways.core import clock
from ways.readers import source
from ways.readers.sessions import directories, summaries

DAMAGE = (
    b"torn {\n",
    b"[]\n",
    b"\xff\xfe\x00\n",
    b'{"event": "way_fired", "session": 5, "ts": 9, "token_position": 12}\n',
    b'{"event": "from_the_future", "session": "s1", "ts": "2026-09-22T00:00:00Z", "deep": {"a": 1}}\n',
    b'{"event": "judge_call", "session": "s1", "cost_usd": "NaN", "ts": "never"}\n',
    b'{"event": "way_fired", "session": "s1"',
)


def test_a_summary_counts_what_a_session_met(tmp_path: Path) -> None:
    log = write_log(
        tmp_path / "events.jsonl",
        [
            event("session_start", 0, source="startup"),
            fire("a/b", 1, model="claude-haiku-4-5"),
            event("way_redisclosed", 2, way="a/b"),
            event("check_fired", 3, check="a/b"),
            event("way_suppressed", 4, reason="refire"),
            event("way_nearmiss", 5),
            event("way_keyword_gated", 6),
            event("way_judged", 7, verdict="block"),
            event("way_judged", 7, verdict="would_block"),
            event("way_judged", 7, verdict="pass"),
            event("judge_call", 8, cost_usd="0.25"),
            event("judge_call", 9),
            event("way_fired", 10, agent_id="sub1", model="claude-opus-4-6"),
        ],
    )
    (found,) = summaries(source.all_events(str(log)))
    counts = (found.fired, found.again, found.checks, found.held, found.near, found.gated)
    assert counts == (2, 1, 1, 1, 1, 1)
    assert (found.blocked, found.would_block, found.passed, found.calls, found.cost_usd) == (1, 1, 1, 2, 0.25)
    assert found.agents == {"main", "sub1"}
    # A subagent's model is not the session's.
    assert found.model == "claude-haiku-4-5"
    assert (found.first, found.last) == (clock.utc_iso(START), clock.utc_iso(START + 10))
    assert found.as_data()["agents"] == ["main", "sub1"]


def test_a_damaged_log_loses_only_its_damage(tmp_path: Path) -> None:
    whole = [fire("a/b", 1), fire("a/c", 2)]
    log = write_log(tmp_path / "events.jsonl", whole, *DAMAGE)
    found = {summary.session: summary for summary in summaries(source.all_events(str(log)))}
    assert found["s1"].fired == 2 and found["s1"].cost_usd == 0.0
    assert found["5"].fired == 1
    assert len(source.session_events(str(log), "s1")) == 4


def test_no_log_is_no_session(tmp_path: Path) -> None:
    assert summaries(source.all_events(str(tmp_path / "none"))) == []
    assert source.session_events(str(tmp_path), "s1") == []


def test_directories_without_events_are_sessions_too(tmp_path: Path) -> None:
    for name in ("one", "two", ".hidden", "bad name"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    names = {name for name, _touched in directories(str(tmp_path))}
    assert names == {"one", "two"}
    listed = summaries([fire("a/b", 0, session="one")], directories(str(tmp_path)))
    assert {summary.session for summary in listed} == {"one", "two"}
    assert next(summary for summary in listed if summary.session == "one").fired == 1


def test_events_of_a_session_come_in_order_of_time(tmp_path: Path) -> None:
    late, early = fire("a/late", 9), fire("a/early", 1)
    log = write_log(tmp_path / "events.jsonl", [late, early, fire("x/y", 5, session="s11")])
    spilled = tmp_path / "events.d" / "7-1.jsonl"
    write_log(spilled, [fire("a/between", 5)])
    ways = [found["way"] for found in source.session_events(str(log), "s1")]
    assert ways == ["a/early", "a/between", "a/late"]


def test_progress_tells_every_byte_but_the_last_ones(tmp_path: Path) -> None:
    log = generated.write(tmp_path / "events.jsonl", 9_000, 3)
    told: list[int] = []
    count = sum(1 for _event in source.all_events(str(log), told.append))
    assert count == 9_000
    size = log.stat().st_size
    assert size - (1 << 20) <= sum(told) <= size and len(told) >= 2


def test_only_wanted_kinds_are_given(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", [fire("a/b", 1), event("way_nearmiss", 2, way="way_fired")])
    assert [each["event"] for each in source.all_events(str(log), None, ("way_fired",))] == ["way_fired"]


def test_days_count_back_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: START)
    assert source.since_days(None) == ""
    assert source.since_days(1) == clock.utc_iso(START - 86_400)[:19]
    assert source.since_days(10**9) == clock.utc_iso(START - 36_500 * 86_400)[:19]


def test_the_generated_log_is_the_same_every_time() -> None:
    assert list(generated.lines(500, 4)) == list(generated.lines(500, 4))
    assert len(list(generated.lines(500, 4))) == 500
