"""Which literals a text holds: what decides, before any regex runs, whether one can match."""

from __future__ import annotations

# From this length on a text is asked for its trigrams first, and a match looked for only where it can begin.
LONG_TEXT = 300
# Trying one place costs about as much as searching through this many characters.
_PLACES_PER_CHARACTER = 6
# The letters beyond ASCII that match an ASCII letter when case is ignored.
_FOLDS = (("\u0130", "i"), ("\u0131", "i"), ("\u017f", "s"), ("\u212a", "k"))


def fold(text: str) -> str:
    """`text` in lower case, as long as before, so that an ASCII literal in lower case stands in the result
    exactly where `re` with IGNORECASE matches it in `text`."""
    if not text.isascii():
        for letter, plain in _FOLDS:
            text = text.replace(letter, plain)
    return text.lower()


class Sieve:
    """A folded text that is asked for many literals."""

    def __init__(self, text: str) -> None:
        self.text = text
        folded = fold(text)
        if not folded.isascii():
            # One byte a letter is searched much faster. Where `?` stands for another letter, a literal
            # with a question mark may be found that is not there; the regex still decides.
            folded = folded.encode("ascii", "replace").decode("ascii")
        self.folded = folded
        # In a long text most literals are missing, and the trigrams know that without a search.
        long = len(folded) > LONG_TEXT
        self._grams = {folded[at : at + 3] for at in range(len(folded) - 2)} if long else None

    def holds(self, literal: str) -> bool:
        """True when the literal occurs."""
        grams = self._grams
        if grams is not None:
            for at in range(len(literal) - 2):
                if literal[at : at + 3] not in grams:
                    return False
        return literal in self.folded

    def holds_one(self, literals: tuple[str, ...]) -> bool:
        """True when at least one of the literals occurs."""
        return any(map(self.holds, literals))

    def places(self, starts: tuple[tuple[str, int], ...]) -> list[int] | None:
        """Every position at which a match can begin, in order; None when there are too many to try singly."""
        most = len(self.text) // _PLACES_PER_CHARACTER
        found: set[int] = set()
        for literal, lead in starts:
            if not self.holds(literal):
                continue
            at = self.folded.find(literal)
            while at >= 0:
                found.update(range(max(at - lead, 0), at + 1))
                if len(found) > most:
                    return None
                at = self.folded.find(literal, at + 1)
        return sorted(found)
