"""The verdict of a scan: floor, semantic fires, near misses, late interaction."""

from __future__ import annotations

import math

import pytest

from tests.unit.matching.helpers import FIT, candidates, english, lane, way
from ways.matching import late
from ways.matching.match import match
from ways.matching.semantic import calibrated, fire_threshold
from ways.matching.types import (
    BASH,
    COMMAND,
    FILE,
    FILE_TRIGGER,
    KEYWORD,
    NO_SIGNAL,
    PROMPT,
    QUEUED,
    TASK,
    KeywordHit,
    LaneScores,
    Scores,
    Tuning,
    Verdict,
)

A, B, C = way("a"), way("b"), way("c")


def hit(item, strict: bool = False, trigger: str = KEYWORD) -> KeywordHit:
    return KeywordHit(item, trigger, "span", strict)


def fired(verdict: Verdict) -> list[str]:
    return [each.way.id for each in verdict.hits]


def test_the_numbers_of_the_matching_section() -> None:
    tuning = Tuning()
    assert tuning.semantic_fire_probability == 0.5
    assert tuning.keyword_floor_probability == 0.15
    assert tuning.parent_threshold_multiplier == 0.8
    assert tuning.parent_boost_floor == 0.30
    assert tuning.near_miss_margin == 0.05
    assert (tuning.late_max_chunks, tuning.late_min_chunk) == (12, 12)
    assert (tuning.late_ways_per_chunk, tuning.late_temperature) == (8, 0.08)
    assert (tuning.late_share_gate, tuning.late_peak_gate) == (0.15, 0.50)
    assert (tuning.late_confirmed, tuning.late_body_chunks, tuning.late_confirm_gate) == (6, 8, 0.35)
    assert fire_threshold(tuning, boosted=False) == 0.5
    assert fire_threshold(tuning, boosted=True) == 0.40


def test_the_boosted_threshold_has_a_floor_and_never_exceeds_the_plain_one() -> None:
    assert fire_threshold(Tuning(semantic_fire_probability=0.35), boosted=True) == 0.30
    assert fire_threshold(Tuning(semantic_fire_probability=0.2), boosted=True) == 0.2


def test_calibration_is_a_logistic() -> None:
    assert calibrated(0.5, FIT) == 0.5
    assert calibrated(0.7, FIT) == pytest.approx(1 / (1 + math.exp(-2)))
    assert calibrated(-1.0, FIT) == pytest.approx(1 / (1 + math.exp(15)))
    assert calibrated(1.0, (1e9, 0.0)) == 1.0
    assert calibrated(-1.0, (1e9, 0.0)) == pytest.approx(0.0)
    assert calibrated(math.nan, FIT) == 0.0


# -- the keyword floor


@pytest.mark.parametrize(
    ("probability", "fires"), [(0.16, True), (0.151, True), (0.149, False), (0.01, False)]
)
@pytest.mark.parametrize("surface", [PROMPT, QUEUED, TASK])
def test_a_keyword_needs_the_floor(surface: str, probability: float, fires: bool) -> None:
    verdict = match(surface, [hit(A)], candidates(A, B), english({"a": probability, "b": 0.01}))
    assert fired(verdict) == (["a"] if fires else [])
    assert [gated.way.id for gated in verdict.gated] == ([] if fires else ["a"])


def test_exactly_at_the_floor_fires() -> None:
    scores = Scores(en=LaneScores(fit=(0.0, math.log(0.25 / 0.75)), whole={"core:a": 0.3}))
    tuning = Tuning(keyword_floor_probability=calibrated(0.3, (0.0, math.log(0.25 / 0.75))))
    assert fired(match(PROMPT, [hit(A)], candidates(A), scores, tuning)) == ["a"]


def test_either_lane_lifts_a_keyword_over_the_floor() -> None:
    low, high = lane({"a": 0.01}), lane({"a": 0.3})
    assert fired(match(PROMPT, [hit(A)], candidates(A), Scores(en=low, multi=high))) == ["a"]
    assert fired(match(PROMPT, [hit(A)], candidates(A), Scores(en=high, multi=low))) == ["a"]
    assert fired(match(PROMPT, [hit(A)], candidates(A), Scores(en=low, multi=low))) == []


