"""What `ways agent status` tells of a running agent's life."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ways.gate import fallback

_KEPT_LATENCIES = 1000


@dataclass
class Stats:
    """Counts since the agent started; latencies of the last 1,000 provider calls, in milliseconds."""

    requests: int = 0
    verdicts: int = 0
    calls: int = 0
    fallbacks: Counter[str] = field(default_factory=Counter)
    latencies: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT_LATENCIES))

    def count_fallback(self, reason: str) -> None:
        """Count by the part before the colon."""
        self.fallbacks[fallback.word_of(reason)] += 1

    def as_data(self) -> dict[str, Any]:
        """Plain data for the reply."""
        return {
            "requests": self.requests,
            "verdicts": self.verdicts,
            "calls": self.calls,
            "fallbacks": dict(self.fallbacks),
            "latency_ms": percentiles(self.latencies),
        }


def percentiles(values: Iterable[float]) -> dict[str, int]:
    """The 50th, 90th and 99th percentile (nearest rank), empty without values."""
    ordered = sorted(values)
    if not ordered:
        return {}
    ranks = {f"p{percent}": -(-len(ordered) * percent // 100) - 1 for percent in (50, 90, 99)}
    return {name: round(ordered[rank]) for name, rank in ranks.items()}
