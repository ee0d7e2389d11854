"""Reading a surface: which ways and checks it may match, what fires, and what a lane then wants to show.

Most hooks match nothing. So this looks first whether anything can match (the sieve of the catalogue, the
highest scores); what works out the rest is loaded only then.
"""

from __future__ import annotations

from ways.catalogue.way import shares_scope
from ways.core.record import record
from ways.matching.surfaces import COMMAND, FILE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Check, Way
    from ways.lanes.context import Context
    from ways.lanes.showing import Showing
    from ways.matching.types import Hit, KeywordHit, LaneScores, Scores


@record
class Surface:
    """One surface to scan. `text` is matched by regexes (`description` too, on the command surface);
    `semantic` is embedded, "" for no semantic channel; `alone` is the semantic text without Claude's
    last response, "" when it holds none; `chunked` allows late interaction."""

    kind: str
    text: str
    description: str = ""
    semantic: str = ""
    alone: str = ""
    chunked: bool = True


@record
class Reading:
    """What a scan found: what fires, in the order of admission, the check hits (check, whether its regex
    matched) and the scores, None without any that matter."""

    hits: tuple[Hit, ...] = ()
    checks: tuple[tuple[Check, bool], ...] = ()
    scores: Scores | None = None
    engine_missing: bool = False

    @property
    def lanes(self) -> tuple[tuple[str, LaneScores], ...]:
        """The lanes of the scores."""
        return () if self.scores is None else self.scores.lanes


def read(context: Context, surface: Surface, scopes: frozenset[str] | None = None) -> Reading:
    """Scan one surface. Logs what nearly fired; notes a regex that ran into the deadline."""
    ways = _possible(context, surface, scopes)
    checks = _possible_checks(context, surface)
    hits: tuple[KeywordHit, ...] = ()
    found: tuple[tuple[Check, bool], ...] = ()
    if ways or checks:
        from ways.lanes import regexes

        hits, found = regexes.search(context, surface, ways, checks)
    alone = not hits and not found
    scores, engine_missing = _semantic(context, surface, surface.semantic, alone)
    if alone and (scores is None or not scores.lanes):
        return Reading(engine_missing=engine_missing)
    from ways.lanes import verdicts

    rescore = None
    if surface.alone and surface.alone != surface.semantic:
        rescore = lambda: _semantic(context, surface, surface.alone)[0]  # noqa: E731
    verdict = verdicts.decide(context, surface, hits, scores, scopes, rescore)
    return Reading(verdict.hits, found, scores, engine_missing)


def showings(reading: Reading, surface: Surface) -> list[Showing]:
    """What fires as things to show, with the fields of their event."""
    if not reading.hits:
        return []
    from ways.lanes import verdicts

    return verdicts.showings(reading.hits, surface)


def _possible(context: Context, surface: Surface, scopes: frozenset[str] | None) -> list[Way]:
    """The ways in scope that a regex may match on this surface, in tree order; no regex has run yet."""
    catalogue = context.catalogue
    wanted = scopes

    def in_scope(scope: tuple[str, ...]) -> bool:
        nonlocal wanted
        if wanted is None:
            wanted = frozenset([context.scope])
        return shares_scope(scope, wanted, context.settings.default_scope)

    if surface.kind == FILE:
        return catalogue.may_match("files", surface.text, in_scope)
    if surface.kind != COMMAND:
        return catalogue.may_match("pattern", surface.text, in_scope)
    found = catalogue.may_match("commands", surface.text, in_scope)
    if surface.description:
        known = {way.id for way in found}
        more = [
            way
            for way in catalogue.may_match("pattern", surface.description, in_scope)
            if way.id not in known
        ]
        if more:
            ids = known | {way.id for way in more}
            return [way for way in catalogue.ways if way.id in ids]
    return found


def _possible_checks(context: Context, surface: Surface) -> list[Check]:
    """The checks whose own regex may match."""
    if surface.kind not in {COMMAND, FILE}:
        return []
    field = "commands" if surface.kind == COMMAND else "files"
    return context.catalogue.checks_that_may_match(field, surface.text)


def _semantic(
    context: Context, surface: Surface, semantic_text: str, alone: bool = False
) -> tuple[Scores | None, bool]:
    """The scores of a text, reduced and cut into chunks; nothing when the channel has no signal. With `alone`
    (no regex has matched) nothing too when no score comes near to mattering."""
    if not semantic_text.strip():
        return None, False
    from ways.matching.chunks import chunks
    from ways.matching.reduce import reduce_for_embed

    settings = context.settings
    reduced = reduce_for_embed(semantic_text, surface.kind)
    pieces = chunks(reduced) if surface.chunked else []
    localized = settings.language != "en"
    asked = None
    if alone and settings.engine_resident and not localized:
        from ways.embedding import near

        asked = near.ask(reduced, pieces, context.roots, settings.engine_idle_minutes)
        if asked is not None and near.is_nothing(asked, context.tuning):
            return None, False
    from ways.embedding.scoring import semantic_scores

    answer = semantic_scores(
        reduced,
        pieces if len(pieces) > 1 else (),
        context.roots,
        localized=localized,
        resident=settings.engine_resident,
        idle_minutes=settings.engine_idle_minutes,
        asked=asked,
    )
    if answer.reasons and (context.session is None or context.session.first_time("no-signal")):
        context.note(f"no semantic signal: {'; '.join(answer.reasons)}")
    return answer.scores, answer.engine_missing
