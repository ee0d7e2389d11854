"""Reduction of a surface to what is embedded (spec: matching, `reduce_for_embed`; case h04)."""

from __future__ import annotations

from ways.matching.sentences import split
from ways.matching.surfaces import COMMAND, FILE, PROMPT, QUEUED, TASK

CHARACTERS_PER_TOKEN = 4
# Tokens for each surface.
BUDGETS = {COMMAND: 60, FILE: 30, TASK: 100, PROMPT: 100, QUEUED: 100}

# What lies beyond is not read: a hook must not spend its time on a pasted log.
MAX_TEXT = 1 << 16

_STOP_WORDS = """
    a about after all also am an and any are as at be because been before being but by can could
    did do does doing don for from get got had has have having he her here him his how i if in
    into is it its just let like make me more most my no not now of on one only or other our out
    over please she should so some such t than that the their them then there these they this
    those to too up us use very was we were what when where which while who why will with would
    you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
_SEPARATORS = {ord(sign): " " for sign in "\t\r\n.,;:!?()[]{}<>\"'`*#|/\\=+-_~@$%^&…–—“”‘’。、！？；：，"}


def budget(surface: str) -> int:
    """The surface's budget in characters."""
    return BUDGETS[surface] * CHARACTERS_PER_TOKEN


def reduce_for_embed(text: str, surface: str) -> str:
    """The part of `text` that is embedded: all of it when it fits the surface's budget, else its most
    salient sentences that fit, in their order, joined by a space.

    At most budget(surface) characters long. Of a longer text than MAX_TEXT only that much is read.
    """
    limit = budget(surface)
    if len(text) <= limit:
        return text
    text = text[:MAX_TEXT]
    sentences = split(text)
    if not sentences:
        return ""
    weights = word_weights(text)
    ranked = sorted(range(len(sentences)), key=lambda index: (-salience(sentences[index], weights), index))
    kept: list[int] = []
    used = 0
    for index in ranked:
        cost = len(sentences[index]) + (1 if kept else 0)
        if used + cost <= limit:
            kept.append(index)
            used += cost
    if not kept:
        # No sentence fits; the most salient one says most.
        return sentences[ranked[0]][:limit]
    return " ".join(sentences[index] for index in sorted(kept))


def words(text: str) -> list[str]:
    """The words of a text in lower case, stop words and punctuation left out."""
    return [word for word in text.lower().translate(_SEPARATORS).split() if word not in STOP_WORDS]


def word_weights(text: str) -> dict[str, float]:
    """Softmax over each word's relative frequency in the text; the weights sum to 1."""
    import math

    counts: dict[str, int] = {}
    for word in words(text):
        counts[word] = counts.get(word, 0) + 1
    total = sum(counts.values())
    powers = {word: math.exp(count / total) for word, count in counts.items()}
    whole = sum(powers.values())
    return {word: power / whole for word, power in powers.items()}


def salience(sentence: str, weights: dict[str, float]) -> float:
    """The mean weight of the sentence's words, 0 when it has none."""
    found = words(sentence)
    return sum(weights.get(word, 0.0) for word in found) / len(found) if found else 0.0
