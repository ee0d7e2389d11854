"""What is judged and what a verdict does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ways.gate.plan import Plan, plan, rule, verdict_word
from ways.gate.types import GateHit

SEGMENTS = st.sampled_from(["a", "b", "c"])


@st.composite
def hit_lists(draw: st.DrawFn) -> tuple[GateHit, ...]:
    ids = draw(st.lists(st.lists(SEGMENTS, min_size=1, max_size=4).map("/".join), unique=True, max_size=20))
    hits = []
    for name in ids:
        parts = name.split("/")
        ancestors = tuple("/".join(parts[:count]) for count in range(len(parts) - 1, 0, -1))
        hits.append(GateHit(name, name, draw(st.booleans()), ancestors))
    return tuple(hits)


@given(hit_lists(), st.integers(1, 8))
def test_strict_hits_are_dropped_and_the_order_is_kept(hits: tuple[GateHit, ...], cap: int) -> None:
    planned = plan(hits, cap)
    assert len(planned.judged) <= cap
    assert planned.judged + planned.unjudged == tuple(hit for hit in hits if not hit.strict)
    assert not planned.unjudged or len(planned.judged) == cap


@given(hit_lists(), st.integers(1, 8), st.data())
def test_nothing_is_blocked_without_a_verdict_below_the_threshold(
    hits: tuple[GateHit, ...], cap: int, data: st.DataObject
) -> None:
    planned = plan(hits, cap)
    p_yes = {hit.id: data.draw(st.floats(0, 1)) for hit in planned.judged}
    rulings = rule(planned, p_yes, 0.3)
    by_id = {ruling.hit.id: ruling for ruling in rulings}
    for hit in planned.judged:
        assert by_id[hit.id].passed == (p_yes[hit.id] >= 0.3)
    failed = {name for name, p in p_yes.items() if p < 0.3}
    for hit in planned.unjudged:
        assert (hit.id in by_id) == bool(failed & set(hit.ancestors))
    for hit in hits:
        if hit.strict:
            assert hit.id not in by_id


def test_the_threshold_itself_passes() -> None:
    planned = Plan((GateHit("a"),), ())
    assert rule(planned, {"a": 0.3}, 0.3)[0].passed
    assert not rule(planned, {"a": 0.2999}, 0.3)[0].passed


def test_the_nearest_blocked_ancestor_is_named() -> None:
    child = GateHit("a/b/c", ancestors=("a/b", "a"))
    planned = Plan((GateHit("a"), GateHit("a/b", ancestors=("a",))), (child,))
    rulings = rule(planned, {"a": 0.0, "a/b": 0.0}, 0.3)
    assert rulings[-1].ancestor == "a/b"
    assert verdict_word(rulings[-1], "enforce") == "block"
    assert verdict_word(rulings[-1], "shadow") == "would_block"
    assert rule(planned, {"a": 0.0, "a/b": 1.0}, 0.3)[-1].ancestor == "a"
