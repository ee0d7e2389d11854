"""The budget of one hook answer (spec: disclosure, Budget and admission).

Claude Code moves a string of more than 10,000 characters to a file, where the agent may never look.
It counts as JavaScript does, in UTF-16 units, and it counts the joined text.
"""

from __future__ import annotations

from ways.core.text import utf16_length

LIMIT = 10_000
SEPARATOR = "\n\n"


class Budget:
    """Texts admitted to one answer, joined by a blank line, never above `limit` units."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.texts: list[str] = []
        self._used = 0

    @property
    def left(self) -> int:
        """Units that one more text may have."""
        return max(0, self.limit - self._used - (len(SEPARATOR) if self.texts else 0))

    def fits(self, text: str) -> bool:
        """True when `text` could be admitted now."""
        return utf16_length(text) <= self.left

    def admit(self, text: str) -> bool:
        """Add `text` when it fits. Returns whether it did."""
        if not self.fits(text):
            return False
        self._used += utf16_length(text) + (len(SEPARATOR) if self.texts else 0)
        self.texts.append(text)
        return True

    @property
    def text(self) -> str:
        """The joined text."""
        return SEPARATOR.join(self.texts)
