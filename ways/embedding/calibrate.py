"""Calibration of a lane: from a cosine to the probability that the way is wanted (spec: matching).

g(s) = 1/(1 + exp(-(a*s + b))), fitted by logistic regression on the committed probe corpus, the
score of a probe being its highest cosine over the way's alias rows. Only ways of the core root
take part: the probes name them, and a user's own ways must not move everyone's thresholds.
Nothing that was recorded while the program ran ever comes in here.

Off the hook's path: numpy may be used.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ways.core import files

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

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
    all_scores = np.asarray(scores, dtype=np.float64)
    all_labels = np.asarray(relevant, dtype=bool)
    if all_scores.shape != all_labels.shape or all_scores.ndim != 1:
        raise ValueError("one label a score")
    usable = np.isfinite(all_scores)
    s, y = all_scores[usable], all_labels[usable]
    dropped = int(all_scores.size - s.size)
    positives = int(y.sum())
    if min(positives, s.size - positives) < MIN_PER_CLASS:
        found = f"{positives} relevant and {s.size - positives} not"
        reason = f"too few probes: {found}, {MIN_PER_CLASS} of each are needed"
        return Calibration(None, None, int(s.size), dropped, reason)
    auc = area_under_curve(s, y)
    if auc < MIN_AUC:
        reason = f"AUC {auc:.3f} is under {MIN_AUC:.2f}"
        return Calibration(None, auc, int(s.size), dropped, reason)
    a, b = fit_logistic(s, y)
    if not (np.isfinite(a) and np.isfinite(b)) or a <= 0:
        return Calibration(None, auc, int(s.size), dropped, f"the fit is unusable (a={a:.4g}, b={b:.4g})")
    return Calibration((a, b), auc, int(s.size), dropped)


def area_under_curve(scores: Floats, relevant: npt.NDArray[np.bool_]) -> float:
    """The probability that a relevant sample scores above an irrelevant one, ties counting half.

    Both classes must be present.
    """
    _, where, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2.0)[where]
    positives = int(relevant.sum())
    negatives = relevant.size - positives
    above = ranks[relevant].sum() - positives * (positives + 1) / 2.0
    return float(above / (positives * negatives))


def fit_logistic(scores: Floats, relevant: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """(a, b) of the maximum-likelihood logistic curve.

    Where a threshold separates the classes the likelihood has no maximum; then Platt's smoothed
    targets (n+1)/(n+2) are used, which have one. Answers (nan, nan) when that fails too.
    """
    hard = relevant.astype(np.float64)
    if not _separable(scores, relevant):
        a, b = _newton(scores, hard)
        if np.isfinite(a) and abs(a) < _MAX_SLOPE:
            return a, b
    positives = float(relevant.sum())
    negatives = relevant.size - positives
    smooth = np.where(relevant, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    return _newton(scores, smooth)


def _separable(scores: Floats, relevant: npt.NDArray[np.bool_]) -> bool:
    above, below = scores[relevant], scores[~relevant]
    return bool(above.min() >= below.max() or below.min() >= above.max())


def _newton(scores: Floats, targets: Floats) -> tuple[float, float]:
    """Newton's method with step halving on standardised scores; (nan, nan) without convergence."""
    centre, spread = float(scores.mean()), float(scores.std())
    if not spread > 0:
        return float("nan"), float("nan")
    design = np.stack([(scores - centre) / spread, np.ones_like(scores)], axis=1)
    weights = np.zeros(2)
    loss = _loss(design, targets, weights)
    for _ in range(_MAX_STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(design @ weights, -700, 700)))
        gradient = design.T @ (p - targets)
        hessian = (design * (p * (1 - p))[:, None]).T @ design
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:
            return float("nan"), float("nan")
        scale, new_loss = 1.0, np.inf
        while scale > 1e-6:
            new_loss = _loss(design, targets, weights - scale * step)
            if new_loss <= loss:
                break
            scale /= 2
        else:
            return _unscaled(weights, centre, spread)
        weights = weights - scale * step
        if loss - new_loss <= _TOLERANCE * (1 + abs(loss)) and np.abs(scale * step).max() <= 1e-7:
            return _unscaled(weights, centre, spread)
        loss = new_loss
    return float("nan"), float("nan")


def _loss(design: Floats, targets: Floats, weights: Floats) -> float:
    """The negative log likelihood."""
    z = design @ weights
    return float((np.logaddexp(0.0, z) - targets * z).sum())


def _unscaled(weights: Floats, centre: float, spread: float) -> tuple[float, float]:
    slope = float(weights[0]) / spread
    return slope, float(weights[1]) - slope * centre