def test_a_gated_row_holds_what_is_logged() -> None:
    (gated,) = match(PROMPT, [hit(A)], candidates(A), english({"a": 0.1})).gated
    assert (gated.span, gated.floor, gated.prob_multi) == ("span", 0.15, None)
    assert gated.prob_en == pytest.approx(0.1)


def test_a_strict_pattern_fires_unconditionally() -> None:
    assert fired(match(PROMPT, [hit(A, strict=True)], candidates(A), english({"a": 0.001}))) == ["a"]


def test_a_keyword_fails_open_without_a_calibrated_signal() -> None:
    plain = way("plain", description="")
    assert fired(match(PROMPT, [hit(A)], candidates(A), NO_SIGNAL)) == ["a"]
    assert fired(match(PROMPT, [hit(A)], candidates(A), english({"a": 0.001}, fit=None))) == ["a"]
    assert fired(match(PROMPT, [hit(plain)], candidates(plain), english({"a": 0.9}))) == ["plain"]


def test_an_uncalibrated_lane_leaves_the_other_in_charge() -> None:
    scores = Scores(en=lane({"a": 0.9}, fit=None), multi=lane({"a": 0.01}))
    assert fired(match(PROMPT, [hit(A)], candidates(A), scores)) == []


def test_case_h14_a_negative_cosine_is_a_score_and_no_score_counts_as_zero() -> None:
    negative = Scores(en=LaneScores(fit=FIT, whole={"core:a": -0.2}))
    verdict = match(PROMPT, [hit(A)], candidates(A), negative)
    assert fired(verdict) == [] and len(verdict.gated) == 1
    missing = Scores(en=LaneScores(fit=(1.0, 3.0), whole={"core:b": 0.9}))
    verdict = match(PROMPT, [hit(A)], candidates(A), missing)
    assert fired(verdict) == []
    assert verdict.gated[0].prob_en == 0.0


def test_a_way_that_the_corpus_does_not_hold_as_it_is_now_fails_open() -> None:
    low = {"core:a": -0.2, "core:b": -0.2}
    english_lane = LaneScores(fit=FIT, whole=low, holds=lambda way: way.id == "b")
    verdict = match(PROMPT, [hit(A), hit(B)], candidates(A, B), Scores(en=english_lane))
    assert fired(verdict) == ["a"]
    assert [gated.way.id for gated in verdict.gated] == ["b"]
    other = LaneScores(fit=FIT, whole=low, holds=lambda way: True)
    both = match(PROMPT, [hit(A)], candidates(A), Scores(en=english_lane, multi=other))
    assert fired(both) == [], "a calibrated lane that has scored it is enough for a veto"
    silent = LaneScores(fit=None, whole=low, holds=lambda way: True)
    assert fired(match(PROMPT, [hit(A)], candidates(A), Scores(en=english_lane, multi=silent))) == ["a"]


@pytest.mark.parametrize(("surface", "trigger"), [(COMMAND, BASH), (FILE, FILE_TRIGGER)])
def test_commands_and_files_need_no_floor(surface: str, trigger: str) -> None:
    verdict = match(surface, [hit(A, trigger=trigger)], candidates(A), english({"a": 0.001}))
    assert [(each.way.id, each.trigger, each.explicit) for each in verdict.hits] == [("a", trigger, True)]


def test_case_h12_a_veto_is_rechecked_on_the_prompt_alone_at_most_once() -> None:
    calls = []

    def again() -> Scores:
        calls.append(1)
        return english({"a": 0.4, "b": 0.02, "c": 0.9})

    low = english({"a": 0.05, "b": 0.05, "c": 0.2})
    verdict = match(PROMPT, [hit(A), hit(B), hit(C)], candidates(A, B, C), low, rescore_prompt=again)
    assert calls == [1]
    assert sorted(fired(verdict)) == ["a", "c"]
    assert [gated.way.id for gated in verdict.gated] == ["b"]
    assert verdict.gated[0].prob_en == pytest.approx(0.05)


