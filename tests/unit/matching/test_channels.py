"""Keyword hits, candidates, order and checks."""

from __future__ import annotations

import math

import pytest

from tests.unit.matching.helpers import way
from ways.catalogue.patterns import Searcher
from ways.catalogue.way import Catalogue, Check, Way
from ways.matching import checks
from ways.matching.candidates import Rules, Switches, collect, is_enabled, stash_scopes
from ways.matching.keyword import check_hit, find, keyword_surface
from ways.matching.order import order_hits
from ways.matching.types import BASH, COMMAND, FILE, FILE_TRIGGER, KEYWORD, PROMPT, TASK, Hit


def hits(kind: str, text: str, *ways: Way, description: str = "") -> list[tuple[str, str, str, bool]]:
    with Searcher() as searcher:
        found = find(keyword_surface(kind, text, description), ways, searcher.search)
    return [(hit.way.id, hit.trigger, hit.span, hit.strict) for hit in found]


# -- the keyword channel


def test_case_h15_a_pattern_finds_capitals_and_the_span_keeps_them() -> None:
    assert hits(PROMPT, "connect over SSH now", way("a", pattern=r"\bssh\b")) == [
        ("a", KEYWORD, "SSH", False)
    ]


def test_case_h13_a_pasted_fence_or_url_fires_no_keyword() -> None:
    item = way("a", pattern="git push")
    assert hits(PROMPT, "look:\n```\ngit push\n```\n", item) == []
    assert (
        hits(TASK, "see https://x/git%20push?git+push https://y/git-push", way("a", pattern="git.push")) == []
    )
    assert hits(PROMPT, "```\nx\n```\nplease git push", item) == [("a", KEYWORD, "git push", False)]


def test_a_strict_pattern_sees_through_the_mask() -> None:
    item = way("a", pattern="git push", pattern_strict=True)
    assert hits(PROMPT, "```\ngit push\n```", item) == [("a", KEYWORD, "git push", True)]


def test_the_command_surface_reads_the_command_then_the_description() -> None:
    item = way("a", commands="^git push", pattern="publish")
    assert hits(COMMAND, "git push -f", item, description="publish it") == [("a", BASH, "git push", False)]
    assert hits(COMMAND, "make", item, description="Publish `it`") == [("a", BASH, "Publish", False)]
    assert hits(COMMAND, "publish", item) == []
    fenced = "```publish```"
    assert hits(COMMAND, "make", item, description=fenced) == [("a", BASH, "publish", False)]


def test_case_h12_only_the_keyword_text_is_searched() -> None:
    """What Claude said is no argument of the keyword channel at all."""
    surface = keyword_surface(PROMPT, "yes, go on")
    assert surface.masked == surface.text == "yes, go on"
    assert hits(PROMPT, "yes, go on", way("a", pattern="deploy")) == []


@pytest.mark.parametrize(
    "path",
    [r"C:\p\x.env", "c:/p/x.env", r"\\?\C:\p\x.env", r"\\srv\p\x.env", r"\\?\UNC\srv\p\x.env", "/c/p/x.env"],
)
def test_case_h25_one_files_regex_matches_every_spelling_of_a_path(path: str) -> None:
    (only,) = hits(FILE, path, way("a", files=r"/p/[^/]+\.env$"))
    assert only[:2] == ("a", FILE_TRIGGER) and only[2] == "/p/x.env"


def test_the_file_surface_reads_nothing_else() -> None:
    assert hits(FILE, "/x/commit.txt", way("a", pattern="commit", commands="commit")) == []


def test_case_h28_a_hostile_way_costs_the_others_at_most_the_deadline() -> None:
    first, second = way("a", pattern="(a+)+$"), way("b", pattern="zzz")
    with Searcher(seconds=0.05) as searcher:
        found = find(keyword_surface(PROMPT, "zzz " + "a" * 60 + "!"), [first, second], searcher.search)
    assert found == () and searcher.slow == "(a+)+$"


