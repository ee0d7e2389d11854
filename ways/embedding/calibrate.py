"""Calibration of a lane: from a cosine to the probability that the way is wanted (spec: matching).

g(s) = 1/(1 + exp(-(a*s + b))), fitted by logistic regression on the committed probe corpus, the
score of a probe being its highest cosine over the way's alias rows. Only ways of the core root
take part: the probes name them, and a user's own ways must not move everyone's thresholds.
Nothing that was recorded while the program ran ever comes in here.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from itertools import groupby
from math import exp, inf, isfinite, log1p, nan, sqrt
from operator import itemgetter
from typing import TYPE_CHECKING

from ways.core import files

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBES_FILE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "matching", "calibration_probes.jsonl")
MIN_AUC = 0.70
MIN_PER_CLASS = 10
MAX_PROBES_BYTES = 16 << 20
_MAX_STEPS = 100
_TOLERANCE = 1e-9
_MAX_SLOPE = 1e6


@dataclass(frozen=True)
class Probe:
    """One line of the probe corpus: a text a user may write, a core way's id, whether it fits."""

    text: str
    way: str
    relevant: bool


@dataclass(frozen=True)
class Calibration:
    """The outcome for one lane. `fit` is (a, b), or None with the `reason` why the lane is left
    uncalibrated. `auc` is None when it is undefined; `samples` are those that took part, `dropped`
    those whose score was not finite or whose way has no row."""

    fit: tuple[float, float] | None
    auc: float | None
    samples: int
    dropped: int = 0
    reason: str = ""


class BadProbes(Exception):
    """The probe corpus cannot be read: path, 1-based line (0 for the file), what is wrong."""

    def __init__(self, path: str, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}" if line else f"{path}: {what}")
        self.path = path
        self.line = line
        self.what = what


def read_probes(path: str = PROBES_FILE) -> tuple[Probe, ...]:
    """The probes of a file, blank lines skipped. Raises BadProbes for anything else in it."""
    try:
        data = files.read_bytes(path, MAX_PROBES_BYTES)
    except OSError as error:
        raise BadProbes(path, 0, error.strerror or str(error)) from error
    lines = data.decode("utf-8", "replace").split("\n")
    return tuple(_probe(path, number, line) for number, line in enumerate(lines, 1) if line.strip())


