"""Reading a surface: candidates, regex hits, scores, verdict, and what a lane then wants to show."""

from __future__ import annotations

from ways.catalogue.patterns import Searcher
from ways.core.record import record
from ways.core.text import snippet
from ways.lanes.show import Showing
from ways.matching import candidates, keyword
from ways.matching.match import match
from ways.matching.types import COMMAND, FILE, NO_SIGNAL, PROMPT, TASK, Hit, Scores, Tuning, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ways.catalogue.way import Check, Way
    from ways.lanes.context import Context
    from ways.matching.candidates import Rules
    from ways.matching.keyword import Search

# What near-miss and gated rows are logged with (spec: telemetry).
_TRIGGER_WORD = {COMMAND: "bash", FILE: "file", TASK: "task"}


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
    """What a scan found: the verdict, the check hits (check, whether its regex matched) and the scores."""

    verdict: Verdict
    checks: tuple[tuple[Check, bool], ...] = ()
    scores: Scores = NO_SIGNAL
    engine_missing: bool = False


def rules(context: Context, scopes: frozenset[str] | None = None) -> Rules:
    """What a candidate must satisfy for this agent, or for the scopes of a stash."""
    from ways.catalogue.preconditions import Context as Facts
    from ways.catalogue.preconditions import holds

    settings = context.settings
    agent = context.agent
    facts = Facts(context.project, context.roots.home, lambda: context.transcript.model, context.environ)
    return candidates.Rules(
        scopes=frozenset([context.scope]) if scopes is None else scopes,
        precondition=lambda item: holds(item.when, facts),
        shown=agent.shown if agent is not None else lambda way_id: False,
        default_scope=settings.default_scope,
        switches=candidates.Switches(frozenset(settings.disabled_domains), settings.project_ways),
    )


def tuning(context: Context) -> Tuning:
    """The numbers of matching, with those that the settings change."""
    numbers: dict[str, Any] = dict(context.settings.matching)
    return Tuning(**numbers)


def is_eligible(context: Context, way: Way) -> bool:
    """Scope, switches and preconditions of one way for this agent."""
    return candidates.may_fire(way, rules(context))


def is_switched_on(context: Context, way: Way) -> bool:
    """Switches alone: for ways whose scope and preconditions were settled when they were stashed."""
    settings = context.settings
    switches = candidates.Switches(frozenset(settings.disabled_domains), settings.project_ways)
    return candidates.is_enabled(way.id, switches)


def read(context: Context, surface: Surface, scopes: frozenset[str] | None = None) -> Reading:
    """Scan one surface. Logs what nearly fired; notes a regex that ran into the deadline."""
    catalogue = context.catalogue
    texts = keyword.keyword_surface(surface.kind, surface.text, surface.description)
    with Searcher(catalogue.book) as searcher:
        possible = _possible(context, surface)
        hits = keyword.find(texts, possible, searcher.search) if possible else ()
        checks = _checks(context, surface, searcher.search)
        slow = (searcher.slow, searcher.skipped)
    if slow[0]:
        context.note(f"regex too slow: {snippet(slow[0], 200)!r}; {slow[1]} searches were not made")
    scores, engine_missing = _semantic(context, surface, surface.semantic)
    if not hits and not checks and scores == NO_SIGNAL:
        return Reading(Verdict(), engine_missing=engine_missing)
    wanted = None if scores.lanes else [hit.way for hit in hits]
    found = candidates.collect(catalogue, rules(context, scopes), wanted)
    rescore = None
    if surface.alone and surface.alone != surface.semantic:
        rescore = lambda: _semantic(context, surface, surface.alone)[0]  # noqa: E731
    verdict = match(surface.kind, hits, found, scores, tuning(context), rescore)
    _log_not_fired(context, surface, verdict)
    return Reading(verdict, checks, scores, engine_missing)


def _possible(context: Context, surface: Surface) -> list[Way]:
    """The ways that a regex may match on this surface, in tree order; no regex has run yet."""
    catalogue = context.catalogue
    if surface.kind == FILE:
        return catalogue.may_match("files", surface.text)
    if surface.kind != COMMAND:
        return catalogue.may_match("pattern", surface.text)
    found = catalogue.may_match("commands", surface.text)
    if surface.description:
        known = {way.id for way in found}
        more = [way for way in catalogue.may_match("pattern", surface.description) if way.id not in known]
        if more:
            ids = known | {way.id for way in more}
            return [way for way in catalogue.ways if way.id in ids]
    return found


def _checks(context: Context, surface: Surface, search: Search) -> tuple[tuple[Check, bool], ...]:
    """The checks whose own regex matches, then those that the semantic channel may still find."""
    if surface.kind not in {COMMAND, FILE}:
        return ()
    field = "commands" if surface.kind == COMMAND else "files"
    possible = context.catalogue.checks_that_may_match(field, surface.text)
    return tuple(
        (check, True) for check in possible if keyword.check_hit(check, surface.kind, surface.text, search)
    )