def test_a_way_whose_pattern_does_not_compile_does_not_end_the_scan() -> None:
    assert [hit[0] for hit in hits(PROMPT, "x", way("a", pattern="("), way("b", pattern="x"))] == ["b"]


def test_a_span_is_short_enough_to_log() -> None:
    assert len(hits(PROMPT, "x" * 5000, way("a", pattern="x+"))[0][2]) == 200


def test_hits_of_checks() -> None:
    check = Check("a", "/a.check.md", "core", commands="^git push", files=r"\.env$")
    with Searcher() as searcher:
        assert check_hit(check, COMMAND, "git push", searcher.search)
        assert not check_hit(check, COMMAND, "x.env", searcher.search)
        assert check_hit(check, FILE, "/a/x.env", searcher.search)
        assert not check_hit(check, PROMPT, "git push", searcher.search)


# -- candidates


def rules(scope: str = "agent", **fields) -> Rules:
    values = {"precondition": lambda _: True, "shown": lambda _: False, **fields}
    return Rules(scopes=frozenset([scope]), **values)


def collected(catalogue: Catalogue, wanted: Rules) -> list[str]:
    return [candidate.way.id for candidate in collect(catalogue, wanted)]


def test_scope() -> None:
    ways = (
        way("agent", scope=("agent",)),
        way("both", scope=("agent", "subagent")),
        way("none"),
        way("sub", scope=("subagent",)),
        way("team", scope=("teammate",)),
    )
    catalogue = Catalogue(ways, ())
    assert collected(catalogue, rules()) == ["agent", "both", "none"]
    assert collected(catalogue, rules("teammate")) == ["team"]
    assert collected(catalogue, rules("teammate", default_scope=("agent", "teammate"))) == ["none", "team"]
    task = rules()
    for team, expected in ((False, ["both", "sub"]), (True, ["both", "sub", "team"])):
        wanted = Rules(stash_scopes(team), task.precondition, task.shown)
        assert collected(catalogue, wanted) == expected


def test_switches() -> None:
    project = {"a/b/*": False, "a/b/keep": True, "a/b/c/*": True, "a/x": False}
    switches = Switches(frozenset(["ea"]), project)
    expected = {
        "ea": False,
        "ea/x": False,
        "eat/x": True,
        "a": True,
        "a/b": True,
        "a/b/other": False,
        "a/b/keep": True,
        "a/b/keep/deeper": False,
        "a/b/c/d": True,
        "a/b/c": False,
        "a/x": False,
        "a/x/y": True,
    }
    assert {way_id: is_enabled(way_id, switches) for way_id in expected} == expected
    assert not is_enabled("q/r", Switches(frozenset(), {"*": False}))
    assert is_enabled("q/r", Switches(frozenset(), {"*": False, "q/r": True}))
    assert not is_enabled("ea/x", Switches(frozenset(["ea"]), {"ea/x": True}))


def test_preconditions_are_asked_last_and_only_of_what_is_left() -> None:
    asked = []

    def precondition(item) -> bool:
        asked.append(item.id)
        return item.id != "c"

    catalogue = Catalogue((way("a"), way("b", scope=("teammate",)), way("c"), way("d/x")), ())
    wanted = rules(precondition=precondition, switches=Switches(frozenset(["d"])))
    assert collected(catalogue, wanted) == ["a"]
    assert asked == ["a", "c"]


def test_an_ancestor_lends_a_boost_only_if_it_may_fire_itself() -> None:
    ways = (way("p"), way("p/c"), way("p/c/g"))
    catalogue = Catalogue(ways, ())
    shown = rules(shown=lambda way_id: way_id == "p")
    assert [each.ancestor_shown for each in collect(catalogue, shown)] == [False, True, True]
    for blocked in (
        rules(shown=shown.shown, switches=Switches(frozenset(), {"p": False})),
        rules(shown=shown.shown, precondition=lambda item: item.id != "p"),
        Rules(frozenset(["agent"]), shown.precondition, shown.shown),
    ):
        some = (
            Catalogue((way("p", scope=("teammate",)), *ways[1:]), ())
            if blocked.switches == Switches()
            else catalogue
        )
        assert [each.ancestor_shown for each in collect(some, blocked) if each.way.id != "p"] == [
            False,
            False,
        ]


