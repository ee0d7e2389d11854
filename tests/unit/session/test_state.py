"""The session directory: markers, counters, resets."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ways.core.locking import Lock, LockTimeout
from ways.core.record import replace
from ways.core.roots import Roots
from ways.session import state
from ways.session.state import Agent, Session, open_session

REPOSITORY = str(Path(__file__).parents[3])
BAD_IDS = ["", "..", ".", "a/b", "x" * 300, "../foo", "a\0b", None, 5]


def agent_of(session: Session, agent_id: str = "main") -> Agent:
    agent = session.agent(agent_id)
    assert agent is not None
    return agent


def run_at_once(count: int, code: str) -> list[str]:
    """Run `code` in `count` processes at the same time; their outputs."""
    source = f"import sys; sys.path.insert(0, {REPOSITORY!r})\n{code}"
    workers = [
        subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    answers = [worker.communicate(timeout=120)[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * count
    return answers


@pytest.mark.parametrize("bad", BAD_IDS)
def test_case_h10_an_unusable_id_touches_no_path(roots: Roots, bad: object) -> None:
    other = open_session(roots, "other")
    assert other is not None
    agent_of(other).record_fire("a/b", 1, 1)
    before = sorted(str(path) for path in Path(roots.sessions).parent.rglob("*"))
    assert open_session(roots, bad) is None
    if isinstance(bad, str):
        assert other.agent(bad) is None
        with pytest.raises(ValueError):
            Session(roots.sessions, bad)
    assert sorted(str(path) for path in Path(roots.sessions).parent.rglob("*")) == before


def test_case_h10_one_sessions_start_leaves_the_other_alone(roots: Roots) -> None:
    first, second = open_session(roots, "one"), open_session(roots, "two")
    assert first is not None and second is not None
    for session in (first, second):
        agent_of(session).record_fire("a/b", 10, 1)
        agent_of(session, "sub").record_fire("a/b", 10, 1)
    assert first.reset("startup", 1000.0)
    assert agent_of(first).marker("a/b") is None and agent_of(first, "sub").marker("a/b") is None
    assert agent_of(second).marker("a/b") == 10 and agent_of(second, "sub").marker("a/b") == 10
    assert agent_of(second).engagement() == {"a/b": {"fires": 1, "token_position": 10, "epoch": 1}}


def test_the_layout_is_the_documented_one(session: Session) -> None:
    main, sub = agent_of(session), agent_of(session, "a1")
    main.bump_epoch()
    sub.bump_epoch()
    main.record_fire("dom/x", 7, 1)
    sub.record_fire("dom/x", 9, 1)
    sub.make_teammate("blue")
    main.mark_core_shown()
    session.record_response("hello")
    session.set_queued_mark("2026-11-30T00:00:00.000Z")
    session.mark_tasks_active()
    root = Path(session.directory)
    assert (root / "epoch").read_text() == "1\n"
    assert (root / "ways/dom/x/.marker.main").read_text() == "7\n"
    assert (root / "ways/dom/x/.marker.a1").read_text() == "9\n"
    assert json.loads((root / "engagement.json").read_text())["dom/x"]["fires"] == 1
    assert (root / "agents/a1/teammate").read_text() == "blue\n"
    assert (root / "agents/a1/epoch").read_text() == "1\n"
    assert set(json.loads((root / "response-context.json").read_text())) == {"text", "at"}
    assert (root / "queued-mark").read_text() == "2026-11-30T00:00:00.000Z\n"
    assert (root / "core.marker.main").exists() and (root / "tasks-active").exists()


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_everything_is_private(session: Session) -> None:
    agent_of(session, "a1").record_fire("dom/x", 7, 1)
    agent_of(session).bump_epoch()
    session.reset("startup", 1.0)
    session.first_time("notice")
    agent_of(session).record_check("dom/x")
    for path in (Path(session.sessions_root), *Path(session.sessions_root).rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.lstat().st_mode) == wanted, path


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_a_reset_closes_a_readable_root(session: Session) -> None:
    Path(session.sessions_root).mkdir(mode=0o755)
    Path(session.sessions_root).chmod(0o755)
    session.reset("startup", 1.0)
    assert stat.S_IMODE(Path(session.sessions_root).stat().st_mode) == 0o700


def test_case_h18_twelve_hooks_at_once_are_twelve_epochs(session: Session, roots: Roots) -> None:
    code = (
        "from ways.session.state import Session\n"
        f"print(Session({roots.sessions!r}, 's-1').agent('main').bump_epoch())"
    )
    answers = run_at_once(12, code)
    assert sorted(int(answer) for answer in answers) == list(range(1, 13))
    assert agent_of(session).epoch() == 12


def test_two_hooks_racing_for_one_reset_clear_once(session: Session, roots: Roots) -> None:
    agent_of(session).record_fire("old/way", 1, 1)
    code = (
        "from ways.session.state import Session\n"
        f"s = Session({roots.sessions!r}, 's-1')\n"
        "did = s.reset('compact', 5000.0)\n"
        "import os; s.agent('main').record_fire('new/w%d' % os.getpid(), 3, 1)\n"
        "print(int(did))"
    )
    answers = run_at_once(6, code)
    assert sum(int(answer) for answer in answers) == 1
    assert agent_of(session).marker("old/way") is None
    assert len(list(Path(session.path("ways", "new")).iterdir())) == 6


def test_a_reset_is_due_again_after_ten_seconds_or_for_another_source(session: Session) -> None:
    main = agent_of(session)
    assert session.reset("startup", 100.0)
    main.record_fire("a", 1, 1)
    assert not session.reset("startup", 109.9)
    assert main.shown("a")
    assert session.reset("compact", 101.0)
    assert not main.shown("a")
    main.record_fire("a", 1, 1)
    assert session.reset("compact", 111.0)
    assert not main.shown("a")
    assert session.reset("compact", 50.0), "a clock that went back far is no reason to keep state"
    assert session.last_reset()["source"] == "compact"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"source": 5}', b'{"source": "startup", "seconds": "x"}']
)
def test_a_damaged_reset_record_counts_as_none(session: Session, damage: bytes) -> None:
    session.reset("startup", 100.0)
    Path(session.path("reset.json")).write_bytes(damage)
    assert session.reset("startup", 101.0)


def test_a_reset_removes_everything_but_locks(session: Session) -> None:
    main = agent_of(session)
    main.bump_epoch()
    main.record_fire("a", 1, 1)
    main.record_check("a")
    main.mark_core_shown()
    session.record_response("x")
    session.set_queued_mark("t")
    session.mark_tasks_active()
    session.first_time("x")
    session.reset("startup", 100.0)
    assert sorted(os.listdir(session.directory)) == ["locks", "reset.json"]
    assert main.epoch() == 0 and not main.core_shown() and session.first_time("x")


def test_a_team_stays_through_a_compact_only(session: Session) -> None:
    sub = agent_of(session, "a1")
    sub.make_teammate("blue")
    sub.record_fire("a", 1, 1)
    session.reset("compact", 100.0)
    assert sub.team() == "blue" and not sub.shown("a")
    session.reset("clear", 100.0)
    assert sub.team() is None


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_reset_never_follows_a_link_out_of_the_session(session: Session, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "deep").mkdir(parents=True)
    (precious / "deep" / "file").write_text("mine")
    session.make()
    Path(session.path("ways")).symlink_to(precious)
    Path(session.path("held")).mkdir()
    Path(session.path("held", "x")).symlink_to(precious)
    Path(session.path("agents")).mkdir()
    Path(session.path("agents", "a1")).symlink_to(precious)
    Path(session.path("epoch")).symlink_to(precious / "deep" / "file")
    for source in ("compact", "startup"):
        session.reset(source, 100.0)
        assert (precious / "deep" / "file").read_text() == "mine"
    assert sorted(os.listdir(session.directory)) == ["locks", "reset.json"]


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege")
def test_a_session_directory_that_is_a_link_is_refused(roots: Roots, tmp_path: Path) -> None:
    (tmp_path / "home-of-user").mkdir()
    Path(roots.sessions).mkdir()
    (Path(roots.sessions) / "s-2").symlink_to(tmp_path / "home-of-user")
    (Path(roots.sessions) / "s-3").write_text("a file")
    assert open_session(roots, "s-2") is None
    assert open_session(roots, "s-3") is None
    assert "not a folder" in (Path(roots.state) / "debug.log").read_text()


def test_markers_tolerate_garbage(session: Session) -> None:
    main = agent_of(session)
    assert main.marker("a/b") is None and not main.shown("a/b")
    main.record_fire("a/b", 123, 4)
    path = Path(session.path("ways", "a", "b", ".marker.main"))
    for content, expected in (
        (b"", 0),
        (b"xyz", 0),
        (b"-5", 0),
        (b" 77 \n", 77),
        (b"9" * 500, 0),
        (b"\xff", 0),
    ):
        path.write_bytes(content)
        assert main.marker("a/b") == expected and main.shown("a/b")


@pytest.mark.parametrize(
    "bad", ["", "..", "a/../b", "/a", "a:b", "x" * 600, "a\0", ".hidden/x", "a/.marker.main"]
)
def test_unusable_way_ids_are_neither_read_nor_recorded(session: Session, bad: str) -> None:
    main = agent_of(session)
    main.record_fire(bad, 1, 1)
    main.record_check(bad)
    assert main.marker(bad) is None and main.check_fires(bad) == 0
    assert not os.path.exists(session.directory)


def test_fires_and_checks_are_counted_per_agent(session: Session) -> None:
    main, sub = agent_of(session), agent_of(session, "a1")
    for position in (5, 9):
        main.record_fire("a", position, position + 1)
        main.record_check("a")
        main.record_check("a/b")
    sub.record_check("a")
    assert main.engagement() == {"a": {"fires": 2, "token_position": 9, "epoch": 10}}
    assert sub.engagement() == {} and not sub.shown("a")
    assert (main.check_fires("a"), main.check_fires("a/b"), sub.check_fires("a")) == (2, 2, 1)


@pytest.mark.parametrize(
    "damage", [b"", b"[]", b'{"a": 1, "b": {"fires": "x", "epoch": true}}', b"\x00" * 50]
)
def test_damaged_engagement_is_read_as_far_as_it_goes(session: Session, damage: bytes) -> None:
    main = agent_of(session)
    main.bump_epoch()
    Path(session.path("engagement.json")).write_bytes(damage)
    assert all(set(entry) == {"fires", "token_position", "epoch"} for entry in main.engagement().values())
    main.record_fire("b", 3, 2)
    assert main.engagement()["b"] == {"fires": 1, "token_position": 3, "epoch": 2}


@pytest.mark.parametrize("damage", [b"", b"x", b"-1", b"1.5"])
def test_a_damaged_epoch_starts_over(session: Session, damage: bytes) -> None:
    main = agent_of(session)
    main.bump_epoch()
    Path(session.path("epoch")).write_bytes(damage)
    assert main.epoch() == 0 and main.bump_epoch() == 1


def test_suppression_is_new_once_per_showing(session: Session) -> None:
    main = agent_of(session)
    assert not main.first_suppression("a")
    main.record_fire("a", 5, 1)
    assert main.first_suppression("a") and not main.first_suppression("a")
    main.record_fire("a", 900, 2)
    assert main.first_suppression("a") and not main.first_suppression("a")


def test_case_h08_the_response_is_cut_on_a_character(session: Session) -> None:
    for lead in range(5):
        session.record_response("x" * lead + "—" * 1500)
        kept = session.response()
        assert kept == "x" * lead + "—" * ((2000 - lead) // 3)
    session.record_response("a\ud800b")
    assert session.response() == "a�b"
    session.record_response(None)
    assert session.response() == "" and not os.path.exists(session.path("response-context.json"))
    session.record_response("")
    assert session.response() == ""


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"text": 5}', b"nope"])
def test_a_damaged_response_is_none(session: Session, damage: bytes) -> None:
    session.record_response("x")
    Path(session.path("response-context.json")).write_bytes(damage)
    assert session.response() == ""


def test_a_queued_mark_is_claimed_by_one_hook(session: Session, roots: Roots) -> None:
    assert session.queued_mark() is None
    session.set_queued_mark("t0")
    code = (
        "from ways.session.state import Session\n"
        f"print(int(Session({roots.sessions!r}, 's-1').claim_queued('t0', 't1')))"
    )
    assert sum(int(answer) for answer in run_at_once(5, code)) == 1
    assert session.queued_mark() == "t1"


def test_how_far_the_transcript_was_scanned(session: Session) -> None:
    assert session.queued_scanned() == (0, 0)
    session.set_queued_scanned(12, 345)
    assert session.queued_scanned() == (12, 345)
    session.set_queued_scanned(12, 345 + 60_000)
    assert session.queued_scanned() == (12, 345), "written in steps"
    for inode, size in ((12, 345 + 70_000), (12, 100), (13, 120)):
        session.set_queued_scanned(inode, size)
        assert session.queued_scanned() == (inode, size)
    Path(session.path("queued-scanned")).write_text("x y z")
    assert session.queued_scanned() == (0, 0)


def test_first_time_is_once_even_in_a_race(roots: Roots) -> None:
    code = (
        "from ways.session.state import Session\n"
        f"print(int(Session({roots.sessions!r}, 's-1').first_time('x')))"
    )
    assert sum(int(answer) for answer in run_at_once(6, code)) == 1


def test_the_admission_lock_is_exclusive_and_per_agent(session: Session) -> None:
    main = agent_of(session)
    with main.lock(0):
        with pytest.raises(LockTimeout):
            main.lock(0).acquire()
        with agent_of(session, "a1").lock(0) as other:
            assert isinstance(other, Lock)


def test_case_u10_counting_goes_on_without_a_lock(
    session: Session, roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = agent_of(session)
    monkeypatch.setattr(state, "Lock", lambda path, timeout: Lock(path, 0.01))
    with Lock(session.path("locks", "epoch-main.lock"), 0):
        assert main.bump_epoch() == 1
    assert "held by another process" in (Path(roots.state) / "debug.log").read_text()


def test_a_fallback_root_is_explained_once_a_session(roots: Roots) -> None:
    unusual = replace(roots, sessions_note="/tmp/x: is a symbolic link")
    for _ in range(3):
        session = open_session(unusual, "s-9")
        assert session is not None
        agent_of(session).bump_epoch()
    assert (Path(roots.state) / "debug.log").read_text().count("is a symbolic link") == 1


def test_a_main_agent_is_never_a_teammate(session: Session) -> None:
    agent_of(session).make_teammate("x")
    assert agent_of(session).team() is None and not os.path.exists(session.directory)
    sub = agent_of(session, "a1")
    assert sub.team() is None
    sub.make_teammate("  the\nblue \ud800 team ")
    assert sub.team() == "the blue � team"


def test_a_reset_amid_writers_hurts_nobody(session: Session, roots: Roots) -> None:
    code = (
        "from ways.session.state import Session\n"
        "import os, sys\n"
        f"s = Session({roots.sessions!r}, 's-1')\n"
        "agents = [s.agent('main'), s.agent('sub')]\n"
        "for n in range(40):\n"
        "    for agent in agents:\n"
        "        agent.bump_epoch(); agent.record_fire('way/%d' % (n % 7), n, n)\n"
        "        agent.record_check('way/x')\n"
        "    s.record_response('x' * n); s.first_time('n%d' % n)\n"
        "    if n % 10 == 0: s.reset('startup', n * 100.0 + os.getpid())\n"
        "print('done')"
    )
    assert run_at_once(4, code) == ["done\n"] * 4
    assert session.reset("clear", 5.0)
    assert sorted(os.listdir(session.directory)) == ["locks", "reset.json"]
