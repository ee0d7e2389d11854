"""What becomes of each way that a prompt concerns, in the order of the prompt lane.

Match, judge, refire, budget.
Nothing is shown, recorded or run: macros are left out, and the judge is asked only on demand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ways.cli import author_match
from ways.cli.author_match import GATED, HELD_BACK, REFUSED
from ways.core import text
from ways.disclosure import refire
from ways.disclosure.budget import Budget
from ways.matching.tuning import fire_threshold
from ways.matching.types import PROMPT

if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.cli.author_match import Row
    from ways.cli.place import Place
    from ways.matching.candidates import Rules
    from ways.matching.types import Hit, Tuning, Verdict
    from ways.session.state import Agent

SHOWN, INSIDE_REFIRE, NO_ROOM, WITH_ANCESTOR, BLOCKED, WOULD_BLOCK, GONE = (
    "shown",
    "inside its refire window",
    "no room in the answer",
    "held with its ancestor",
    "blocked by the judge",
    "shown, would be blocked",
    "file cannot be read",
)


@dataclass(frozen=True)
class Gate:
    """One number against its gate. `passed` is value ≥ threshold, for `room` value ≤ threshold."""

    name: str
    value: float
    threshold: float
    passed: bool


@dataclass(frozen=True)
class Told:
    """One way: what becomes of it, through which channel it matched, every number against its gate, and
    one sentence where the numbers do not say it all."""

    way: str
    result: str
    channel: str
    matched: str
    gates: tuple[Gate, ...]
    why: str


@dataclass(frozen=True)
class Reader:
    """Who gets the prompt: an agent's state (None: an agent to whom nothing was shown), its token position
    and window, and Claude's last response."""

    agent: Agent | None
    position: int
    window: int
    reply: str


@dataclass(frozen=True)
class Ruling:
    """What the judge said of one way: `verdict` pass, block or would_block; `p_yes` is None for a way
    that goes with its ancestor."""

    verdict: str
    p_yes: float | None
    threshold: float | None
    ancestor: str


Judge = Callable[[tuple["Hit", ...]], Mapping[str, Ruling]]


def explain(
    here: Place, prompt: str, rules: Rules, reader: Reader, limit: int, judge: Judge
) -> tuple[author_match.Explanation, tuple[Told, ...]]:
    """The scan, and what becomes of each way. `judge` gets the hits outside their refire window."""
    found, verdict = author_match.examine(here, PROMPT, prompt, rules, limit=limit, reply=reader.reply)
    presets = here.settings.refire_presets
    asked = tuple(hit for hit in verdict.hits if not is_held(hit.way, reader, presets))
    rulings = judge(asked) if asked else {}
    rows = {row.way: row for row in found.rows}
    told = _admit(here, verdict, rows, reader, rulings, found.decides)
    done = {each.way for each in told}
    rest = [_not_fired(row, here.tuning, verdict, found.decides) for row in found.rows if row.way not in done]
    return found, (*told, *rest)


def is_held(way: Way, reader: Reader, presets: Mapping[str, float]) -> bool:
    """True while the way is inside its refire window for this reader."""
    marker = reader.agent.marker(way.id) if reader.agent is not None else None
    return refire.held(reader.position, marker, refire.fraction(way.refire, presets), reader.window)


def _admit(
    here: Place,
    verdict: Verdict,
    rows: Mapping[str, Row],
    reader: Reader,
    rulings: Mapping[str, Ruling],
    decides: str,
) -> list[Told]:
    """The ways that fired, in the order of admission."""
    budget = Budget()
    shown: set[str] = set()
    told = []
    for hit in verdict.hits:
        one = Told(
            hit.way.id,
            SHOWN,
            hit.trigger,
            text.snippet(hit.span),
            _gates(rows[hit.way.id], hit, here.tuning, decides),
            rows[hit.way.id].why,
        )
        one = _judged(one, rulings.get(hit.way.id), hit)
        if one.result != BLOCKED:
            one = _refired(one, hit.way, reader, here.settings.refire_presets)
        if one.result not in {BLOCKED, INSIDE_REFIRE}:
            if hit.boosted_by and hit.boosted_by not in shown:
                one = replace(one, result=WITH_ANCESTOR, why=f"it matched only because {hit.boosted_by} did")
            else:
                one = _fitted(one, hit.way, budget)
        if one.result in {SHOWN, WOULD_BLOCK}:
            shown.add(hit.way.id)
        told.append(one)
    return told