def test_case_h12_nothing_is_rescored_without_a_veto_or_without_a_response() -> None:
    def never() -> Scores:
        raise AssertionError("must not be called")

    high = english({"a": 0.3})
    assert fired(match(PROMPT, [hit(A)], candidates(A), high, rescore_prompt=never)) == ["a"]
    assert fired(match(PROMPT, [hit(A, strict=True)], candidates(A), NO_SIGNAL, rescore_prompt=never)) == [
        "a"
    ]
    assert fired(match(PROMPT, [hit(A)], candidates(A), english({"a": 0.05}))) == []


def test_a_recheck_without_an_answer_leaves_the_veto() -> None:
    verdict = match(PROMPT, [hit(A)], candidates(A), english({"a": 0.05}), rescore_prompt=lambda: NO_SIGNAL)
    assert fired(verdict) == [] and len(verdict.gated) == 1


def test_a_keyword_of_a_way_that_is_no_candidate_is_ignored() -> None:
    assert match(PROMPT, [hit(A)], candidates(B), NO_SIGNAL) == Verdict()


def test_a_veto_is_not_logged_when_something_else_fired_the_way() -> None:
    chunked = english(
        {"a": 0.05},
        chunks=({"core:a": 0.6}, {"core:a": 0.6}),
        bodies=({"core:a": 0.5}, {"core:a": 0.5}),
    )
    verdict = match(PROMPT, [hit(A)], candidates(A), chunked)
    assert [(each.way.id, each.trigger) for each in verdict.hits] == [("a", "semantic:late-interaction:en")]
    assert verdict.gated == ()


# -- the single vector


@pytest.mark.parametrize(("probability", "fires"), [(0.51, True), (0.4999, False)])
def test_a_way_fires_at_the_semantic_threshold(probability: float, fires: bool) -> None:
    verdict = match(PROMPT, [], candidates(A), english({"a": probability}))
    assert fired(verdict) == (["a"] if fires else [])


def test_exactly_at_the_semantic_threshold_fires() -> None:
    (only,) = match(PROMPT, [], candidates(A), Scores(en=LaneScores(fit=FIT, whole={"core:a": 0.5}))).hits
    assert (only.score, only.explicit, only.trigger) == (0.5, False, "semantic:embedding:en")


def test_triggers_name_the_lane_and_the_surface() -> None:
    both = Scores(en=lane({"a": 0.6, "b": 0.7}), multi=lane({"a": 0.8, "b": 0.7}))
    triggers = {each.way.id: each.trigger for each in match(PROMPT, [], candidates(A, B), both).hits}
    assert triggers == {"a": "semantic:embedding:multi", "b": "semantic:embedding:en"}
    triggers = {each.way.id: each.trigger for each in match(COMMAND, [], candidates(A, B), both).hits}
    assert triggers == {"a": "semantic:bash:multi", "b": "semantic:bash:en"}


def test_a_shown_ancestor_lowers_the_threshold() -> None:
    child = way("p/x/child")
    for probability, fires in ((0.41, True), (0.39, False)):
        verdict = match(PROMPT, [], candidates(child, shown=("p",)), english({"p/x/child": probability}))
        assert fired(verdict) == (["p/x/child"] if fires else [])
        assert all(each.boosted_by == "" for each in verdict.hits)
    assert fired(match(PROMPT, [], candidates(child), english({"p/x/child": 0.41}))) == []


def test_an_ancestor_fired_in_this_scan_lends_a_boost_that_is_named() -> None:
    parent, child, grand = way("p"), way("p/c"), way("p/c/g")
    scores = english({"p": 0.6, "p/c": 0.45, "p/c/g": 0.42})
    verdict = match(PROMPT, [], candidates(parent, child, grand), scores)
    assert [(each.way.id, each.boosted_by) for each in verdict.hits] == [
        ("p", ""),
        ("p/c", "p"),
        ("p/c/g", "p/c"),
    ]
    own = match(PROMPT, [], candidates(parent, child), english({"p": 0.6, "p/c": 0.55}))
    assert [each.boosted_by for each in own.hits] == ["", ""]


def test_a_parent_fired_by_a_keyword_lends_a_boost_too() -> None:
    parent, child = way("p"), way("p/c")
    scores = english({"p": 0.2, "p/c": 0.45})
    verdict = match(PROMPT, [hit(parent)], candidates(parent, child), scores)
    assert [(each.way.id, each.boosted_by) for each in verdict.hits] == [("p", ""), ("p/c", "p")]


