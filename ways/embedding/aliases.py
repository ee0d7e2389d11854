"""The text of an alias as the corpus embeds it; scoring finds it again by its hash."""

from __future__ import annotations

from ways.core import text

MAX_ALIAS = 2000


def alias_text(words: str) -> str:
    """An alias on one line of at most 2,000 characters, "" when there is nothing to embed."""
    return " ".join(text.clean(words).split())[:MAX_ALIAS]
