"""When a way that was shown may show again (spec: disclosure, Refire), for views."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ways.catalogue.way import SESSION_START, Catalogue
from ways.disclosure import refire


@dataclass(frozen=True)
class Cadence:
    """`part` of the window must pass; None when the way is not in the catalogue any more. `once`: it
    shows once until the session's state is cleared."""

    part: float | None
    once: bool = False


class Cadences:
    """The cadence of each way of a catalogue."""

    def __init__(self, catalogue: Catalogue, presets: Mapping[str, float]) -> None:
        self._catalogue = catalogue
        self._presets = presets
        self._known: dict[str, Cadence] = {}

    def of(self, way_id: str) -> Cadence:
        """The cadence of one way."""
        if way_id not in self._known:
            way = self._catalogue.find(way_id)
            if way is None:
                self._known[way_id] = Cadence(None)
            else:
                part = refire.fraction(way.refire, self._presets)
                self._known[way_id] = Cadence(part, once=way.trigger == SESSION_START)
        return self._known[way_id]


def tokens_left(cadence: Cadence, position: int, shown_at: int, window: int) -> int | None:
    """Tokens of context until the way may show again, 0 when it may now; None when nothing can be said
    (`once`, or the way is gone)."""
    if cadence.part is None or cadence.once:
        return None
    return max(0, math.ceil(cadence.part * window) - max(0, position - shown_at))


def in_words(cadence: Cadence, left: int | None) -> str:
    """The forecast for a table."""
    if cadence.once:
        return "after a reset"
    if left is None:
        return "way is gone"
    return "may show now" if left == 0 else f"in {left:,} tokens"
