"""The tokenizer of BERT models (uncased WordPiece), token for token as the reference implementation.

Rules (BertNormalizer, BertPreTokenizer, WordPiece): control characters go, white space separates, CJK
ideographs stand alone, accents are stripped after canonical decomposition, letters become lower
case one by one, punctuation stands alone; a word is cut into the longest known pieces from its
start, and is `[UNK]` when that fails or when it has over 100 characters. The five special tokens
are recognised in raw text. The result is cut to `max_tokens`, keeping the final `[SEP]`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.embedding.modelfile import Tokenizer

MAX_WORD = 100
_FIRST_LOOK = 4096  # characters; grown eightfold while they do not hold enough words
_MEMO = 4096
_SPECIAL = (("[PAD]", "pad"), ("[UNK]", "unk"), ("[CLS]", "cls"), ("[SEP]", "sep"), ("[MASK]", "mask"))
# White_Space of Unicode but for tab, newline and carriage return, which are kept before controls are dropped.
_WHITE = frozenset([0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000])
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class _Characters(dict[int, str]):
    """Code point to what normalisation and punctuation splitting make of it, worked out when first met."""

    def __missing__(self, point: int) -> str:
        text = _ascii(point) if point < 128 else _beyond_ascii(point)
        self[point] = text
        return text


def _ascii(point: int) -> str:
    character = chr(point)
    if character in "\t\n\r ":
        return " "
    if point < 32 or point == 127:
        return ""
    return character.lower() if character.isalnum() else f" {character} "


def _beyond_ascii(point: int) -> str:
    from unicodedata import normalize

    from ways.embedding.bert_characters import LOWER, is_dropped, is_punctuation

    if point in _WHITE:
        return " "
    if is_dropped(point):
        return ""
    out = []
    for part in normalize("NFD", chr(point)):
        number = ord(part)
        if number > 127 and is_dropped(number):
            continue
        # One letter at a time: str.lower() of a whole word treats a final sigma differently.
        for letter in LOWER.get(number) or part.lower():
            if ord(letter) < 128:
                out.append(_ascii(ord(letter)))
            else:
                out.append(f" {letter} " if is_punctuation(ord(letter)) else letter)
    text = "".join(out)
    return f" {text} " if any(first <= point <= last for first, last in _IDEOGRAPHS) else text


class WordPiece:
    """Text to token ids. `empty` is what a text without any word becomes."""

    def __init__(self, tables: Tokenizer) -> None:
        notes = tables.notes
        self._find = tables.find
        self._longest = tables.longest
        self.max_tokens = int(notes["max_tokens"])
        self._cls, self._sep, self._unk = int(notes["cls"]), int(notes["sep"]), int(notes["unk"])
        self._special = {text: int(notes[name]) for text, name in _SPECIAL if name in notes}
        self._characters = _Characters()
        self._memo: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """`[CLS]` … `[SEP]`, at most `max_tokens` ids. Any string will do, lone surrogates included.

        Time is bounded: no more of the text is read than is needed for that many tokens, and a long
        word costs no more than looking for its end.
        """
        limit = self.max_tokens - 2
        look = _FIRST_LOOK
        while True:
            part = text if look >= len(text) else _whole_words(text, look)
            ids = self._pieces(part, limit) if part else []
            if len(ids) >= limit or look >= len(text):
                return [self._cls, *ids[:limit], self._sep]
            look *= 8

    def _pieces(self, text: str, limit: int) -> list[int]:
        """Ids of the text's words, at least `limit` of them where there are that many."""
        ids: list[int] = []
        for fragment in self._fragments(text):
            if len(ids) >= limit:
                break
            if fragment in self._special:
                ids.append(self._special[fragment])
                continue
            for word in fragment.translate(self._characters).split(" "):
                if word:
                    ids.extend(self._memo.get(word) or self._word(word))
                    if len(ids) >= limit:
                        break
        return ids

    def _fragments(self, text: str) -> list[str]:
        """The text, cut so that each special token in it stands alone."""
        fragments = [text]
        for special in self._special:
            if special in text:
                cut = []
                for fragment in fragments:
                    if fragment in self._special:
                        cut.append(fragment)
                        continue
                    for index, part in enumerate(fragment.split(special)):
                        cut.extend([special, part] if index else [part])
                fragments = cut
        return fragments

    def _word(self, word: str) -> tuple[int, ...]:
        ids = self._cut(word) if len(word) <= MAX_WORD else (self._unk,)
        if len(self._memo) >= _MEMO:
            self._memo.clear()
        if len(word) <= MAX_WORD:
            self._memo[word] = ids
        return ids

    def _cut(self, word: str) -> tuple[int, ...]:
        find, longest = self._find, self._longest
        ids: list[int] = []
        start, end = 0, len(word)
        while start < end:
            stop = min(end, start + longest)
            while stop > start:
                piece = ("##" + word[start:stop] if start else word[start:stop]).encode("utf-8", "replace")
                if len(piece) <= longest and (number := find(piece)) >= 0:
                    break
                stop -= 1
            else:
                return (self._unk,)
            ids.append(number)
            start = stop
        return tuple(ids)


def _whole_words(text: str, look: int) -> str:
    """The longest prefix of text[:look] that ends with a word; "" when its first word is longer."""
    end = max(text.rfind(" ", 0, look), text.rfind("\n", 0, look), text.rfind("\t", 0, look))
    return text[:end] if end > 0 else ""
