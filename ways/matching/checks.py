"""When a check is shown (spec: the way format, checks)."""

from __future__ import annotations

import math

from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Check

MAX_DISTANCE = 30
ANCHOR_DISTANCE = 5
REGEX_SCORE = 1.0
SEMANTIC_FACTOR = 2.0


@record
class CheckVerdict:
    """A check with the numbers behind the decision (event `check_fired`). `pull_parent`: its parent was
    never shown to this agent, so it comes along."""

    check: Check
    match_score: float
    distance: int
    fires: int
    effective: float
    shown: bool
    anchored: bool
    pull_parent: bool


def match_score(regex_hit: bool, probability: float | None) -> float:
    """1.0 for a hit of the check's own regex, else its calibrated probability × 2 (0 without one)."""
    if regex_hit:
        return REGEX_SCORE
    return 0.0 if probability is None else SEMANTIC_FACTOR * probability


def effective_score(score: float, distance: int, fires: int) -> float:
    """score × (ln(min(distance, 30) + 1) + 1) × 1/(fires + 1)."""
    near = min(max(distance, 0), MAX_DISTANCE)
    return score * (math.log(near + 1) + 1.0) / (max(fires, 0) + 1)


def decide(check: Check, score: float, epochs_since_parent: int | None, fires: int) -> CheckVerdict:
    """Whether a check is shown.

    `epochs_since_parent` is the number of epochs since the parent way was shown to this agent, None if it
    never was (then the distance is 30); `fires` how often this check was already shown in this session.
    """
    distance = MAX_DISTANCE if epochs_since_parent is None else max(epochs_since_parent, 0)
    effective = effective_score(score, distance, fires)
    return CheckVerdict(
        check=check,
        match_score=score,
        distance=distance,
        fires=fires,
        effective=effective,
        shown=score > 0.0 and effective >= check.threshold,
        anchored=distance >= ANCHOR_DISTANCE,
        pull_parent=epochs_since_parent is None,
    )
