"""The admission order of hits (spec: matching, "Order, then admission")."""

from __future__ import annotations

from math import isnan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.matching.types import Hit


def order_hits(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Explicit hits before semantic ones; within each a parent before its children, siblings by falling
    score, then by id. Total and deterministic: the order of `hits` has no influence. One hit per way."""
    unique: dict[str, Hit] = {}
    for hit in hits:
        known = unique.get(hit.way.id)
        if known is None or _preference(hit) < _preference(known):
            unique[hit.way.id] = hit
    explicit = _forest([hit for hit in unique.values() if hit.explicit])
    semantic = _forest([hit for hit in unique.values() if not hit.explicit])
    return (*explicit, *semantic)


def _preference(hit: Hit) -> tuple[bool, float, str, str, str]:
    return not hit.explicit, -_score(hit), hit.trigger, hit.span, hit.boosted_by


def _score(hit: Hit) -> float:
    """A score that is no number would make the order depend on chance."""
    return 0.0 if isnan(hit.score) else hit.score


def _forest(hits: list[Hit]) -> list[Hit]:
    """Depth first from the ways without an ancestor among the hits."""
    present = {hit.way.id for hit in hits}
    below: dict[str, list[Hit]] = {}
    for hit in hits:
        parent = next((way_id for way_id in hit.way.parent_ids if way_id in present), "")
        below.setdefault(parent, []).append(hit)
    for siblings in below.values():
        siblings.sort(key=lambda hit: (-_score(hit), hit.way.id))
    ordered: list[Hit] = []
    waiting = list(reversed(below.get("", [])))
    while waiting:
        hit = waiting.pop()
        ordered.append(hit)
        waiting += reversed(below.get(hit.way.id, []))
    return ordered
