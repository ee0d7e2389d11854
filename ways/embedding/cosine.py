"""Cosines of surfaces against the rows of a corpus, and their maxima per corpus id.

On the hook's path, so without numpy. A `Best` does the products: the native library's
(`Library.best`), or `plain`, which needs nothing but the standard library: for vectors of length 1
the dot product follows from their distance, and `math.dist` is the one loop over floats that the
standard library runs in C (4.7 µs for 384 values against 17 for a sum of products).
"""

from __future__ import annotations

from array import array
from math import dist, fsum, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ways.embedding.sidecar import Sidecar

    Vector = array[float]
    # (vectors one after another, rows, dimensions, spans, offset) -> per vector and span the highest
    # dot product; anything but an array means that it could not be done
    Best = Callable[[Vector, memoryview[float], int, memoryview[int], int], Any]

ALIASES, BODIES = 0, 2


def plain(
    queries: Vector, rows: memoryview[float], dimensions: int, spans: memoryview[int], offset: int
) -> Vector:
    """Per query and span the highest dot product over the span's rows, NaN for a span without rows.

    `spans` hold four numbers each, of which [offset] is the first row and [offset + 1] the number of
    rows. Rows have length 1; queries may have any.
    """
    points = [tuple(queries[at : at + dimensions]) for at in range(0, len(queries), dimensions)]
    halves = [(1.0 + fsum(value * value for value in point)) / 2 for point in points]
    width = len(spans) // 4
    answers = array("f", [nan]) * (width * len(points))
    for position, (first, count) in enumerate(
        zip(spans[offset::4].tolist(), spans[offset + 1 :: 4].tolist(), strict=True)
    ):
        own = [
            tuple(rows[row * dimensions : (row + 1) * dimensions].tolist())
            for row in range(first, first + count)
        ]
        if own:
            for number, (point, half) in enumerate(zip(points, halves, strict=True)):
                nearest = min([dist(row, point) for row in own])
                answers[number * width + position] = half - nearest * nearest / 2
    return answers


def alias_scores(
    corpus: Sidecar, vectors: Sequence[Vector | None], best: Best = plain
) -> list[memoryview[float]]:
    """Per vector, in the order of `corpus.ids`, the highest cosine over the id's alias rows.

    NaN where the id has none, and throughout for a vector that is None (a blank text). Raises
    ValueError when a vector has other dimensions than the corpus.
    """
    return _scores(corpus, vectors, best, ALIASES)


def body_scores(
    corpus: Sidecar, vectors: Sequence[Vector | None], best: Best = plain
) -> list[memoryview[float]]:
    """As alias_scores, over the rows of body chunks."""
    return _scores(corpus, vectors, best, BODIES)


def body_score(corpus: Sidecar, position: int, vector: Vector, best: Best = plain) -> float:
    """The highest cosine over the body rows of the one id at `position`; NaN when it has none."""
    spans = corpus.spans[position * 4 : position * 4 + 4]
    return float(_best(corpus, vector, spans, best, BODIES)[0])


def reduce_rows(corpus: Sidecar, vectors: Sequence[Vector | None], best: Best = plain) -> bytes:
    """The answer of the resident embedder: per vector `2 * len(corpus.ids)` native float32, first
    the alias scores of all ids, then their body scores. `wire.split_reduced` reads it."""
    aliases, bodies = alias_scores(corpus, vectors, best), body_scores(corpus, vectors, best)
    return b"".join(part for pair in zip(aliases, bodies, strict=True) for part in pair)


def _scores(
    corpus: Sidecar, vectors: Sequence[Vector | None], best: Best, offset: int
) -> list[memoryview[float]]:
    width = len(corpus.ids)
    queries = array("f")
    for vector in vectors:
        if vector is not None:
            queries += vector
            if len(vector) != corpus.dimensions:
                raise ValueError(f"a vector of {len(vector)} values, the corpus has {corpus.dimensions}")
    found = _view(_best(corpus, queries, corpus.spans, best, offset))
    none = _view(array("f", [nan]) * width)
    answers, start = [], 0
    for vector in vectors:
        answers.append(none if vector is None else found[start : start + width])
        start += 0 if vector is None else width
    return answers


def _view(values: Vector) -> memoryview[float]:
    return memoryview(values).cast("B").cast("f")


def _best(corpus: Sidecar, queries: Vector, spans: memoryview[int], best: Best, offset: int) -> Vector:
    found = best(queries, corpus.rows, corpus.dimensions, spans, offset)
    if isinstance(found, array):
        return found
    return plain(queries, corpus.rows, corpus.dimensions, spans, offset)
