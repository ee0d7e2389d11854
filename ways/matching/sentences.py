"""Splits a text into sentences, without `re`."""

from __future__ import annotations

# What ends a sentence when white space follows, and what ends it by itself.
_WITH_SPACE = (".", "!", "?", "…")
_ALONE = ("。", "！", "？", "；")
_CLOSERS = ("", '"', "'", ")", "]", "”", "’", "*", "`")
_ABBREVIATIONS = (
    "e.g.",
    "i.e.",
    "etc.",
    "vs.",
    "cf.",
    "approx.",
    "resp.",
    "mr.",
    "mrs.",
    "dr.",
    "no.",
    "z.b.",
)
_BREAK = "\n"


def split(text: str) -> list[str]:
    """The sentences of `text` in order, trimmed, none empty; together they hold all of its words.

    A line break ends a sentence, as does `. ! ? …` before white space (with a closing quote or
    bracket between), and the full-width marks anywhere. Abbreviations and dots inside words do not.
    """
    text = text.replace("\t", " ")
    for mark in _ALONE:
        if mark in text:
            text = text.replace(mark, mark + _BREAK)
    for mark in _WITH_SPACE:
        if mark in text:
            for closer in _CLOSERS:
                text = text.replace(f"{mark}{closer} ", f"{mark}{closer}{_BREAK}")
    return _rejoined([piece for piece in (line.strip() for line in text.splitlines()) if piece])


def _rejoined(pieces: list[str]) -> list[str]:
    """Undo the breaks after abbreviations and after list numbers (`1.`)."""
    sentences: list[str] = []
    joining = False
    for piece in pieces:
        if joining:
            sentences[-1] += " " + piece
        else:
            sentences.append(piece)
        last = piece.rsplit(" ", 1)[-1].lower().lstrip("(")
        joining = last in _ABBREVIATIONS or (last[:-1].isdecimal() and last.endswith(".") and last == piece)
    return sentences