def test_some_ways_only() -> None:
    ways = (way("p"), way("p/c"), way("q"))
    (only,) = collect(Catalogue(ways, ()), rules(shown=lambda _: True), ways=[ways[1]])
    assert only.way.id == "p/c" and only.ancestor_shown


# -- order


def semantic(way_id: str, score: float) -> Hit:
    return Hit(way(way_id), "semantic:embedding:en", explicit=False, score=score)


def explicit(way_id: str, score: float = 0.0) -> Hit:
    return Hit(way(way_id), KEYWORD, explicit=True, score=score)


def test_explicit_hits_come_first_then_trees_then_scores_then_ids() -> None:
    given = [
        semantic("z", 0.9),
        semantic("p/child", 0.95),
        semantic("p", 0.6),
        semantic("b", 0.6),
        explicit("y", 0.2),
        explicit("x", 0.2),
        explicit("w/deep/er", 0.9),
        explicit("w", 0.1),
    ]
    order = [hit.way.id for hit in order_hits(given)]
    assert order == ["x", "y", "w", "w/deep/er", "z", "b", "p", "p/child"]
    assert [hit.way.id for hit in order_hits(reversed(given))] == order


def test_a_way_hit_twice_is_kept_once_by_its_explicit_trigger() -> None:
    (only,) = order_hits([semantic("a", 0.9), explicit("a")])
    assert only.explicit


def test_a_score_that_is_no_number_does_not_disturb_the_order() -> None:
    given = [semantic("a", math.nan), semantic("b", 0.5), semantic("c", -0.5)]
    assert [hit.way.id for hit in order_hits(given)] == ["b", "a", "c"]


# -- checks


@pytest.mark.parametrize(
    ("distance", "fires", "expected"),
    [
        (0, 0, 1.0),
        (1, 0, math.log(2) + 1),
        (30, 0, math.log(31) + 1),
        (31, 0, math.log(31) + 1),
        (1000, 0, math.log(31) + 1),
        (5, 1, (math.log(6) + 1) / 2),
        (0, 9, 0.1),
    ],
)
def test_the_effective_score(distance: int, fires: int, expected: float) -> None:
    assert checks.effective_score(1.0, distance, fires) == pytest.approx(expected)
    assert checks.effective_score(0.5, distance, fires) == pytest.approx(expected / 2)


def test_the_match_score() -> None:
    assert checks.match_score(True, None) == 1.0
    assert checks.match_score(True, 0.1) == 1.0
    assert checks.match_score(False, 0.6) == pytest.approx(1.2)
    assert checks.match_score(False, None) == 0.0


def test_a_check_is_shown_from_its_threshold_on_and_anchored_from_distance_five() -> None:
    check = Check("a", "/a.check.md", "core", threshold=2.0)
    assert not checks.decide(check, 1.0, 1, 0).shown
    near, far = checks.decide(check, 1.0, 4, 0), checks.decide(check, 1.0, 5, 0)
    assert near.shown and not near.anchored and not near.pull_parent
    assert far.shown and far.anchored
    assert not checks.decide(check, 1.0, 5, 1).shown
    exact = Check("a", "/a.check.md", "core", threshold=math.log(6) + 1)
    assert checks.decide(exact, 1.0, 5, 0).shown


def test_a_check_whose_parent_was_never_shown_pulls_it() -> None:
    verdict = checks.decide(Check("a", "/a", "core"), 1.0, None, 0)
    assert (verdict.distance, verdict.pull_parent, verdict.anchored) == (30, True, True)
    assert not checks.decide(Check("a", "/a", "core", threshold=0.0), 0.0, None, 0).shown
