"""Pruning: old session directories go, everything else stays."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ways.session import clearing, held, pending, stash
from ways.session.state import Session

NOW = 2_000_000_000.0
OLD = NOW - 8 * 86400


def make_old(path: Path, moment: float = OLD) -> None:
    for item in sorted(path.rglob("*"), reverse=True):
        os.utime(item, (moment, moment), follow_symlinks=False)
    os.utime(path, (moment, moment), follow_symlinks=False)


def make_session(root: Path, name: str) -> Path:
    session = Session(str(root), name)
    agent = session.agent("a1")
    main = session.agent("main")
    assert agent is not None and main is not None
    main.bump_epoch()
    agent.record_fire("x/y", 1, 1)
    return root / name


def test_old_sessions_go_but_never_the_callers_own_or_a_fresh_one(tmp_path: Path) -> None:
    for name in ("old", "mine", "fresh"):
        make_old(make_session(tmp_path, name), OLD if name != "fresh" else NOW - 6 * 86400)
    assert clearing.prune(str(tmp_path), "mine", NOW) == 1
    assert sorted(os.listdir(tmp_path)) == ["fresh", "mine"]


@pytest.mark.parametrize("touched", ["epoch", "agents/a1", "ways/x"])
def test_anything_touched_inside_keeps_it(tmp_path: Path, touched: str) -> None:
    folder = make_session(tmp_path, "old")
    make_old(folder)
    os.utime(folder / touched, (NOW, NOW))
    assert clearing.prune(str(tmp_path), "me", NOW) == 0


def test_what_is_not_a_session_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "Documents").mkdir()
    (tmp_path / "Documents" / "letter.txt").write_text("mine")
    (tmp_path / "agent-ways" / "ways" / "my").mkdir(parents=True)
    (tmp_path / "agent-ways" / "ways" / "my" / "my.md").write_text("mine")
    with_more = make_session(tmp_path, "s1")
    (with_more / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("x")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "link").symlink_to(make_session(tmp_path / "elsewhere", "s2"))
    before = sorted(tmp_path.rglob("*"))
    for path in tmp_path.iterdir():
        make_old(path)
    assert clearing.prune(str(tmp_path), "me", NOW) == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_old_directory_and_left_over_rubbish_go(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / ".pruned-x-1-2" / "deep").mkdir(parents=True)
    (tmp_path / ".pruned-x-1-2" / "deep" / "f").write_text("x")
    make_old(tmp_path / "empty")
    assert clearing.prune(str(tmp_path), "me", NOW) == 2
    assert os.listdir(tmp_path) == []


def test_the_work_of_one_call_is_bounded_and_the_next_goes_on(tmp_path: Path) -> None:
    for number in range(30):
        folder = tmp_path / f"s{number}"
        folder.mkdir()
        (folder / "epoch").write_text("1")
        make_old(folder)
    counts = [clearing.prune(str(tmp_path), "me", NOW) for _ in range(3)]
    assert counts == [20, 10, 0]


def test_a_missing_root_is_nothing_to_do(tmp_path: Path) -> None:
    assert clearing.prune(str(tmp_path / "none"), "me", NOW) == 0


def test_a_deep_tree_and_a_link_loop_end(tmp_path: Path) -> None:
    deep = tmp_path / "d"
    (deep / Path(*["x"] * 30)).mkdir(parents=True)
    (deep / "loop").symlink_to(deep)
    clearing.remove_tree(str(deep))
    assert os.listdir(tmp_path) == []
    clearing.remove_tree(str(deep))


def test_everything_that_a_session_can_hold_is_recognised(tmp_path: Path) -> None:
    make_session(tmp_path, "full")
    session = Session(str(tmp_path), "full")
    main = session.agent("main")
    assert main is not None
    main.record_fire("x", 1, 1)
    main.first_suppression("x")
    main.record_check("x")
    main.mark_core_shown()
    pending.write(main, {})
    session.record_response("x")
    session.set_queued_mark("t")
    session.set_queued_scanned(1, 2)
    session.mark_tasks_active()
    session.first_time("x")
    stash.write_stash(session, stash.Stash())
    held.hold(session, "toolu_1", {})
    session.write(session.path("reset.json"), b"{}")
    make_old(tmp_path / "full")
    assert clearing.prune(str(tmp_path), "me", NOW) == 1
