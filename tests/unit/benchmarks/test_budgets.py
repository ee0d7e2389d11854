"""Ratios, budgets, and what is told of them."""

from __future__ import annotations

import pytest

from benchmarks import budgets
from benchmarks.budgets import BUDGETS, EXCEEDED, MET, NOT_MEASURED, OVER_FLOOR, WITHIN, Budget
from benchmarks.floors import F, P
from benchmarks.measure import Figure, Results, Round


def results(**walls: list[tuple[float, float]]) -> Results:
    """Measures with (wall ms, wall ms of F in the same round)."""
    found = Results()
    for name, pairs in walls.items():
        found.rounds[name] = [
            Round(wall, wall / 2, 10_240, {F: (floor, floor / 2), P: (1.0, 0.5)}, number)
            for number, (wall, floor) in enumerate(pairs)
        ]
    return found


def figure(kind: str, given: Results, measure: str, other: str = "", floor: str = P) -> float:
    found = budgets.figure_of(Budget("one", 1, kind, measure, other, floor), given, {})
    assert found is not None
    return found.middle


def test_the_ratio_to_a_floor_is_taken_within_each_round() -> None:
    # The machine was ten times as slow in the last two rounds: medians of times would give 10 or 1.5.
    given = results(lane=[(15.0, 10.0), (150.0, 100.0), (150.0, 100.0)])
    assert figure(OVER_FLOOR, given, "lane", F) == pytest.approx(1.5)


def test_a_ratio_to_another_measure_pairs_the_rounds() -> None:
    given = results(many=[(12.0, 1), (120.0, 1), (90.0, 1)], few=[(10.0, 1), (100.0, 1), (75.0, 1)])
    assert figure(budgets.OVER_MEASURE, given, "many", "few") == pytest.approx(1.2)


def test_a_measure_that_ran_in_fewer_rounds_is_compared_in_those() -> None:
    given = results(changed=[(2.0, 1)], full=[(100.0, 1), (1.0, 1)])
    assert figure(budgets.OVER_MEASURE, given, "changed", "full") == pytest.approx(0.02)


def test_what_is_added_counts_in_floors() -> None:
    given = results(around=[(4.5, 1)], alone=[(2.0, 1)])
    assert figure(budgets.BEYOND, given, "around", "alone", P) == pytest.approx(2.5)


def test_memory_is_the_highest_peak() -> None:
    given = results(lane=[(1.0, 1), (1.0, 1)])
    given.rounds["lane"].append(Round(1.0, 1.0, 20_480, {}, 2))
    assert figure(budgets.PEAK, given, "lane") == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("middle", "outcome"),
    [(1.59, MET), (1.6, MET), (1.61, WITHIN), (1.759, WITHIN), (1.77, EXCEEDED), (16.0, EXCEEDED)],
)
def test_a_budget_is_exceeded_beyond_its_margin(middle: float, outcome: str) -> None:
    assert budgets.judge(1.6, Figure(middle, 0.0, 99.0), margin=0.10) == outcome


def test_the_exit_code_tells_of_one_exceeded_budget_among_others() -> None:
    limits = (Budget("slow", 1.6, OVER_FLOOR, "slow", F), Budget("quick", 1.6, OVER_FLOOR, "quick", F))
    near = budgets.verdicts(results(slow=[(17.0, 10.0)], quick=[(9.0, 10.0)]), {}, limits)
    over = budgets.verdicts(results(slow=[(18.0, 10.0)], quick=[(9.0, 10.0)]), {}, limits)
    assert [one.outcome for one in near] == [WITHIN, MET]
    assert budgets.exit_code(near) == 0
    assert [one.outcome for one in over] == [EXCEEDED, MET]
    assert budgets.exit_code(over) == 1


def test_what_was_not_measured_fails_nothing_and_is_not_called_met() -> None:
    given = budgets.verdicts(Results(), {})
    assert {one.outcome for one in given} == {NOT_MEASURED}
    assert budgets.exit_code(given) == 0


def test_sizes_are_judged_as_they_are() -> None:
    given = budgets.verdicts(Results(), {budgets.ARCHIVE: 68.6, budgets.RESIDENT: 67.0})
    found = {one.budget.measure: one.outcome for one in given if one.figure is not None}
    assert found == {budgets.ARCHIVE: EXCEEDED, budgets.RESIDENT: MET}


def test_without_the_frozen_program_there_is_no_ratio_to_it() -> None:
    given = Results({"lane": [Round(10.0, 5.0, 1, {P: (1.0, 0.5)}, 0)]})
    assert given.over_floor("lane", F) is None
    assert budgets.figure_of(Budget("one", 1.6, OVER_FLOOR, "lane", F), given, {}) is None


def test_every_budget_has_its_own_title_and_a_limit() -> None:
    titles = [one.title for one in BUDGETS]
    assert len(set(titles)) == len(titles)
    assert all(one.limit > 0 for one in BUDGETS)
