"""The providers: what is asked of each, in its own documented format, and how its answers read.

Pure: requests are built and answers are read here; sending is `ways.agent.transport`'s job.
"""

from __future__ import annotations

from ways.agent.providers import anthropic, openrouter
from ways.agent.providers.base import Provider
from ways.gate import settings

_ALL: dict[str, Provider] = {
    settings.ANTHROPIC: anthropic.Anthropic(),
    settings.OPENROUTER: openrouter.OpenRouter(),
}


def provider(name: str) -> Provider:
    """The provider that a profile names. Raises KeyError for another."""
    return _ALL[name]
