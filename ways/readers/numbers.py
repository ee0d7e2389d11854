"""Numbers out of events. Every value in the log is text, and the log may be damaged or another's."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ways.session.stamps import seconds_of


def whole(event: Mapping[str, str], name: str) -> int | None:
    """The field as a whole number from 0 up, None when it is absent or anything else."""
    text = event.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None


def real(event: Mapping[str, str], name: str) -> float | None:
    """The field as a finite number, None when it is absent or anything else."""
    text = event.get(name)
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class Moments:
    """Times of many events in a row: a day is converted once."""

    def __init__(self) -> None:
        self._day = ""
        self._base = 0.0

    def seconds(self, stamp: str) -> float:
        """Seconds since the epoch of a `ts`; 0 for anything else."""
        digits = f"{stamp[11:13]}{stamp[14:16]}{stamp[17:19]}{stamp[20:23]}"
        if len(stamp) != 24 or stamp[-1] != "Z" or not digits.isascii() or not digits.isdigit():
            return seconds_of(stamp) or 0.0
        if stamp[:10] != self._day:
            base = seconds_of(f"{stamp[:10]}T00:00:00Z")
            if base is None:
                return 0.0
            self._day, self._base = stamp[:10], base
        hours, minutes, seconds, thousandths = digits[:2], digits[2:4], digits[4:6], digits[6:]
        return self._base + int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(thousandths) / 1000
