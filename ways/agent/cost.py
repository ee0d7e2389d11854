"""What a call cost (spec: judge and agent, Cost)."""

from __future__ import annotations

from dataclasses import dataclass

from ways.agent.answer import Usage
from ways.gate.settings import Profile

PROVIDER, PRICE, NONE, UNKNOWN = "provider", "price", "none", "unknown"
_MILLION = 1_000_000


@dataclass(frozen=True)
class Cost:
    """US dollars and where the figure comes from: `provider`, `price` (tokens times the profile's
    pair), `none` (a refusal costs nothing), or `unknown` with `usd` None, which is never a zero."""

    usd: float | None
    source: str


def cost_of(status: int | None, usage: Usage, profile: Profile) -> Cost:
    """The cost of a call that ended with `status` (None: no response came) and `usage`.

    A refusal (4xx) costs nothing, but for 408: the provider may have worked until its own timeout.
    Cached tokens are counted at the input price: nothing that we send asks for a cache.
    """
    if usage.cost_usd is not None:
        return Cost(usage.cost_usd, PROVIDER)
    if status is not None and 400 <= status < 500 and status != 408:
        return Cost(0.0, NONE)
    if profile.price_input is None or profile.price_output is None:
        return Cost(None, UNKNOWN)
    if usage.input_tokens is None or usage.output_tokens is None:
        return Cost(None, UNKNOWN)
    sent = usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    return Cost((sent * profile.price_input + usage.output_tokens * profile.price_output) / _MILLION, PRICE)


def usd_text(usd: float) -> str:
    """Dollars as they are logged: plain decimals, up to nine of them, no exponent."""
    return f"{usd:.9f}".rstrip("0").rstrip(".")
