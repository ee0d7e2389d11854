"""Statistics, precision and languages over the log; events in words."""

from __future__ import annotations

import pytest

from tests.unit.readers.world import event, fire
from ways.readers import locales, precision, stats
from ways.readers.describe import describe, gate
from ways.telemetry import events as registry


def test_stats_count_by_way_and_by_everything_else():
    events = [
        fire("a/b", 0, scope="agent", model="m1"),
        fire("a/c", 0.01, scope="agent", model="m1"),
        fire("a/b", 30, scope="teammate", team="red", session="s2", project="/q", trigger="semantic:bash:en"),
        event("way_redisclosed", 60, way="a/b", trigger="bash"),
        event("way_suppressed", 61, way="a/b", reason="refire"),
        event("way_nearmiss", 62, way="a/z"),
        event("way_keyword_gated", 63, way="a/z"),
        event("way_judged", 64, way="a/b", verdict="block"),
        event("way_judged", 64, way="a/b", verdict="would_block"),
        event("check_fired", 65, way="a/b", check="a/b"),
    ]
    found = stats.collect(events)
    top = found.top(10)
    assert [(way.way, way.shown, way.fired, way.again) for way in top] == [
        ("a/b", 3, 2, 1),
        ("a/c", 1, 1, 0),
        ("a/z", 0, 0, 0),
    ]
    assert (top[0].held, top[0].blocked, top[0].would_block, top[0].checks, len(top[0].sessions)) == (
        1,
        1,
        1,
        1,
        2,
    )
    assert found.per_call == {2: 1, 1: 2}
    assert found.triggers == {"keyword": 2, "semantic:bash:en": 1, "bash": 1}
    assert found.teams == {"red": 1} and found.scopes == {"agent": 2, "teammate": 1, "(none)": 1}
    assert found.verdicts == {"block": 1, "would_block": 1} and found.checks == {"a/b": 1}
    data = found.as_data()
    assert data["ways"][0]["sessions"] == 2 and data["ways_per_hook_call"] == {"1": 2, "2": 1}


def test_stats_of_one_project_and_since_a_moment():
    events = [fire("a/b", 0), fire("a/c", 100), fire("a/d", 200, project="/q")]
    assert set(stats.collect(events, project="/p").ways) == {"a/b", "a/c"}
    assert set(stats.collect(events, since=events[1]["ts"]).ways) == {"a/c", "a/d"}
    assert stats.collect([]).as_data()["shown"] == 0


def sessions(way: str, others: list[list[str]]) -> list[dict[str, str]]:
    """One session for each list: the way and the others fire once each."""
    return [
        fire(name, at, session=f"s{number}")
        for number, names in enumerate(others)
        for at, name in enumerate([way, *names])
    ]


def test_a_way_among_its_own_is_precise():
    rows = precision.collect(sessions("a/x", [["a/y", "b/z"]] * 6))
    found = {row.way: row for row in rows}
    assert found["a/x"].share == 0.0 and found["a/x"].flag == ""
    assert found["b/z"].share == 1.0


def test_a_way_that_fires_for_another_subject_is_mis_targeted():
    found = precision.collect(sessions("a/x", [["b/y", "b/z", "c/w"]] * 5 + [["a/q"]]))
    row = next(row for row in found if row.way == "a/x")
    assert (row.fires, row.apart, row.sessions, row.flag) == (6, 5, 6, precision.MIS_TARGETED)
    assert (row.elsewhere, row.focus) == ("b", 1.0)


def test_a_way_that_fires_everywhere_is_cross_cutting():
    row = precision.collect(sessions("a/x", [["b/1"], ["c/1"], ["d/1"], ["e/1"], ["f/1"]]))[0]
    assert (row.way, row.share, row.flag, row.focus) == ("a/x", 1.0, precision.CROSS_CUTTING, 0.2)


def test_precision_needs_enough_sessions_and_honours_the_threshold():
    events = sessions("a/x", [["b/y"]] * 4)
    assert precision.collect(events) == []
    assert precision.collect(events, min_sessions=4)[0].flag == precision.MIS_TARGETED
    mixed = sessions("a/x", [["b/y"]] * 3 + [["a/z"]] * 2)
    share = next(row for row in precision.collect(mixed) if row.way == "a/x")
    assert share.share == 0.6 and share.flag
    strict = precision.collect(mixed, flag_threshold=0.61)
    assert not next(row for row in strict if row.way == "a/x").flag


