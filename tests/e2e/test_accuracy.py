"""The shipped ways fire when they should and stay silent otherwise, on the real engine and the suites."""

from __future__ import annotations

import pytest

from benchmarks import accuracy
from tests.unit.embedding import parts
from ways.authoring import goldens
from ways.authoring.findings import NOTE

pytestmark = pytest.mark.model

RECALL, FALSE_RATE, PAIR_AUC = 0.95, 0.02, 0.95
# What the held-out prompts reach today; docs/decisions/accuracy.md says what keeps them from the goal.
# The goals are 0.95 and 0.02 (docs/decisions/accuracy.md says what is missing); these only hold the state.
HELD_OUT_RECALL, HELD_OUT_FALSE_RATE = 0.74, 0.09


@pytest.fixture(scope="module")
def report():
    return accuracy.measure(parts.opened(), accuracy.all_cases())


def test_the_expected_ways_fire_on_the_prompts_they_were_tuned_on(report):
    assert report.line(accuracy.TUNE).recall >= RECALL, accuracy.misses(report)


def test_prompts_about_nothing_stay_without_guidance(report):
    assert report.line(accuracy.TUNE).false_rate <= FALSE_RATE, accuracy.misses(report)


def test_work_that_has_nothing_to_do_with_them_is_left_alone(report):
    assert report.line(accuracy.QUIET).false_rate <= FALSE_RATE, accuracy.misses(report)


def test_no_two_ways_are_hard_to_tell_apart(report):
    assert report.near == ()


def test_lint_has_nothing_against_the_shipped_ways(report):
    assert [one for one in report.found if one.level != NOTE and one.rule != goldens.RULE] == []


def test_golden_prompts_show_their_way(report):
    assert [one for one in report.found if one.rule == goldens.RULE] == []


def test_the_held_out_prompts_do_not_get_worse(report):
    line = report.line(accuracy.VALIDATE)
    assert line.recall >= HELD_OUT_RECALL
    assert line.false_rate <= HELD_OUT_FALSE_RATE


def test_cosines_tell_wanted_ways_from_others_on_held_out_prompts(report):
    assert report.pair_auc[accuracy.VALIDATE] >= PAIR_AUC
    assert report.fit is not None


def test_commands_and_paths_fire_what_they_are_about_and_nothing_else(report):
    for surface in ("command", "file"):
        line = report.line(surface)
        assert line.recall == 1.0, accuracy.misses(report)
        assert line.disturbed <= 2, accuracy.misses(report)


def test_the_suites_are_large_and_mixed():
    prompts, commands = accuracy.read_prompts(), accuracy.read_commands()
    assert len(prompts) >= 400
    assert sum(not case.expect for case in prompts) >= len(prompts) // 3
    assert sum("." in case.text[:-1] for case in prompts) >= len(prompts) // 3
    assert sum(not case.expect for case in commands) >= 100
    assert len({case.text for case in commands}) == len(commands)


def test_the_quiet_set_is_large_mixed_and_its_own():
    quiet = accuracy.read_quiet()
    assert len(quiet) == len({case.text for case in quiet}) == 200
    surfaces = [case.surface for case in quiet]
    assert min(surfaces.count(surface) for surface in ("prompt", "command", "file")) >= 30
    others = {case.text for case in (*accuracy.read_prompts(), *accuracy.read_commands())}
    assert not others & {case.text for case in quiet}
