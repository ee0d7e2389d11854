"""Numbers out of events. Every value in the log is text, and the log may be damaged or another's."""

from __future__ import annotations

import math
from collections.abc import Mapping


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