def _judged(one: Told, ruling: Ruling | None, hit: Hit) -> Told:
    if hit.explicit and hit.way.pattern_strict:
        return replace(one, why="pattern_strict: never judged")
    if ruling is None:
        return one
    gates = one.gates
    if ruling.p_yes is not None and ruling.threshold is not None:
        gates = (*gates, at_least("judge", ruling.p_yes, ruling.threshold))
    result = {"block": BLOCKED, "would_block": WOULD_BLOCK}.get(ruling.verdict, one.result)
    why = f"with its ancestor {ruling.ancestor}" if ruling.ancestor else one.why
    return replace(one, gates=gates, result=result, why=why)


def _refired(one: Told, way: Way, reader: Reader, presets: Mapping[str, float]) -> Told:
    marker = reader.agent.marker(way.id) if reader.agent is not None else None
    if marker is None:
        return one
    needed = refire.fraction(way.refire, presets) * reader.window
    since = max(0, reader.position - marker)
    gates = (*one.gates, at_least("refire tokens", since, needed))
    if not is_held(way, reader, presets):
        return replace(one, gates=gates)
    return replace(
        one, gates=gates, result=INSIDE_REFIRE, why=f"shown at {marker:,} tokens, now {reader.position:,}"
    )


def _fitted(one: Told, way: Way, budget: Budget) -> Told:
    from ways.catalogue.body import body

    try:
        words = body(way.path).strip("\n")
    except OSError as error:
        return replace(one, result=GONE, why=f"{way.path}: {error.strerror or error}")
    size, left = text.utf16_length(words), budget.left
    gates = (*one.gates, Gate("room", size, left, size <= left))
    if not budget.admit(words):
        return replace(one, gates=gates, result=NO_ROOM)
    why = (
        f"{one.why}; its macro adds to this"
        if one.why and way.macro
        else "its macro adds to this"
        if way.macro
        else one.why
    )
    return replace(one, gates=gates, why=why)


def _not_fired(row: Row, tuning: Tuning, verdict: Verdict, decides: str) -> Told:
    """A way that came close, or that may not fire here."""
    near = {miss.way.id: miss.tau_s for miss in verdict.near_misses}
    gates: tuple[Gate, ...] = ()
    if row.outcome == GATED:
        gates = _probabilities(row, tuning.keyword_floor_probability)
    elif row.outcome == REFUSED or decides == "late interaction":
        gates = _late(row, tuning)
    else:
        gates = _probabilities(row, near.get(row.way, tuning.semantic_fire_probability))
    why = row.why if row.outcome in {HELD_BACK, REFUSED} else ""
    if not gates and row.cosine_en is not None:
        why = f"cosine {row.cosine_en:.2f}, and the corpus is not calibrated, so it cannot fire on meaning"
    result = {"-": "not near"}.get(row.outcome, row.outcome)
    return Told(row.way, result, row.trigger, row.span, gates, why)


def _gates(row: Row, hit: Hit, tuning: Tuning, decides: str) -> tuple[Gate, ...]:
    """What the match itself was measured against."""
    if hit.explicit:
        strict = hit.way.pattern_strict
        return () if strict or row.why else _probabilities(row, tuning.keyword_floor_probability)
    if decides == "late interaction":
        return _late(row, tuning)
    boosted = bool(hit.boosted_by) or hit.score < tuning.semantic_fire_probability
    return _probabilities(row, fire_threshold(tuning, boosted))


def _probabilities(row: Row, threshold: float) -> tuple[Gate, ...]:
    pairs = (("p(en)", row.prob_en), ("p(multi)", row.prob_multi))
    return tuple(at_least(name, value, threshold) for name, value in pairs if value is not None)


def _late(row: Row, tuning: Tuning) -> tuple[Gate, ...]:
    pairs = (
        ("share", row.share, tuning.late_share_gate),
        ("peak", row.peak, tuning.late_peak_gate),
        ("body", row.body, tuning.late_confirm_gate),
    )
    return tuple(at_least(name, value, threshold) for name, value, threshold in pairs if value is not None)


def at_least(name: str, value: float, threshold: float) -> Gate:
    """A gate that is passed from the threshold on."""
    return Gate(name, value, threshold, value >= threshold)


def came_close(told: Told) -> bool:
    """True for a way that fired or nearly did."""
    return told.result != "not near"