def test_a_parent_that_is_no_candidate_or_was_gated_lends_none() -> None:
    parent, child = way("p"), way("p/c")
    scores = english({"p": 0.9, "p/c": 0.45})
    assert fired(match(PROMPT, [hit(parent)], candidates(child), scores)) == []
    scores = english({"p": 0.1, "p/c": 0.45})
    assert fired(match(PROMPT, [hit(parent)], candidates(parent, child), scores)) == []


def test_the_keyword_floor_is_never_boosted() -> None:
    child = way("p/c")
    scores = english({"p/c": 0.13})
    assert fired(match(PROMPT, [hit(child)], candidates(child, shown=("p",)), scores)) == []


def test_an_explicit_hit_is_not_doubled_by_the_semantic_channel() -> None:
    verdict = match(PROMPT, [hit(A)], candidates(A), english({"a": 0.9}))
    assert [(each.trigger, each.explicit) for each in verdict.hits] == [(KEYWORD, True)]
    assert verdict.hits[0].score == pytest.approx(0.9)


# -- near misses


@pytest.mark.parametrize(
    ("probability", "near"), [(0.44, False), (0.4501, True), (0.4999, True), (0.51, False)]
)
def test_near_misses(probability: float, near: bool) -> None:
    verdict = match(PROMPT, [], candidates(A), english({"a": probability}))
    assert [miss.way.id for miss in verdict.near_misses] == (["a"] if near else [])
    for miss in verdict.near_misses:
        assert miss.tau_s == 0.5 and miss.prob_en == pytest.approx(probability) and miss.prob_multi is None


def test_a_near_miss_is_measured_against_the_boosted_threshold() -> None:
    child = way("p/c")
    scores = english({"p/c": 0.36})
    (miss,) = match(PROMPT, [], candidates(child, shown=("p",)), scores).near_misses
    assert miss.tau_s == 0.40
    assert match(PROMPT, [], candidates(child), scores).near_misses == ()


def test_the_lower_edge_of_the_margin_counts() -> None:
    fit = (1.0, 0.0)
    logit = math.log(0.45 / 0.55)
    scores = Scores(en=LaneScores(fit=fit, whole={"core:a": logit}))
    assert calibrated(logit, fit) == pytest.approx(0.45)
    tuning = Tuning(near_miss_margin=0.5 - calibrated(logit, fit))
    assert len(match(PROMPT, [], candidates(A), scores, tuning).near_misses) == 1


def test_a_fired_way_is_no_near_miss() -> None:
    verdict = match(PROMPT, [hit(A)], candidates(A), english({"a": 0.47}))
    assert fired(verdict) == ["a"] and verdict.near_misses == ()


# -- late interaction


def chunked(*rows: dict[str, float], bodies: float | list[dict[str, float]] = 0.9, **more) -> Scores:
    chunks = tuple({f"core:{key}": value for key, value in row.items()} for row in rows)
    if isinstance(bodies, float):
        body_rows = tuple({key: bodies for key in row} for row in chunks)
    else:
        body_rows = tuple({f"core:{key}": value for key, value in row.items()} for row in bodies)
    whole = more.pop("whole", {})
    return english(whole, chunks=chunks, bodies=body_rows, **more)


def test_late_interaction_decides_alone_when_it_can_run() -> None:
    scores = chunked({"a": 0.1, "b": 0.6}, {"a": 0.1, "b": 0.6}, whole={"a": 0.99})
    assert fired(match(PROMPT, [], candidates(A, B), scores)) == ["b"]
    assert fired(match(COMMAND, [], candidates(A, B), scores)) == ["a"], "never on the command surface"
    one = chunked({"a": 0.1, "b": 0.6}, whole={"a": 0.99})
    assert fired(match(PROMPT, [], candidates(A, B), one)) == ["a"], "one chunk is not enough"


def test_late_interaction_needs_no_calibration_and_silences_the_other_lane() -> None:
    rows = ({"core:b": 0.6}, {"core:b": 0.6})
    scores = Scores(en=LaneScores(None, {}, rows, rows), multi=lane({"a": 0.99}))
    assert fired(match(PROMPT, [], candidates(A, B), scores)) == ["b"]