def _probe(path: str, number: int, line: str) -> Probe:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise BadProbes(path, number, f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadProbes(path, number, "not an object")
    text, way, relevant = value.get("text"), value.get("way"), value.get("relevant")
    if not isinstance(text, str) or not isinstance(way, str) or not isinstance(relevant, bool):
        raise BadProbes(path, number, "needs text (string), way (string) and relevant (true or false)")
    return Probe(text, way, relevant)


def calibrate(scores: Sequence[float], relevant: Sequence[bool]) -> Calibration:
    """The calibration from scores (NaN or infinite: dropped) and their labels, of equal length.

    The lane stays uncalibrated, with the reason, when a class has fewer than 10 samples, when the
    AUC is under 0.70, or when the fit has a <= 0 or is not finite.
    """
    if len(scores) != len(relevant):
        raise ValueError("one label a score")
    usable = [(score, label) for score, label in zip(scores, relevant, strict=True) if isfinite(score)]
    s, y = [score for score, _ in usable], [label for _, label in usable]
    dropped = len(scores) - len(s)
    positives = sum(y)
    if min(positives, len(s) - positives) < MIN_PER_CLASS:
        found = f"{positives} relevant and {len(s) - positives} not"
        reason = f"too few probes: {found}, {MIN_PER_CLASS} of each are needed"
        return Calibration(None, None, len(s), dropped, reason)
    auc = area_under_curve(s, y)
    if auc < MIN_AUC:
        reason = f"AUC {auc:.3f} is under {MIN_AUC:.2f}"
        return Calibration(None, auc, len(s), dropped, reason)
    a, b = fit_logistic(s, y)
    if not (isfinite(a) and isfinite(b)) or a <= 0:
        return Calibration(None, auc, len(s), dropped, f"the fit is unusable (a={a:.4g}, b={b:.4g})")
    return Calibration((a, b), auc, len(s), dropped)


def area_under_curve(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """The probability that a relevant sample scores above an irrelevant one, ties counting half.

    Both classes must be present.
    """
    above, below, positives = 0.0, 0, 0
    for _, samples in groupby(sorted(zip(scores, relevant, strict=True)), key=itemgetter(0)):
        labels = [label for _, label in samples]
        hits = sum(labels)
        above += hits * (below + (len(labels) - hits) / 2)
        below += len(labels) - hits
        positives += hits
    return above / (positives * below)


def fit_logistic(scores: Sequence[float], relevant: Sequence[bool]) -> tuple[float, float]:
    """(a, b) of the maximum-likelihood logistic curve.

    Where a threshold separates the classes the likelihood has no maximum; then Platt's smoothed
    targets (n+1)/(n+2) are used, which have one. Answers (nan, nan) when that fails too.
    """
    if not _separable(scores, relevant):
        a, b = _newton(scores, [float(label) for label in relevant])
        if isfinite(a) and abs(a) < _MAX_SLOPE:
            return a, b
    positives = sum(relevant)
    wanted, unwanted = (positives + 1) / (positives + 2), 1 / (len(relevant) - positives + 2)
    return _newton(scores, [wanted if label else unwanted for label in relevant])


def _separable(scores: Sequence[float], relevant: Sequence[bool]) -> bool:
    above = [score for score, label in zip(scores, relevant, strict=True) if label]
    below = [score for score, label in zip(scores, relevant, strict=True) if not label]
    return min(above) >= max(below) or min(below) >= max(above)


def _newton(scores: Sequence[float], targets: Sequence[float]) -> tuple[float, float]:
    """Newton's method with step halving on standardised scores; (nan, nan) without convergence."""
    centre = sum(scores) / len(scores)
    spread = sqrt(sum((score - centre) * (score - centre) for score in scores) / len(scores))
    if not 0 < spread < inf:
        return nan, nan
    points = [(score - centre) / spread for score in scores]
    slope = shift = 0.0
    loss = _loss(points, targets, slope, shift)
    for _ in range(_MAX_STEPS):
        steps = _steps(points, targets, slope, shift)
        if steps is None:
            return nan, nan
        by_slope, by_shift = steps
        scale, new_loss = 1.0, inf
        while scale > 1e-6:
            new_loss = _loss(points, targets, slope - scale * by_slope, shift - scale * by_shift)
            if new_loss <= loss:
                break
            scale /= 2
        else:
            return _unscaled(slope, shift, centre, spread)
        slope, shift = slope - scale * by_slope, shift - scale * by_shift
        small = scale * max(abs(by_slope), abs(by_shift)) <= 1e-7
        if small and loss - new_loss <= _TOLERANCE * (1 + abs(loss)):
            return _unscaled(slope, shift, centre, spread)
        loss = new_loss
    return nan, nan


def _steps(
    points: Sequence[float], targets: Sequence[float], slope: float, shift: float
) -> tuple[float, float] | None:
    """The inverse of the second derivatives times the first ones; None where there is no inverse."""
    first_slope = first_shift = both_slope = mixed = both_shift = 0.0
    for point, target in zip(points, targets, strict=True):
        p = 1.0 / (1.0 + exp(-max(-700.0, min(700.0, slope * point + shift))))
        rest, weight = p - target, p * (1.0 - p)
        first_slope += rest * point
        first_shift += rest
        both_slope += weight * point * point
        mixed += weight * point
        both_shift += weight
    determinant = both_slope * both_shift - mixed * mixed
    if not determinant > 0:
        return None
    return (
        (both_shift * first_slope - mixed * first_shift) / determinant,
        (both_slope * first_shift - mixed * first_slope) / determinant,
    )


def _loss(points: Sequence[float], targets: Sequence[float], slope: float, shift: float) -> float:
    """The negative log likelihood."""
    total = 0.0
    for point, target in zip(points, targets, strict=True):
        z = slope * point + shift
        total += max(z, 0.0) + log1p(exp(-abs(z))) - target * z
    return total


def _unscaled(slope: float, shift: float, centre: float, spread: float) -> tuple[float, float]:
    return slope / spread, shift - slope / spread * centre