def test_a_way_that_is_always_alone_is_told_apart():
    row = precision.collect(sessions("a/x", [[]] * 5))[0]
    assert (row.share, row.alone, row.elsewhere, row.flag) == (1.0, 5, "", precision.MIS_TARGETED)


def test_languages_and_where_an_alias_is_missing():
    aliases = {"a/b": frozenset({"de", "fr"}), "a/c": frozenset({"de"}), "a/d": frozenset()}
    events = [
        fire("a/b", 0, trigger="semantic:embedding:multi"),
        event("way_nearmiss", 1, way="a/d", prob_multi="0.48"),
        event("way_nearmiss", 2, way="a/c", prob_en="0.48"),
    ]
    found = locales.report(aliases, events, "es")
    assert [(row.language, row.covered, row.missing) for row in found.languages] == [
        ("de", 2, ("a/d",)),
        ("es", 0, ("a/b", "a/c", "a/d")),
        ("fr", 1, ("a/c", "a/d")),
    ]
    assert [(use.way, use.fired, use.near) for use in found.used] == [("a/d", 0, 1), ("a/b", 1, 0)]


@pytest.mark.parametrize(
    ("value", "threshold", "text"),
    [
        (0.31, 0.15, "p 0.31 ≥ 0.15"),
        (0.4981, 0.5, "p 0.498 < 0.50"),
        (0.5, 0.5, "p 0.50 ≥ 0.50"),
        (None, 0.5, ""),
        (0.2, None, "p 0.20"),
    ],
)
def test_a_number_stands_beside_its_gate(value, threshold, text):
    assert gate("p", value, threshold) == text


@pytest.mark.parametrize(
    ("line", "mark", "detail"),
    [
        (event("way_judged", verdict="block", p_yes="0.2", threshold="0.5"), "⊘", "p(yes) 0.20 < 0.50"),
        (
            event("way_judged", verdict="would_block", reason="ancestor", ancestor="a"),
            "◌",
            "held with its ancestor a",
        ),
        (event("way_judged", verdict="?"), "?", "way_judged"),
        (
            event("way_suppressed", reason="context_cap", kind="check"),
            "·",
            "check did not fit into the answer",
        ),
        (event("way_nearmiss", prob_en="0.47", tau_s="0.5"), "~", "just below: p(en) 0.47 < 0.50"),
        (
            event("way_keyword_gated", prob_en="0.1", prob_multi="0.12", floor="0.15", matched_span="x"),
            "~",
            "matched “x”, below the keyword floor: p(en) 0.10 < 0.15, p(multi) 0.12 < 0.15",
        ),
        (event("gate_fallback", reason="deadline"), "!", "no verdict: deadline"),
        (event("judge_call", outcome="error", reason="http 500"), "$", "judge call error: http 500"),
        (event("new_event"), "?", "new_event"),
    ],
)
def test_events_in_words(line, mark, detail):
    told = describe(line)
    assert (told.mark, told.detail) == (mark, detail)


def test_every_event_of_the_registry_can_be_described_even_bare():
    for kind in registry.EVENTS:
        told = describe({"event": kind.name})
        assert told.mark and "\n" not in told.detail
        if kind.name != "way_judged":  # without a verdict it is nothing that we know
            assert told.kind != "other", kind.name


def test_times_of_many_events_are_those_of_one():
    from ways.readers.numbers import Moments
    from ways.session.stamps import seconds_of

    clock = Moments()
    for stamp in (
        "2026-09-21T14:13:20.004Z",
        "2026-09-21T23:59:59.999Z",
        "2026-09-22T00:00:00.000Z",
        "2026-09-22T00:00:01Z",
    ):
        assert clock.seconds(stamp) == pytest.approx(seconds_of(stamp), abs=1e-6)
    for wrong in ("", "never", "2026-99-99T00:00:00.000Z", "２０２６-09-21T14:13:20.004Z", "x" * 24):
        assert clock.seconds(wrong) == 0.0
