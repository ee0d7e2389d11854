"""Ways and scores for the tests of matching."""

from __future__ import annotations

from ways.catalogue.way import Way
from ways.matching.types import Candidate, LaneScores, Scores

# g(s) equals s at these points: a fit under which a wanted probability has a known cosine.
FIT = (10.0, -5.0)


def way(way_id: str, **fields) -> Way:
    values = {"description": f"about {way_id}", "corpus_id": f"core:{way_id}", **fields}
    return Way(id=way_id, path=f"/ways/{way_id}.md", root_kind="core", **values)


def cosine_for(probability: float) -> float:
    """The cosine at which g(s) under FIT is `probability`."""
    import math

    slope, offset = FIT
    return (math.log(probability / (1 - probability)) - offset) / slope


def lane(probabilities: dict[str, float], fit: tuple[float, float] | None = FIT, **more) -> LaneScores:
    whole = {f"core:{way_id}": cosine_for(value) for way_id, value in probabilities.items()}
    return LaneScores(fit=fit, whole=whole, **more)


def english(probabilities: dict[str, float], fit: tuple[float, float] | None = FIT, **more) -> Scores:
    return Scores(en=lane(probabilities, fit, **more))


def candidates(*ways: Way, shown: tuple[str, ...] = ()) -> list[Candidate]:
    ordered = sorted(ways, key=lambda each: each.id.split("/"))
    return [Candidate(each, any(parent in shown for parent in each.parent_ids)) for each in ordered]
