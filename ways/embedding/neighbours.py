"""How near ways are to each other, and which words would tell them apart. For authors."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ways.embedding.vectors import dot
from ways.matching.reduce import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ways.embedding.sidecar import Sidecar
    from ways.embedding.vectors import Engine, Vector

MAX_CANDIDATES = 40
MIN_GAIN = 0.002
MIN_WORD = 3


@dataclass(frozen=True)
class Suggestion:
    """A word and what adding (or dropping) it does. `own` and `others` are the changes of the mean cosine
    to the way's body and of the highest cosine to a near way; `gain` is own minus others."""

    word: str
    gain: float
    own: float
    others: float


def alias_vectors(corpus: Sidecar, corpus_ids: Sequence[str]) -> dict[str, list[Vector]]:
    """The alias rows of every corpus id that has any."""
    found = {}
    for corpus_id in corpus_ids:
        position = corpus.index.get(corpus_id)
        if position is not None and (span := corpus.span(position)).aliases:
            rows = range(span.alias, span.alias + span.aliases)
            found[corpus_id] = [array("f", corpus.row(row)) for row in rows]
    return found


def nearest(own: Sequence[Vector], others: Mapping[str, Sequence[Vector]]) -> list[tuple[str, float]]:
    """(corpus id, highest cosine between its rows and ours), nearest first."""
    scored = [(name, max(dot(one, other) for one in own for other in rows)) for name, rows in others.items()]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))


def candidate_words(alias: str, body: str) -> list[str]:
    """Words of the body that the alias lacks, the most frequent first, at most 40."""
    known = set(words(alias))
    counts: dict[str, int] = {}
    for word in words(body):
        if len(word) >= MIN_WORD and word not in known and word.isalpha():
            counts[word] = counts.get(word, 0) + 1
    return sorted(counts, key=lambda word: (-counts[word], word))[:MAX_CANDIDATES]


def suggest(
    engine: Engine,
    alias: str,
    variants: Mapping[str, str],
    chunks: Sequence[str],
    others: Sequence[Vector],
) -> list[Suggestion]:
    """What each variant of the alias (word to text) does to separation, the best first.

    `chunks` are the body's, `others` the alias rows of the near ways. Only gains are reported.
    """
    body = _embedded(engine, list(chunks))
    before, *after = _embedded(engine, [alias, *variants.values()])
    if not body:
        return []
    own_before, others_before = _pulls(before, body, others)
    found = []
    for word, vector in zip(variants, after, strict=True):
        own, other = _pulls(vector, body, others)
        change = Suggestion(
            word, (own - own_before) - (other - others_before), own - own_before, other - others_before
        )
        if change.gain >= MIN_GAIN:
            found.append(change)
    return sorted(found, key=lambda each: (-each.gain, each.word))


def _pulls(vector: Vector, body: Sequence[Vector], others: Sequence[Vector]) -> tuple[float, float]:
    """Mean cosine to the body's chunks, highest cosine to another way."""
    own = sum(dot(chunk, vector) for chunk in body) / len(body)
    return own, max((dot(other, vector) for other in others), default=0.0)


def _embedded(engine: Engine, texts: list[str]) -> list[Vector]:
    """One vector a text; zeros for a text without direction."""
    none = array("f", bytes(4 * engine.dimensions))
    return [none if vector is None else vector for vector in engine.embed(texts)]
