"""What the quick look at the highest scores calls nothing is nothing for the whole of matching."""

from __future__ import annotations

import math
from array import array

from hypothesis import given, settings
from hypothesis import strategies as st

from ways.catalogue.way import CORE, Way
from ways.embedding import header, near, wire
from ways.matching.match import match
from ways.matching.semantic import calibrated
from ways.matching.tuning import Tuning
from ways.matching.types import COMMAND, PROMPT, Candidate, LaneScores, Scores

IDS = ("a", "a/b", "a/b/c", "d", "e")
WAYS = [Way(way_id, f"/{way_id}", CORE, description="text", corpus_id=f"core:{way_id}") for way_id in IDS]
HASH = bytes(range(32))
COSINE = st.one_of(st.floats(-1, 1, width=32), st.just(math.nan))
ROW = st.lists(COSINE, min_size=len(IDS), max_size=len(IDS))
ROWS = st.lists(st.tuples(ROW, ROW), min_size=1, max_size=4)
FIT = st.tuples(st.floats(0.5, 40), st.floats(-30, 10))
PART = st.floats(0, 1)
TUNING = st.builds(
    Tuning,
    semantic_fire_probability=PART,
    parent_threshold_multiplier=PART,
    parent_boost_floor=PART,
    near_miss_margin=st.floats(0, 0.5),
    late_confirm_gate=PART,
    late_share_gate=PART,
    late_peak_gate=PART,
)


def asked(rows: list[tuple[list[float], list[float]]], fit: tuple[float, float] | None) -> near.Asked:
    """The question and its answer: aliases and bodies of the whole text, then of each chunk."""
    values = array("f", [value for aliases, bodies in rows for value in (*aliases, *bodies)])
    corpus = header.Header(
        dimensions=2,
        ids=len(IDS),
        rows=0,
        ids_at=0,
        ids_size=0,
        spans_at=0,
        hashes_at=0,
        rows_at=0,
        total=0,
        model_hash=HASH,
        corpus_hash=HASH,
        fit=fit,
        tables_checksum=b"",
        rows_checksum=b"",
    )
    texts = tuple(map(str, range(len(rows))))
    answer = wire.Answer(wire.OK, "1", "", HASH, values.tobytes())
    return near.Asked(corpus, texts, tuple(range(1, len(rows))), answer)


def mapped(row: list[float]) -> dict[str, float]:
    """A row as matching sees it: NaN is missing. Through float32, as the resident answers."""
    held = array("f", row)
    return {way.corpus_id: value for way, value in zip(WAYS, held, strict=True) if not math.isnan(value)}


@settings(max_examples=1500, deadline=None)
@given(
    st.lists(st.tuples(ROW, ROW), min_size=1, max_size=4),
    FIT,
    TUNING,
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_nothing_near_means_an_empty_verdict(rows, fit, tuning, shown) -> None:
    if len(rows) == 2:
        rows = rows[:1]  # one chunk alone is not asked for
    if not near.is_nothing(asked(rows, fit), tuning):
        return
    whole, chunks = mapped(rows[0][0]), rows[1:]
    lane = LaneScores(
        fit=fit,
        whole=whole,
        chunks=tuple(mapped(aliases) for aliases, _bodies in chunks),
        bodies=tuple(mapped(bodies) for _aliases, bodies in chunks),
    )
    candidates = [Candidate(way, above) for way, above in zip(WAYS, shown, strict=True)]
    verdict = match(PROMPT if chunks else COMMAND, (), candidates, Scores(en=lane), tuning)
    assert not verdict.hits and not verdict.near_misses and not verdict.gated
    # Nor does any check reach the probability that it needs.
    assert all(calibrated(cosine, fit) < tuning.semantic_fire_probability for cosine in whole.values())


@settings(max_examples=500, deadline=None)
@given(COSINE, FIT, PART)
def test_surely_below_is_never_wrong(cosine, fit, probability) -> None:
    if not math.isnan(cosine) and near.surely_below(cosine, fit, probability):
        assert calibrated(cosine, fit) < probability


def test_low_scores_are_nothing_and_high_ones_are_not() -> None:
    low, high = [0.05] * len(IDS), [0.05, 0.05, 0.9, 0.05, 0.05]
    fit = (10.0, -5.0)
    assert near.is_nothing(asked([(low, low)], fit), Tuning())
    assert not near.is_nothing(asked([(high, low)], fit), Tuning())
    assert near.is_nothing(asked([(low, low)] * 3, fit), Tuning())
    assert not near.is_nothing(asked([(low, low), (low, high), (low, low)], fit), Tuning())
    assert not near.is_nothing(asked([(low, low)], None), Tuning()), "a lane without a fit is weighed"
