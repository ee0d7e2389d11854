"""One scan: keyword hits and scores in, verdict out (spec: matching)."""

from __future__ import annotations

from ways.matching import late, semantic
from ways.matching.order import order_hits
from ways.matching.types import NO_SIGNAL, PROMPT, QUEUED, TASK, Gated, Hit, Tuning, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ways.catalogue.way import Way
    from ways.matching.semantic import Probabilities
    from ways.matching.types import Candidate, KeywordHit, Scores

# The surfaces on which a keyword needs the floor; a command or a path says by itself what it is.
FLOORED = frozenset([PROMPT, QUEUED, TASK])


def match(
    surface: str,
    keyword_hits: Iterable[KeywordHit],
    candidates: Sequence[Candidate],
    scores: Scores = NO_SIGNAL,
    tuning: Tuning | None = None,
    rescore_prompt: Callable[[], Scores] | None = None,
) -> Verdict:
    """The verdict of one scan.

    `candidates` are in tree order; a keyword hit of a way that is not among them is ignored.
    `rescore_prompt` gives the scores of the prompt without Claude's last response; pass it only when
    `scores` are of a surface that held the response. It is called at most once, before a veto (case h12).
    """
    tuning = Tuning() if tuning is None else tuning
    allowed = {candidate.way.id for candidate in candidates}
    known = {candidate.way.id: semantic.probabilities(candidate.way, scores) for candidate in candidates}
    keyword = [hit for hit in keyword_hits if hit.way.id in allowed]
    fired, vetoed = _apply_floor(surface, keyword, known, scores, tuning, rescore_prompt)
    explicit = [_explicit(hit, known[hit.way.id]) for hit in fired]
    explicit_ids = {hit.way.id for hit in explicit}
    by_late = late.can_run(surface, scores)
    if by_late:
        found = late.fire(candidates, scores, tuning)
    else:
        found = semantic.single_vector(surface, candidates, known, explicit_ids, tuning)
    hits = order_hits((*explicit, *(hit for hit in found if hit.way.id not in explicit_ids)))
    fired_ids = {hit.way.id for hit in hits}
    return Verdict(
        hits=hits,
        gated=tuple(gated for gated in vetoed if gated.way.id not in fired_ids),
        near_misses=tuple(semantic.near_misses(candidates, known, fired_ids, tuning, with_boost=not by_late)),
    )


def _apply_floor(
    surface: str,
    hits: Sequence[KeywordHit],
    known: dict[str, Probabilities],
    scores: Scores,
    tuning: Tuning,
    rescore_prompt: Callable[[], Scores] | None,
) -> tuple[list[KeywordHit], list[Gated]]:
    """The hits that fire, and those below the floor."""
    fired: list[KeywordHit] = []
    vetoed: list[Gated] = []
    again: Scores | None = None
    for hit in hits:
        first = known[hit.way.id]
        open_to_all = surface not in FLOORED or hit.strict
        if open_to_all or _reaches_floor(first, tuning) or not has_signal(hit.way, scores):
            fired.append(hit)
            continue
        if rescore_prompt is not None:
            again = rescore_prompt() if again is None else again
            second = semantic.probabilities(hit.way, again)
            # Without an answer to the second question the first answer stands.
            if second.best is not None and _reaches_floor(second, tuning):
                fired.append(hit)
                continue
        vetoed.append(Gated(hit.way, hit.span, tuning.keyword_floor_probability, first.en, first.multi))
    return fired, vetoed


def _reaches_floor(probabilities: Probabilities, tuning: Tuning) -> bool:
    """g(s) ≥ τ_k on either lane. Without a calibrated signal on any lane: fails open."""
    best = probabilities.best
    return best is None or best >= tuning.keyword_floor_probability


def has_signal(way: Way, scores: Scores) -> bool:
    """True when a calibrated lane has scored the way as it is now. One that was written or changed since
    the corpus was built has not been embedded, so its keyword fails open until then."""
    lanes = (lane for _name, lane in scores.lanes if lane.fit is not None)
    return any(lane.holds is None or lane.holds(way) for lane in lanes)


def _explicit(hit: KeywordHit, probabilities: Probabilities) -> Hit:
    """The hit of an explicit trigger; its score only orders it among its siblings."""
    return Hit(hit.way, hit.trigger, explicit=True, score=probabilities.best or 0.0, span=hit.span)
