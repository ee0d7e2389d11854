"""Which checks are due on a command or a file (spec: the way format, checks)."""

from __future__ import annotations

from ways.catalogue.body import body, check_sections
from ways.lanes.rules import rules
from ways.lanes.showing import Showing
from ways.matching import candidates
from ways.matching import checks as decision
from ways.matching.semantic import probability

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ways.catalogue.way import Check
    from ways.lanes.context import Context
    from ways.lanes.scan import Reading


def due(context: Context, reading: Reading, shown_now: Iterable[Showing]) -> list[Showing]:
    """The checks that are due on this action; a parent never shown comes first (spec: Checks)."""
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
    known = [probability(check.corpus_id, lane) for _name, lane in reading.lanes]
    best = max((p for p in known if p is not None), default=None)
    gate = context.tuning.semantic_fire_probability
    return best if best is not None and best >= gate else None


def _with_semantic(context: Context, reading: Reading) -> list[tuple[Check, bool]]:
    """The regex hits, then the other checks that the corpus has rows for."""
    found = list(reading.checks)
    if reading.lanes:
        known = {check.id for check, _hit in found}
        found.extend(
            (check, False) for check in context.catalogue.checks if check.alias and check.id not in known
        )
    return found
