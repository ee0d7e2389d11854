"""From regex hits and scores to what fires: loaded when there are any (ways.lanes.scan)."""

from __future__ import annotations

from ways.core.text import snippet
from ways.lanes.rules import rules
from ways.lanes.showing import Showing
from ways.matching import candidates
from ways.matching.match import match
from ways.matching.types import COMMAND, FILE, NO_SIGNAL, PROMPT, TASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ways.lanes.context import Context
    from ways.lanes.scan import Surface
    from ways.matching.types import Hit, KeywordHit, Scores, Verdict

# What near-miss and gated rows are logged with (spec: telemetry).
_TRIGGER_WORD = {COMMAND: "bash", FILE: "file", TASK: "task"}


def decide(
    context: Context,
    surface: Surface,
    hits: Sequence[KeywordHit],
    scores: Scores | None,
    scopes: frozenset[str] | None,
    rescore: Callable[[], Scores | None] | None,
) -> Verdict:
    """What fires. Logs what nearly did."""
    scores = NO_SIGNAL if scores is None else scores
    wanted = None if scores.lanes else [hit.way for hit in hits]
    found = candidates.collect(context.catalogue, rules(context, scopes), wanted)
    again = None if rescore is None else lambda: rescore() or NO_SIGNAL
    verdict = match(surface.kind, hits, found, scores, context.tuning, again)
    _log_not_fired(context, surface, verdict)
    return verdict


def showings(hits: Iterable[Hit], surface: Surface) -> list[Showing]:
    """The hits as things to show, with the fields of their event."""
    return [
        Showing(way=hit.way, trigger=hit.trigger, boosted_by=hit.boosted_by, fields=_fields(hit, surface))
        for hit in hits
    ]


def _fields(hit: Hit, surface: Surface) -> tuple[tuple[str, object], ...]:
    if hit.explicit:
        return (("matched_span", snippet(hit.span)),)
    return (("fire_score", hit.score), ("surface", snippet(surface.semantic)))


def _log_not_fired(context: Context, surface: Surface, verdict: Verdict) -> None:
    trigger = _TRIGGER_WORD.get(surface.kind, PROMPT)
    for gated in verdict.gated:
        context.log(
            "way_keyword_gated",
            way=gated.way.id,
            domain=gated.way.domain,
            trigger=trigger,
            scope=context.scope,
            matched_span=snippet(gated.span),
            prob_en=gated.prob_en,
            prob_multi=gated.prob_multi,
            floor=gated.floor,
            token_position=context.position,
            corpus_id=gated.way.corpus_id,
        )
    for miss in verdict.near_misses:
        best = max(p for p in (miss.prob_en, miss.prob_multi) if p is not None)
        context.log(
            "way_nearmiss",
            way=miss.way.id,
            domain=miss.way.domain,
            trigger=trigger,
            scope=context.scope,
            corpus_id=miss.way.corpus_id,
            prob_en=miss.prob_en,
            prob_multi=miss.prob_multi,
            tau_s=miss.tau_s,
            margin=miss.tau_s - best,
            query_tokens=len(surface.semantic) // 4,
        )
