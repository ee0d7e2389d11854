"""The stash and the held context: claimed by exactly one, damaged files tolerated."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ways.session import handover, held, stash
from ways.session.stash import Stash
from ways.session.state import Session

REPOSITORY = str(Path(__file__).parents[3])


def test_a_stash_comes_back_as_it_was_left(session: Session) -> None:
    left = Stash((("a/b", "keyword"), ("c", "task")), "reviewer", "toolu_1", "blue", "r—1")
    stash.write_stash(session, left)
    assert stash.claim_oldest(session, None) == left
    assert stash.claim_oldest(session, None) is None
    assert os.listdir(session.path(stash.FOLDER)) == []


def test_the_oldest_of_the_agents_type_is_claimed(session: Session) -> None:
    for number, kind in enumerate(["x", "y", "", "x", "y"]):
        stash.write_stash(session, Stash(((f"w{number}", "task"),), kind, f"t{number}"))

    def claimed(agent_type: str | None) -> str | None:
        found = stash.claim_oldest(session, agent_type)
        return found.tool_use_id if found else None

    assert claimed("y") == "t1"
    assert claimed("general-purpose") == "t2"
    assert claimed("z") is None
    assert claimed(None) == "t0"
    assert [claimed("x"), claimed("x")] == ["t3", None]
    assert claimed("") == "t4"


@pytest.mark.parametrize("kind", ["*", "../foo", "a/b", "$x", "", "a\0b", "\ud800"])
def test_case_h05_a_type_never_becomes_a_path(session: Session, kind: str) -> None:
    stash.write_stash(session, Stash((), kind, kind))
    names = os.listdir(session.path(stash.FOLDER))
    assert len(names) == 1 and names[0].removesuffix(".json").replace("-", "").isdigit()
    assert stash.drop_unclaimed(session, kind) in {0, 1}
    stash.claim_oldest(session, kind)
    assert sorted(path.name for path in Path(session.sessions_root).iterdir()) == ["s-1"]


def test_an_unclaimed_stash_is_dropped_by_its_tool_call(session: Session) -> None:
    stash.write_stash(session, Stash((), "x", "t1"))
    stash.write_stash(session, Stash((), "x", "t2"))
    assert stash.drop_unclaimed(session, "") == 0
    assert stash.drop_unclaimed(session, "t3") == 0
    assert stash.drop_unclaimed(session, "t1") == 1
    found = stash.claim_oldest(session, "x")
    assert found is not None and found.tool_use_id == "t2"


def test_racing_claims_never_get_the_same_stash(session: Session) -> None:
    for number in range(40):
        stash.write_stash(session, Stash((), "x", f"t{number}"))
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.session.state import Session\nfrom ways.session import stash\n"
        f"s = Session({session.sessions_root!r}, 's-1')\n"
        "while (found := stash.claim_oldest(s, 'x')) is not None: print(found.tool_use_id)"
    )
    workers = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    claimed = [line for worker in workers for line in worker.communicate(timeout=120)[0].split()]
    assert sorted(claimed) == sorted(f"t{number}" for number in range(40))


def test_stamps_sort_by_time_and_never_repeat() -> None:
    stamps = [handover.unique_stamp() for _ in range(2000)]
    assert stamps == sorted(stamps) and len(set(stamps)) == 2000
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.session.handover import unique_stamp\nprint(unique_stamp())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert stamps[-1] < other < handover.unique_stamp()


def test_a_crash_leaves_a_file_that_is_swept_after_an_hour(session: Session) -> None:
    stash.write_stash(session, Stash((), "x", "t1"))
    folder = Path(session.path(stash.FOLDER))
    now = time.time()
    (folder / f"1.claimed-{int((now - 3700) * 1e9)}-77").write_text("{}")
    (folder / f"2.claimed-{int((now - 3500) * 1e9)}-77").write_text("{}")
    for name in ("3.claimed-broken", ".4.json.ways-tmp-1-1-1"):
        (folder / name).write_text("{}")
        os.utime(folder / name, (now - 4000, now - 4000))
    assert stash.sweep(session, now) == 3
    left = os.listdir(folder)
    assert len(left) == 2 and any(name.startswith("2.claimed") for name in left)
    assert stash.sweep(Session(session.sessions_root, "none"), now) == 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.binary(max_size=120)
    | st.from_type(dict[str, int]).map(lambda d: json.dumps({"ways": [d, [1, 2]]}).encode())
)
def test_a_damaged_stash_is_an_empty_one(session: Session, content: bytes) -> None:
    folder = Path(session.path(stash.FOLDER))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "1.json").write_bytes(content)
    assert stash.claim_oldest(session, "other") is None
    found = stash.claim_oldest(session, None)
    assert found is not None and found.ways == ()
    assert os.listdir(folder) == []


def test_held_context_is_delivered_once(session: Session) -> None:
    assert held.take(session, "toolu_1") is None
    assert held.hold(session, "toolu_1", {"context": "x"})
    assert held.take(session, "toolu_2") is None
    assert held.take(session, "toolu_1") == {"context": "x"}
    assert held.take(session, "toolu_1") is None
    for bad in ("", "..", "a/b", "x" * 300):
        assert not held.hold(session, bad, {})
        assert held.take(session, bad) is None
    assert held.sweep(session, time.time()) == 0


def test_what_a_denied_tool_call_left_goes_after_a_day(session: Session) -> None:
    now = time.time()
    for name, age in (("old", 90_000), ("new", 80_000)):
        held.hold(session, name, {})
        os.utime(session.path("held", f"{name}.json"), (now - age, now - age))
    stash.write_stash(session, Stash())
    (left,) = Path(session.path(stash.FOLDER)).iterdir()
    os.utime(left, (now - 90_000, now - 90_000))
    held.hold(session, "third", {})
    assert sorted(os.listdir(session.path("held"))) == ["new.json", "third.json"]
    assert stash.sweep(session, now) == 0, "a Task may wait for its permission as long as it likes"