def _semantic(context: Context, surface: Surface, semantic_text: str) -> tuple[Scores, bool]:
    """The scores of a text, reduced and cut into chunks; nothing when the channel has no signal."""
    if not semantic_text.strip():
        return NO_SIGNAL, False
    from ways.embedding.scoring import semantic_scores
    from ways.matching.chunks import chunks
    from ways.matching.reduce import reduce_for_embed

    settings = context.settings
    reduced = reduce_for_embed(semantic_text, surface.kind)
    pieces = chunks(reduced) if surface.chunked else []
    answer = semantic_scores(
        reduced,
        pieces if len(pieces) > 1 else (),
        context.roots,
        localized=settings.language != "en",
        resident=settings.engine_resident,
        idle_minutes=settings.engine_idle_minutes,
    )
    if answer.reasons and (context.session is None or context.session.first_time("no-signal")):
        context.note(f"no semantic signal: {'; '.join(answer.reasons)}")
    return answer.scores, answer.engine_missing


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


def due_checks(context: Context, reading: Reading, shown_now: Iterable[Showing]) -> list[Showing]:
    """The checks that are due on this action; a parent never shown comes first (spec: Checks)."""
    from ways.catalogue.body import body, check_sections
    from ways.matching import checks as decision

    agent = context.agent
    engagement = agent.engagement() if agent is not None else {}
    epoch = agent.epoch() if agent is not None else 0
    pulled = {showing.way.id for showing in shown_now if showing.way is not None}
    allowed = rules(context)
    due: list[Showing] = []
    for check, regex_hit in _with_semantic(context, reading):
        parent = context.catalogue.find(check.id)
        if (
            parent is None
            or not candidates.may_fire(check, allowed)
            or not candidates.may_fire(parent, allowed)
        ):
            continue
        score = decision.match_score(regex_hit, _check_probability(context, reading, check))
        last = engagement.get(check.id)
        since = None if last is None else max(0, epoch - last["epoch"])
        fires = agent.check_fires(check.id) if agent is not None else 0
        verdict = decision.decide(check, score, since, fires)
        if not verdict.shown:
            continue
        try:
            anchor, text = check_sections(body(check.path))
        except OSError as error:
            context.note(f"{check.path}: {error.strerror or error}")
            continue
        if verdict.pull_parent and check.id not in pulled:
            due.append(Showing(way=parent, trigger="check-pull"))
        fields = (
            ("epoch", epoch),
            ("way_epoch", None if last is None else last["epoch"]),
            ("distance", verdict.distance),
            ("match_score", verdict.match_score),
            ("effective_score", verdict.effective),
            ("anchored", verdict.anchored),
        )
        whole = f"{anchor}\n\n{text}".strip() if verdict.anchored else text
        due.append(Showing(way=parent, check=check, fields=fields, text=whole))
    return due


def _check_probability(context: Context, reading: Reading, check: Check) -> float | None:
    """The check's own calibrated probability, None below the firing probability: what is no match
    of a way is no match of a check (docs/decisions/semantic-checks.md)."""
    from ways.matching.semantic import probability

    known = [probability(check.corpus_id, lane) for _name, lane in reading.scores.lanes]
    best = max((p for p in known if p is not None), default=None)
    gate = tuning(context).semantic_fire_probability
    return best if best is not None and best >= gate else None


def _with_semantic(context: Context, reading: Reading) -> list[tuple[Check, bool]]:
    """The regex hits, then the other checks that the corpus has rows for."""
    found = list(reading.checks)
    if reading.scores.lanes:
        known = {check.id for check, _hit in found}
        found.extend(
            (check, False) for check in context.catalogue.checks if check.alias and check.id not in known
        )
    return found


def held_document(wanted: Iterable[Showing]) -> dict[str, object]:
    """Showings as plain data, to be kept until the tool has ended."""
    return {
        "showings": [
            {
                "way": showing.way.id,
                "trigger": showing.trigger,
                "boosted_by": showing.boosted_by,
                "check": showing.check is not None,
                "fields": [list(pair) for pair in showing.fields],
                "text": showing.text,
            }
            for showing in wanted
            if showing.way is not None
        ]
    }


def take_held(context: Context) -> list[Showing]:
    """What the tool lanes kept for this tool call, once (setting `hooks.tool_delivery`)."""
    if context.session is None or not context.payload.tool_use_id:
        return []
    from ways.session import held

    document = held.take(context.session, context.payload.tool_use_id)
    rows = document.get("showings") if document is not None else None
    found: list[Showing] = []
    for row in rows if isinstance(rows, list) else []:
        way = context.catalogue.find(str(row.get("way", ""))) if isinstance(row, dict) else None
        if way is None or not is_switched_on(context, way):
            continue
        check = None
        if row.get("check"):
            check = next((item for item in context.catalogue.checks if item.id == way.id), None)
            if check is None:
                continue
        pairs = row.get("fields")
        fields = tuple((str(p[0]), p[1]) for p in pairs if len(p) == 2) if isinstance(pairs, list) else ()
        found.append(
            Showing(
                way=way,
                trigger=str(row.get("trigger", "")),
                boosted_by=str(row.get("boosted_by", "")),
                check=check,
                fields=fields,
                text=str(row.get("text", "")) if check is not None else "",
            )
        )
    return found
