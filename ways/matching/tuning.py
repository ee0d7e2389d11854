"""The numbers of matching, and the thresholds that follow from them (spec: matching)."""

from __future__ import annotations

from ways.core.record import record

# 0.5 × 0.8 and 0.5 - 0.05 must not miss by the last bit.
_DIGITS = 12
LAST_BIT = 1e-12


@record
class Tuning:
    """The numbers of the matching section; the settings of the same names override them."""

    semantic_fire_probability: float = 0.5
    keyword_floor_probability: float = 0.15
    parent_threshold_multiplier: float = 0.8
    parent_boost_floor: float = 0.30
    near_miss_margin: float = 0.05
    late_max_chunks: int = 12
    late_min_chunk: int = 12
    late_ways_per_chunk: int = 8
    late_temperature: float = 0.08
    late_share_gate: float = 0.15
    late_peak_gate: float = 0.50
    late_confirmed: int = 6
    late_body_chunks: int = 8
    late_confirm_gate: float = 0.35


def fire_threshold(tuning: Tuning, boosted: bool) -> float:
    """τ_s; with an ancestor shown or fired max(τ_s × multiplier, floor), never above τ_s itself."""
    plain = tuning.semantic_fire_probability
    if not boosted:
        return plain
    lowered = max(plain * tuning.parent_threshold_multiplier, tuning.parent_boost_floor)
    return min(plain, round(lowered, _DIGITS))


def near_miss(threshold: float, tuning: Tuning) -> float:
    """The lowest probability that is logged as just below this threshold."""
    return threshold - tuning.near_miss_margin - LAST_BIT
