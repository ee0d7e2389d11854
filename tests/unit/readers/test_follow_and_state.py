"""Following a log that grows, is torn and is compacted; reading a session directory that may be damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.unit.readers.world import event, fire, write_log
from ways.readers import state
from ways.readers.follow import Follower
from ways.session.state import Session
from ways.telemetry import compaction
from ways.telemetry.log import append


def ways_of(follower: Follower) -> list[str]:
    return [each.get("way", "") for each in follower.new()]


def test_only_what_comes_later_is_followed(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", [fire("a/old", 0)])
    follower = Follower(str(log))
    assert ways_of(follower) == []
    append(str(log), [fire("a/new", 1), fire("a/newer", 2)])
    assert ways_of(follower) == ["a/new", "a/newer"]
    assert ways_of(follower) == []
    assert ways_of(Follower(str(log), from_start=True)) == ["a/old", "a/new", "a/newer"]


def test_a_line_that_is_still_being_written_comes_when_it_is_whole(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", [])
    follower = Follower(str(log))
    line = json.dumps(fire("a/b", 1)).encode() + b"\n"
    with log.open("ab") as file:
        file.write(line[:40])
        file.flush()
        assert ways_of(follower) == []
        file.write(line[40:])
    assert ways_of(follower) == ["a/b"]


def test_a_compacted_log_gives_no_event_twice(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", [fire(f"a/{number}", number) for number in range(50)])
    follower = Follower(str(log))
    append(str(log), [fire("a/seen", 60)])
    assert ways_of(follower) == ["a/seen"]
    compaction.compact(str(log), 2_000)
    append(str(log), [fire("a/next", 61)])
    assert ways_of(follower) == ["a/next"]


def test_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    follower = Follower(str(path))
    assert ways_of(follower) == []
    write_log(path, [fire("a/b", 1)], b"torn {\n")
    assert ways_of(follower) == ["a/b"]
    path.unlink()
    assert ways_of(follower) == []


def test_the_state_of_every_agent(tmp_path: Path) -> None:
    session = Session(str(tmp_path), "s1")
    session.make()
    main, sub = session.agent("main"), session.agent("sub")
    assert main is not None and sub is not None
    main.bump_epoch()
    main.record_fire("a/b", 1_000, 1)
    main.record_fire("a/b", 5_000, 1)
    main.record_fire("a/c", 2_000, 1)
    main.record_check("a/b")
    main.mark_core_shown()
    sub.record_fire("x/y", 10, 0)
    sub.make_teammate("red")
    first, second = state.agents(session)
    assert (first.agent, first.epoch, first.core_shown, first.checks) == ("main", 1, True, {"a/b": 1})
    assert [(way.way, way.shown_at, way.fires, way.epoch) for way in first.ways] == [
        ("a/b", 5_000, 2, 1),
        ("a/c", 2_000, 1, 1),
    ]
    assert (second.agent, second.team, [way.way for way in second.ways]) == ("sub", "red", ["x/y"])


def test_a_damaged_session_directory_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    session = Session(str(tmp_path), "s1")
    session.make()
    main = session.agent("main")
    assert main is not None
    main.record_fire("a/b", 1_000, 1)
    (tmp_path / "s1" / "engagement.json").write_bytes(b"\x00{")
    (tmp_path / "s1" / "ways" / "a" / "b" / ".marker.main").write_bytes(b"soon")
    (tmp_path / "s1" / "agents").write_text("not a folder")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    (only,) = state.agents(session)
    assert [(way.way, way.shown_at, way.epoch, way.fires) for way in only.ways] == [("a/b", 0, None, 1)]
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
    assert state.agents(Session(str(tmp_path), "none"))[0].ways == ()
    assert not os.path.exists(tmp_path / "none")


def test_events_without_a_session_are_followed_too(tmp_path: Path) -> None:
    log = write_log(tmp_path / "events.jsonl", [])
    follower = Follower(str(log))
    append(str(log), [event("way_pulled", 1, way="a/b", session="")])
    assert ways_of(follower) == ["a/b"]
