from __future__ import annotations

import json
import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.embedding import calibrate
from ways.embedding.calibrate import BadProbes, Probe


def drawn(a, b, count=4000, seed=7):
    """Scores between -0.2 and 0.9 with labels drawn from g of (a, b)."""
    random.seed(seed)
    scores = [random.uniform(-0.2, 0.9) for _ in range(count)]
    labels = [random.random() < 1 / (1 + math.exp(-(a * score + b))) for score in scores]
    return scores, labels


def test_the_curve_that_made_the_labels_is_found_again():
    result = calibrate.calibrate(*drawn(14.0, -5.6))
    a, b = result.fit
    assert a == pytest.approx(14.0, rel=0.1)
    assert -b / a == pytest.approx(0.4, abs=0.01)
    assert result.auc > 0.9
    assert (result.samples, result.dropped, result.reason) == (4000, 0, "")


def test_the_fit_is_the_maximum_of_the_likelihood():
    scores, labels = drawn(9.0, -3.0, count=300)
    a, b = calibrate.calibrate(scores, labels).fit
    s, y = np.array(scores), np.array(labels, dtype=float)
    residual = y - 1 / (1 + np.exp(-(a * s + b)))
    assert residual.sum() == pytest.approx(0, abs=1e-5)
    assert (residual * s).sum() == pytest.approx(0, abs=1e-5)


def test_not_finite_samples_are_dropped():
    scores, labels = drawn(14.0, -5.6, count=500)
    spoilt = [*scores, float("nan"), float("inf"), float("-inf")]
    result = calibrate.calibrate(spoilt, [*labels, True, False, True])
    assert (result.samples, result.dropped) == (500, 3)
    assert result.fit == calibrate.calibrate(scores, labels).fit


def test_an_auc_under_the_gate_leaves_the_lane_uncalibrated():
    result = calibrate.calibrate(*drawn(1.0, 0.0))
    assert result.fit is None
    assert result.auc < calibrate.MIN_AUC
    assert "under 0.70" in result.reason


def test_a_falling_curve_is_never_accepted():
    scores, labels = drawn(14.0, -5.6)
    result = calibrate.calibrate(scores, [not label for label in labels])
    assert result.fit is None
    assert result.auc < 0.5


def test_a_fit_with_a_falling_slope_is_rejected_whatever_its_auc(monkeypatch):
    monkeypatch.setattr(calibrate, "fit_logistic", lambda scores, labels: (-1.0, 0.5))
    result = calibrate.calibrate(*drawn(14.0, -5.6))
    assert result.fit is None
    assert "a=-1" in result.reason


def test_separable_classes_get_a_finite_fit_between_them():
    scores = [0.1 + at / 1000 for at in range(50)] + [0.6 + at / 1000 for at in range(50)]
    result = calibrate.calibrate(scores, [at >= 50 for at in range(100)])
    a, b = result.fit
    assert result.auc == 1.0
    assert 0 < a < 1000
    assert 0.2 < -b / a < 0.6


@pytest.mark.parametrize("positives", [0, 3, 40])
def test_one_class_alone_does_not_calibrate(positives):
    scores = [at / 40 for at in range(40)]
    result = calibrate.calibrate(scores, [at < positives for at in range(40)])
    assert result.fit is None
    assert result.auc is None
    assert "too few" in result.reason


def test_equal_scores_have_no_signal():
    result = calibrate.calibrate([0.3] * 100, [at % 2 == 0 for at in range(100)])
    assert result.fit is None
    assert result.auc == pytest.approx(0.5)


def test_no_samples_at_all():
    assert calibrate.calibrate([], []).fit is None


def test_auc_counts_ties_as_half():
    scores = np.array([0.1, 0.4, 0.4, 0.9])
    assert calibrate.area_under_curve(scores, np.array([False, False, True, True])) == pytest.approx(0.875)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(min_value=-1, max_value=1, allow_subnormal=False).map(lambda x: round(x, 2)),
            st.booleans(),
        ),
        min_size=2,
        max_size=60,
    )
)
def test_auc_is_the_share_of_ordered_pairs(pairs):
    positives = [score for score, label in pairs if label]
    negatives = [score for score, label in pairs if not label]
    if not positives or not negatives:
        return
    wins = sum((p > n) + 0.5 * (p == n) for p in positives for n in negatives)
    found = calibrate.area_under_curve(
        np.array([score for score, _ in pairs]), np.array([label for _, label in pairs])
    )
    assert found == pytest.approx(wins / (len(positives) * len(negatives)))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(), st.booleans()), max_size=80))
def test_a_fit_is_finite_and_rising_or_there_is_none(pairs):
    result = calibrate.calibrate([score for score, _ in pairs], [label for _, label in pairs])
    if result.fit is not None:
        assert all(math.isfinite(value) for value in result.fit)
        assert result.fit[0] > 0
        assert result.auc >= calibrate.MIN_AUC
    else:
        assert result.reason


def test_probes_are_read(tmp_path):
    target = tmp_path / "probes.jsonl"
    target.write_text(
        '{"text": "écrire", "way": "a/b", "relevant": true}\n\n{"text": "x", "way": "c", "relevant": false}\n'
    )
    assert calibrate.read_probes(str(target)) == (Probe("écrire", "a/b", True), Probe("x", "c", False))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "not JSON"),
        ("[]", "not an object"),
        (json.dumps({"text": 1, "way": "a", "relevant": True}), "needs text"),
        (json.dumps({"text": "x", "way": "a", "relevant": 1}), "needs text"),
    ],
)
def test_a_bad_probe_is_named_with_its_line(tmp_path, line, what):
    target = tmp_path / "probes.jsonl"
    target.write_text('{"text": "x", "way": "a", "relevant": true}\n' + line + "\n")
    with pytest.raises(BadProbes, match=what) as caught:
        calibrate.read_probes(str(target))
    assert caught.value.line == 2
    assert f"{target}:2:" in str(caught.value)


def test_a_missing_probe_file_is_named(tmp_path):
    with pytest.raises(BadProbes, match="No such file"):
        calibrate.read_probes(str(tmp_path / "none"))
