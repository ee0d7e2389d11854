"""The field `trigger`: a name, or a mapping with what belongs to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ways.catalogue import cache
from ways.catalogue.frontmatter import parse_way
from ways.catalogue.way import CORE, Way, WayRoots


def way(front: str) -> Way:
    found = parse_way(f"---\n{front}\n---\nBODY\n".encode(), "a/b", "/a/b/b.md", CORE)
    assert isinstance(found, Way)
    return found


@pytest.mark.parametrize(
    ("front", "signals"),
    [
        (
            "trigger: {type: attend, signals: [build-broken, review.wanted]}",
            ("build-broken", "review.wanted"),
        ),
        ("trigger:\n  type: attend\n  signals: one", ("one",)),
        ("trigger: {type: attend, signals: 'one, two, one'}", ("one", "two")),
        ("trigger: {type: attend}", ("message",)),
        ("trigger: {type: attend, signals: }", ("message",)),
        ("trigger: attend", ("message",)),
    ],
)
def test_an_attend_trigger_names_its_signals(front: str, signals: tuple[str, ...]) -> None:
    found = way(front)
    assert (found.trigger, found.signals, found.problems) == ("attend", signals, ())


def test_the_other_triggers_may_be_mappings_too() -> None:
    assert way("trigger: session-start") == way("trigger: {type: session-start}")
    threshold = way("trigger: {type: context-threshold, threshold: 80}")
    assert (threshold.trigger, threshold.threshold, threshold.problems) == ("context-threshold", 80.0, ())
    there = way("trigger:\n  type: file-exists\n  path: '*.toml'")
    assert (there.trigger, there.trigger_path, there.signals) == ("file-exists", "*.toml", ())


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("trigger: atend", "line 2, column 10: trigger: must be one of"),
        ("trigger: {type: atend}", "trigger.type: must be one of"),
        ("trigger: {signals: [x]}", "trigger.type: must be one of"),
        ("trigger: [attend]", "trigger: must be one of"),
        ("trigger: {type: attend, signal: x}", "trigger.signal: is none of type, signals"),
        ("trigger: {type: attend, signals: ['a b']}", "trigger.signals: 'a b' has more than"),
        ("trigger: {type: attend, signals: {a: b}}", "trigger.signals: must be a list of names"),
    ],
)
def test_a_wrong_trigger_is_named_with_its_place(front: str, problem: str) -> None:
    found = way(front)
    assert any(problem in one for one in found.problems), found.problems
    assert not found.signals or "signal:" in front


def test_signals_come_through_the_cache(tmp_path: Path) -> None:
    folder = tmp_path / "core/team/broken"
    folder.mkdir(parents=True)
    (folder / "broken.md").write_text("---\ntrigger: {type: attend, signals: [x]}\n---\nB\n", "utf-8")
    roots = WayRoots(core=str(tmp_path / "core"))
    first = cache.load(roots, str(tmp_path / "cache")).with_trigger()
    again = cache.load(roots, str(tmp_path / "cache")).with_trigger()
    assert [one.signals for one in first] == [one.signals for one in again] == [("x",)]
