"""The gate's rules, pure: what is judged, and what a verdict does (spec: judge and agent, Gate)."""

from __future__ import annotations

from ways.core.record import record
from ways.gate.types import ENFORCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ways.gate.types import GateHit


@record
class Plan:
    """`judged`: the candidates, in order. `unjudged`: hits beyond the cap, which pass."""

    judged: tuple[GateHit, ...]
    unjudged: tuple[GateHit, ...]


@record
class Ruling:
    """What became of one hit: passed or not; `p_yes` is None for an unjudged one that was blocked
    with `ancestor`."""

    hit: GateHit
    passed: bool
    p_yes: float | None = None
    ancestor: str = ""


def plan(hits: tuple[GateHit, ...], max_candidates: int) -> Plan:
    """Drop the strict hits, which are none of the gate's business; cut the rest at the cap."""
    open_to_judgement = tuple(hit for hit in hits if not hit.strict)
    return Plan(open_to_judgement[:max_candidates], open_to_judgement[max_candidates:])


def rule(planned: Plan, p_yes: Mapping[str, float], threshold: float) -> tuple[Ruling, ...]:
    """The rulings on all judged hits, then on those unjudged ones whose ancestor was not passed."""
    rulings = [Ruling(hit, p_yes[hit.id] >= threshold, p_yes[hit.id]) for hit in planned.judged]
    failed = {ruling.hit.id for ruling in rulings if not ruling.passed}
    for hit in planned.unjudged:
        ancestor = next((name for name in hit.ancestors if name in failed), "")
        if ancestor:
            rulings.append(Ruling(hit, False, None, ancestor))
    return tuple(rulings)


def verdict_word(ruling: Ruling, mode: str) -> str:
    """`pass`, `block` or `would_block`, as it is logged."""
    if ruling.passed:
        return "pass"
    return "block" if mode == ENFORCE else "would_block"
