"""Write `ways/embedding/bert_characters.py` from the reference tokenizer.

    python -m build.characters

The reference's idea of control characters, accents and punctuation is that of one old version of
Unicode, whatever Python's is; so the classes are taken from it, not from `unicodedata`. Needs the
`tokenizers` package; a test compares the file with what this writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from unicodedata import normalize

from build import packages

TARGET = packages.HERE.parent / "ways" / "embedding" / "bert_characters.py"
_HEAD = '''"""Character classes of the reference BERT tokenizer.

Written by `python -m build.characters`; do not edit.

`_DROPPED` and `_PUNCTUATION` hold the first and the one-past-last code points of runs, in turn, so that
an odd position of bisect means "inside". `LOWER` holds letters that Python's Unicode may not lower.
"""

from __future__ import annotations

from bisect import bisect_right

'''
_TAIL = '''

def is_dropped(point: int) -> bool:
    """True for a control, format, private or accent character beyond ASCII."""
    return bisect_right(_DROPPED, point) % 2 == 1


def is_punctuation(point: int) -> bool:
    """True for punctuation beyond ASCII."""
    return bisect_right(_PUNCTUATION, point) % 2 == 1
'''


def source() -> str:
    """The text of the module."""
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    reference = BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    splitter = BertPreTokenizer()
    points = [point for point in range(0x80, 0x110000) if not 0xD800 <= point < 0xE000]
    normal = {point: reference.normalize_str(chr(point)) for point in points}
    dropped = _runs(points, lambda point: normal[point] == "")
    punctuation = _runs(
        points, lambda point: normal[point] != "" and len(splitter.pre_tokenize_str(f"a{chr(point)}a")) == 3
    )
    lower = {}
    for point in points:
        if normal[point].strip() and normalize("NFD", chr(point)) == chr(point):
            text = normal[point].strip()
            # Scripts whose small letters came later than the oldest Python that runs this (3.11: Unicode 14).
            if text not in (chr(point), chr(point).lower()):
                lower[point] = text
    parts = [_HEAD, _tuple("_DROPPED", dropped), _tuple("_PUNCTUATION", punctuation)]
    parts.append("# fmt: off\nLOWER: dict[int, str] = {\n")
    parts += [f'    {point:#x}: "\\U{ord(text):08x}",\n' for point, text in sorted(lower.items())]
    parts += ["}\n# fmt: on\n", _TAIL]
    return "".join(parts)


def _runs(points: Iterable[int], inside: Callable[[int], bool]) -> list[int]:
    edges: list[int] = []
    for point in points:
        if inside(point):
            if edges and edges[-1] == point:
                edges[-1] = point + 1
            else:
                edges += [point, point + 1]
    return edges


def _tuple(name: str, edges: list[int]) -> str:
    lines = [f"# fmt: off\n{name} = (\n"]
    for start in range(0, len(edges), 11):
        lines.append("    " + " ".join(f"{edge:#x}," for edge in edges[start : start + 11]) + "\n")
    lines.append(")\n# fmt: on\n")
    return "".join(lines)


if __name__ == "__main__":
    TARGET.write_text(source(), "utf-8")
