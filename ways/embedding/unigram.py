"""The tokenizer of the multilingual model: sentencepiece's unigram model over a mapped table.

Characters are normalised one by one, runs of spaces fold, a leading space is put before the text,
and the segmentation with the highest sum of piece scores wins; a character that no piece covers
costs `unknown_score` and becomes the unknown token. The result is cut to `max_tokens`, keeping the
final `</s>`.
"""

from __future__ import annotations

import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.embedding.modelfile import Tokenizer

LONGEST_PIECE = 16  # characters; sentencepiece trains no longer ones
_SPACE = "\u2581"
_SLICE = 8192
_NOWHERE = -1e30


class Unigram:
    """Text to token ids."""

    def __init__(self, tables: Tokenizer) -> None:
        notes = tables.notes
        self._tables = tables
        self.max_tokens = int(notes["max_tokens"])
        self._prefix = notes.get("prefix", "")
        self._cls, self._sep, self._unk = int(notes["cls"]), int(notes["sep"]), int(notes["unk"])
        self._normal: dict[int, str] | None = None

    def encode(self, text: str) -> list[int]:
        """`<s>` … `</s>`, at most `max_tokens` ids, of the text behind the model's prefix.

        Time is bounded: no more characters are segmented than that many pieces can cover.
        """
        limit = self.max_tokens - 2
        pieces = self._segment(self._normalise(self._prefix + text, limit * LONGEST_PIECE + 64))
        return [self._cls, *pieces[:limit], self._sep]

    def _normalise(self, text: str, enough: int) -> str:
        """The first `enough` characters of the normalised text, spaces as U+2581."""
        if self._normal is None:
            self._normal = self._tables.normalisation()
        out = ""
        for start in range(0, len(text), _SLICE):
            out += text[start : start + _SLICE].translate(self._normal)
            while "  " in out:
                out = out.replace("  ", " ")
            if len(out) > enough:
                break
        if not out.startswith(" "):
            out = " " + out
        return out[:enough].replace(" ", _SPACE)

    def _segment(self, text: str) -> list[int]:
        """The best segmentation (Viterbi)."""
        characters = [character.encode("utf-8", "replace") for character in text]
        count = len(characters)
        best = [0.0] + [_NOWHERE] * count
        came = [(self._unk, 0)] * (count + 1)
        unknown = self._tables.unknown_score
        for start in range(count):
            here = best[start]
            for end, number, score in self._pieces(characters, start, count):
                if here + score > best[end]:
                    best[end] = here + score
                    came[end] = (number, start)
            if here + unknown > best[start + 1]:
                best[start + 1] = here + unknown
                came[start + 1] = (self._unk, start)
        ids = []
        at = count
        while at > 0:
            number, at = came[at]
            ids.append(number)
        ids.reverse()
        return ids

    def _pieces(self, characters: list[bytes], start: int, count: int) -> list[tuple[int, int, float]]:
        """(end, id, score) of every piece that begins at `start`."""
        tables = self._tables
        found = []
        checksum, piece = 0, b""
        for end in range(start + 1, min(count, start + LONGEST_PIECE) + 1):
            character = characters[end - 1]
            piece += character
            checksum = zlib.crc32(character, checksum)
            number = tables.find_hashed(piece, checksum)
            if number >= 0 and number != self._unk:
                found.append((end, number, tables.scores[number]))
        return found