def test_the_softmax_and_the_share() -> None:
    (first, second) = late.weigh([A, B], [{"core:a": 0.40, "core:b": 0.32}, {"core:b": 0.30}], Tuning())
    mass = 1 / (1 + math.exp(-0.08 / 0.08))
    assert first.share == pytest.approx(mass / 2)
    assert second.share == pytest.approx((1 - mass + 1) / 2)
    assert (first.peak, first.peak_chunk) == (0.40, 0)
    assert (second.peak, second.peak_chunk) == (0.32, 0)


def test_only_the_eight_best_ways_of_a_chunk_share_it() -> None:
    ways = [way(f"w{number}") for number in range(10)]
    row = {f"core:w{number}": 0.4 - number * 0.001 for number in range(10)}
    evidence = late.weigh(ways, [row, row], Tuning())
    assert sum(each.share for each in evidence) == pytest.approx(1.0)
    assert [each.share > 0 for each in evidence] == [True] * 8 + [False] * 2


def test_the_share_gate_and_the_peak_gate() -> None:
    tuning = Tuning()
    assert late.is_admitted(late.Evidence(A, 0.15, 0.1, 0), tuning)
    assert not late.is_admitted(late.Evidence(A, 0.1499, 0.4999, 0), tuning)
    assert late.is_admitted(late.Evidence(A, 0.0, 0.50, 0), tuning)


def test_the_confirmation_reads_the_body_for_the_chunk_that_was_won() -> None:
    rows = [{"a": 0.3}, {"a": 0.6}]
    assert fired(match(PROMPT, [], candidates(A), chunked(*rows, bodies=[{"a": 0.1}, {"a": 0.35}]))) == ["a"]
    assert fired(match(PROMPT, [], candidates(A), chunked(*rows, bodies=[{"a": 0.9}, {"a": 0.349}]))) == []
    assert fired(match(PROMPT, [], candidates(A), chunked(*rows, bodies=[{}, {}]))) == []
    assert fired(match(PROMPT, [], candidates(A), chunked(*rows, bodies=[]))) == []


def test_at_most_six_are_confirmed_and_the_score_is_the_share() -> None:
    ways = [way(f"w{number}") for number in range(8)]
    row = {f"w{number}": 0.6 + number * 0.01 for number in range(8)}
    verdict = match(PROMPT, [], candidates(*ways), chunked(row, row))
    assert fired(verdict) == ["w7", "w6", "w5", "w4", "w3", "w2"]
    shares = [each.score for each in verdict.hits]
    assert shares == sorted(shares, reverse=True) and sum(shares) < 1.0
    weak = chunked(row, row, bodies=[{"w7": 0.1}, {"w7": 0.1}])
    assert fired(match(PROMPT, [], candidates(*ways), weak)) == [], (
        "a failed one makes no room for the seventh"
    )


def test_ways_that_are_no_candidates_crowd_nothing_out() -> None:
    row = {"a": 0.30, "b": 0.45, "c": 0.45}
    assert fired(match(PROMPT, [], candidates(A), chunked(row, row))) == ["a"]
    assert "a" not in fired(match(PROMPT, [], candidates(A, B, C), chunked(row, row)))


def test_parent_boost_has_no_effect_on_late_interaction() -> None:
    parent, child = way("p"), way("p/c")
    rows = ({"p": 0.6, "p/c": 0.40}, {"p": 0.6, "p/c": 0.40})
    scores = chunked(*rows, whole={"p/c": 0.46})
    verdict = match(PROMPT, [], candidates(parent, child, shown=("p",)), scores)
    assert fired(verdict) == ["p"]
    assert [(miss.way.id, miss.tau_s) for miss in verdict.near_misses] == [("p/c", 0.5)]


def test_single_vector_probabilities_still_serve_the_floor_beside_late_interaction() -> None:
    row = {"b": 0.6}
    scores = chunked(row, row, whole={"a": 0.3, "c": 0.05})
    verdict = match(PROMPT, [hit(A), hit(C)], candidates(A, B, C), scores)
    assert fired(verdict) == ["a", "b"]
    assert [gated.way.id for gated in verdict.gated] == ["c"]
