"""Cadence and budget: the numbers of the disclosure section."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.core.text import utf16_length
from ways.disclosure import refire
from ways.disclosure.budget import LIMIT, Budget


def test_presets() -> None:
    parts = {name: refire.fraction(name, {}) for name in ("once", "rare", "normal", "frequent", "")}
    assert parts == {"once": 1.0, "rare": 0.4, "normal": 0.15, "frequent": 0.05, "": 0.15}


@pytest.mark.parametrize(("text", "part"), [("0", 0.0), ("10", 10.0), ("0.3", 0.3), (" Rare ", 0.4)])
def test_numbers_and_spelling(text: str, part: float) -> None:
    assert refire.fraction(text, {}) == part


@pytest.mark.parametrize("text", ["11", "-1", "nan", "inf", "often", "1e9"])
def test_what_is_unusable_counts_as_normal(text: str) -> None:
    assert refire.fraction(text, {}) == 0.15


def test_settings_override_and_add_presets() -> None:
    assert refire.fraction("rare", {"rare": 0.7}) == 0.7
    assert refire.fraction("weekly", {"weekly": 2.0}) == 2.0


def test_held_until_the_part_of_the_window_has_passed() -> None:
    assert not refire.held(0, None, 1.0, 200_000)
    assert refire.held(29_999, 0, 0.15, 200_000)
    assert not refire.held(30_000, 0, 0.15, 200_000)
    assert refire.held(10, 500, 0.15, 200_000), "a position below the marker is distance 0"
    assert not refire.held(10, 500, 0.0, 200_000), "cadence 0 never holds"


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.floats(0, 10), st.integers(1, 10**6))
def test_held_is_monotone_in_the_position(position: int, marker: int, part: float, window: int) -> None:
    if not refire.held(position, marker, part, window):
        assert not refire.held(position + 1000, marker, part, window)


@given(st.lists(st.text(max_size=4000), max_size=12))
def test_the_joined_text_never_exceeds_the_limit(texts: list[str]) -> None:
    budget = Budget()
    for text in texts:
        fitted = budget.fits(text)
        assert budget.admit(text) == fitted
    assert utf16_length(budget.text) <= LIMIT


def test_case_h26_first_and_third_fit() -> None:
    budget = Budget()
    assert [budget.admit("x" * 6000), budget.admit("y" * 6000), budget.admit("z" * 3000)] == [
        True,
        False,
        True,
    ]


def test_characters_beyond_the_basic_plane_count_twice() -> None:
    budget = Budget(limit=10)
    assert not budget.fits("😀" * 6) and budget.admit("😀" * 5) and budget.left == 0
