"""Texts for the measured hooks: about nothing that a way is about, and new in every round.

New, because the resident embedder keeps the vectors of texts that it has seen: the same prompt again
would measure its memory.
"""

from __future__ import annotations

import random

_ADJECTIVES = [
    "copper",
    "faded",
    "gentle",
    "hollow",
    "ivory",
    "mossy",
    "narrow",
    "pale",
    "quiet",
    "rusty",
    "velvet",
    "wooden",
]
_NOUNS = [
    "kettle",
    "lantern",
    "sparrow",
    "teapot",
    "walnut",
    "pony",
    "candle",
    "cushion",
    "pebble",
    "thimble",
    "tulip",
    "kite",
    "goose",
]
_VERBS = ["holds", "keeps", "gives", "lost", "finds"]
_THINGS = [
    "apples",
    "buttons",
    "feathers",
    "herbs",
    "lilies",
    "onions",
    "pears",
    "plums",
    "ribbons",
    "shells",
]

_STEPS = ["Accent", "Harmonise", "Modulate", "Phrase", "Resolve", "Syncopate", "Transpose", "Voice"]
_MODES = ["atonal", "baroque", "chromatic", "diatonic", "dorian", "lydian", "minor", "polyphonic", "tonal"]
_PARTS = [
    "arpeggio",
    "cadence",
    "canon",
    "chorale",
    "coda",
    "fugue",
    "overture",
    "sonata",
    "tritone",
    "trill",
]
_TEMPI = ["adagio", "allegro", "andante", "largo", "legato", "moderato", "presto", "staccato"]


def sentences(number: int, count: int) -> str:
    """`count` sentences of at most 40 characters that no other `number` has, so that eight of them are within
    what is embedded of a prompt (400 characters) and stay eight."""
    return " ".join(_sentence(random.Random(number * 1_000 + index), number) for index in range(count))


def _sentence(choice: random.Random, number: int) -> str:
    what = f"{choice.choice(_ADJECTIVES)} {choice.choice(_NOUNS)}"
    return f"The {what} {choice.choice(_VERBS)} {number % 9_973} {choice.choice(_THINGS)}."


def of_length(number: int, characters: int) -> str:
    """A text of this many characters, of whole sentences but for the end."""
    text = sentences(number, characters // 30 + 1)
    return text[:characters]


def heading(number: int) -> str:
    """What a made-up way is about: musical theory, far from what the prompts are about."""
    choice = random.Random(f"heading {number}")
    return f"{choice.choice(_STEPS)} {choice.choice(_MODES)} {choice.choice(_PARTS)} no {number}"


def paragraph(number: int, characters: int) -> str:
    """The body of a made-up way: lines of some 100 characters."""
    choice = random.Random(f"body {number}")
    words: list[str] = []
    while sum(map(len, words)) + len(words) < characters + 100:
        step = f"{choice.choice(_STEPS)} the {choice.choice(_MODES)} {choice.choice(_PARTS)}"
        words += f"{step} {choice.choice(_TEMPI)} before the {choice.choice(_PARTS)}.".split()
    lines, line = [], ""
    for word in words:
        if len(line) + len(word) > 100:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])[:characters]
