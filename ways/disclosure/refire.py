"""The refire cadence: when a way that was shown may be shown again (spec: disclosure, Refire)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PRESETS = {"once": 1.0, "rare": 0.4, "normal": 0.15, "frequent": 0.05}
DEFAULT = "normal"
HIGHEST = 10.0


def fraction(refire: str, presets: Mapping[str, float]) -> float:
    """The part of the context window that must pass before the way shows again.

    `refire` is the field as text: a preset name, a number from 0 to 10, or "" for the default.
    An unknown preset and a number out of range count as `normal` (lint names them).
    """
    table = {**PRESETS, **presets}
    name = refire.strip().lower() or DEFAULT
    if name in table:
        return table[name]
    try:
        number = float(name)
    except ValueError:
        return table[DEFAULT]
    return number if 0.0 <= number <= HIGHEST else table[DEFAULT]


def held(position: int, marker: int | None, part: float, window: int) -> bool:
    """True while a way shown at `marker` must not be shown again at `position` (both in tokens).

    A position below the marker (the transcript was replaced or resumed) is distance 0: held,
    unless the cadence is 0.
    """
    if marker is None:
        return False
    return max(0, position - marker) < part * window
