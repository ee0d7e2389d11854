"""Sentence chunks of a reduced surface, for late interaction (spec: matching, semantic channel)."""

from __future__ import annotations

from ways.matching.sentences import split
from ways.matching.tuning import Tuning


def chunks(text: str, tuning: Tuning | None = None) -> list[str]:
    """At most `late_max_chunks` chunks of at least `late_min_chunk` characters, in order.

    A sentence that is too short goes with the next one (the last with the one before), and when there are
    too many, the shortest neighbours are joined: no words are lost. A text that is too short as a
    whole has no chunks.
    """
    tuning = Tuning() if tuning is None else tuning
    found = _long_enough(split(text), tuning.late_min_chunk)
    while len(found) > tuning.late_max_chunks:
        lengths = [len(found[index]) + len(found[index + 1]) for index in range(len(found) - 1)]
        index = lengths.index(min(lengths))
        found[index : index + 2] = [f"{found[index]} {found[index + 1]}"]
    return found


def _long_enough(sentences: list[str], shortest: int) -> list[str]:
    found: list[str] = []
    waiting = ""
    for sentence in sentences:
        waiting = f"{waiting} {sentence}" if waiting else sentence
        if len(waiting) >= shortest:
            found.append(waiting)
            waiting = ""
    if waiting and found:
        found[-1] += " " + waiting
    return found
