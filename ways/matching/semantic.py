"""The calibrated single-vector channel (spec: matching, semantic channel)."""

from __future__ import annotations

import math

from ways.core.record import record
from ways.matching.tuning import fire_threshold, near_miss
from ways.matching.types import EN, Hit, NearMiss, embedding_trigger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.catalogue.way import Way
    from ways.matching.types import Candidate, LaneScores, Scores, Tuning


def calibrated(cosine: float, fit: tuple[float, float]) -> float:
    """g(s) = 1 / (1 + exp(-(a·s + b))): the probability for a cosine. A cosine that is no number gives 0."""
    slope, offset = fit
    power = slope * cosine + offset
    if math.isnan(power):
        return 0.0
    if power >= 0:
        return 1.0 / (1.0 + math.exp(-min(power, 700.0)))
    grown = math.exp(max(power, -700.0))
    return grown / (1.0 + grown)


def probability(way_corpus_id: str, lane: LaneScores | None) -> float | None:
    """g(s) of a way on a lane; None when the lane has no calibrated signal.

    An embeddable way for which the engine ran and returned no score counts as 0 (case h14: a score that
    is negative is a score).
    """
    if lane is None or lane.fit is None:
        return None
    cosine = lane.whole.get(way_corpus_id)
    return 0.0 if cosine is None else calibrated(cosine, lane.fit)


@record
class Probabilities:
    """g(s) of one way per lane, None on a lane without a calibrated signal."""

    en: float | None = None
    multi: float | None = None

    @property
    def best(self) -> float | None:
        """The highest of them, None when there is none."""
        known = [value for value in (self.en, self.multi) if value is not None]
        return max(known) if known else None

    @property
    def best_lane(self) -> str:
        """The lane of the highest; English when they are equal."""
        en = -1.0 if self.en is None else self.en
        return EN if self.multi is None or en >= self.multi else "multi"


def probabilities(way: Way, scores: Scores) -> Probabilities:
    """g(s) of a way on both lanes. A way that is not embeddable has no signal on either."""
    if not way.embeddable:
        return Probabilities()
    return Probabilities(probability(way.corpus_id, scores.en), probability(way.corpus_id, scores.multi))


def single_vector(
    surface: str,
    candidates: Iterable[Candidate],
    known: dict[str, Probabilities],
    fired: Iterable[str],
    tuning: Tuning,
) -> list[Hit]:
    """The ways that fire on their own probability, in tree order: a parent fires before its children.

    `known` holds the probabilities by way id, `fired` the ids that fired on a keyword in this scan: such a
    way is not fired again, but it lends its children a boost.
    """
    explicit = frozenset(fired)
    lending = set(explicit)
    hits = []
    for candidate in candidates:
        way = candidate.way
        best = known[way.id].best
        if best is None or way.id in explicit:
            continue
        ancestor = next((parent for parent in way.parent_ids if parent in lending), "")
        boosted = candidate.ancestor_shown or bool(ancestor)
        if best < fire_threshold(tuning, boosted):
            continue
        needs_boost = best < tuning.semantic_fire_probability and not candidate.ancestor_shown
        lending.add(way.id)
        hits.append(
            Hit(
                way,
                embedding_trigger(surface, known[way.id].best_lane),
                explicit=False,
                score=best,
                boosted_by=ancestor if needs_boost else "",
            )
        )
    return hits


def near_misses(
    candidates: Iterable[Candidate],
    known: dict[str, Probabilities],
    fired: Iterable[str],
    tuning: Tuning,
    with_boost: bool,
) -> list[NearMiss]:
    """The ways that nothing fired and whose g(s) lies at most the margin below τ_s on a lane.

    `with_boost`: the single vector decided, so a way below an ancestor that was shown or fired is measured
    against its boosted τ_s.
    """
    done = set(fired)
    found = []
    for candidate in candidates:
        way = candidate.way
        if way.id in done:
            continue
        boosted = with_boost and (candidate.ancestor_shown or any(p in done for p in way.parent_ids))
        threshold = fire_threshold(tuning, boosted)
        low = near_miss(threshold, tuning)
        each = known[way.id]
        if any(value is not None and low <= value < threshold for value in (each.en, each.multi)):
            found.append(NearMiss(way, threshold, each.en, each.multi))
    return found
