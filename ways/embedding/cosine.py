"""Cosines of surfaces against the rows of a corpus, and their maxima per corpus id.

On the hook's path, so without numpy. A kernel does the products; `plain` needs nothing but the
standard library: for vectors of length 1 the cosine is 1 - d²/2 of their distance, and `math.dist`
is the one loop over floats that the standard library runs in C (4.7 µs for 384 values against 17
for a sum of products).
"""

from __future__ import annotations

from array import array
from math import dist, fsum, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ways.embedding.sidecar import Sidecar

    Vector = array[float]
    # (rows, dimensions, vectors) -> per vector one cosine a row
    Kernel = Callable[[memoryview[float], int, Sequence[Vector]], list[array[float]]]

FLOAT = 4


def plain(rows: memoryview[float], dimensions: int, vectors: Sequence[Vector]) -> list[array[float]]:
    """Per vector the dot product with every row: float32, as many as rows. Rows have length 1."""
    queries = [tuple(vector) for vector in vectors]
    halves = [(1.0 + fsum(value * value for value in query)) / 2 for query in queries]
    answers = [array("f") for _ in queries]
    for start in range(0, len(rows), dimensions):
        row = tuple(rows[start : start + dimensions])
        for query, half, answer in zip(queries, halves, answers, strict=True):
            answer.append(half - dist(row, query) ** 2 / 2)
    return answers


def alias_scores(
    corpus: Sidecar, vectors: Sequence[Vector | None], kernel: Kernel = plain
) -> list[array[float]]:
    """Per vector, in the order of `corpus.ids`, the highest cosine over the id's alias rows.

    NaN where the id has none, and throughout for a vector that is None (a blank text).
    """
    return _reduced(corpus, vectors, kernel, 0, corpus.alias_rows, offset=0)


def body_scores(
    corpus: Sidecar, vectors: Sequence[Vector | None], kernel: Kernel = plain
) -> list[array[float]]:
    """As alias_scores, over the rows of body chunks."""
    return _reduced(corpus, vectors, kernel, corpus.alias_rows, corpus.row_count, offset=2)


def body_score(corpus: Sidecar, position: int, vector: Vector, kernel: Kernel = plain) -> float:
    """The highest cosine over the body rows of the one id at `position`; NaN when it has none."""
    span = corpus.span(position)
    if not span.bodies:
        return nan
    start = span.body * corpus.dimensions
    rows = corpus.rows[start : start + span.bodies * corpus.dimensions]
    return max(kernel(rows, corpus.dimensions, [vector])[0])


def reduce_rows(corpus: Sidecar, vectors: Sequence[Vector | None], kernel: Kernel = plain) -> bytes:
    """The answer of the resident embedder: per vector `2 * len(corpus.ids)` native float32, first
    the alias scores of all ids, then their body scores. `split_reduced` reads it."""
    parts = []
    aliases, bodies = alias_scores(corpus, vectors, kernel), body_scores(corpus, vectors, kernel)
    for alias, body in zip(aliases, bodies, strict=True):
        parts += [alias.tobytes(), body.tobytes()]
    return b"".join(parts)


def split_reduced(
    answer: bytes | memoryview, ids: int, texts: int
) -> list[tuple[memoryview[float], memoryview[float]]] | None:
    """Per text (alias scores, body scores) of what reduce_rows made; None when the length is wrong."""
    if len(answer) != texts * ids * 2 * FLOAT:
        return None
    values = memoryview(answer).cast("f")
    starts = range(0, texts * ids * 2, ids * 2) if ids else [0] * texts
    return [(values[start : start + ids], values[start + ids : start + 2 * ids]) for start in starts]


def _reduced(
    corpus: Sidecar,
    vectors: Sequence[Vector | None],
    kernel: Kernel,
    first: int,
    end: int,
    *,
    offset: int,
) -> list[array[float]]:
    """Maxima per id over the rows [first, end); `offset` selects alias or body spans."""
    dimensions = corpus.dimensions
    present = [vector for vector in vectors if vector is not None]
    cosines = iter(kernel(corpus.rows[first * dimensions : end * dimensions], dimensions, present))
    spans = list(zip(corpus.spans[offset::4].tolist(), corpus.spans[offset + 1 :: 4].tolist(), strict=True))
    return [
        _maxima(next(cosines), spans, first) if vector is not None else array("f", [nan]) * len(spans)
        for vector in vectors
    ]


def _maxima(cosines: Sequence[float], spans: list[tuple[int, int]], first: int) -> array[float]:
    return array(
        "f",
        [
            (cosines[start - first] if count == 1 else max(cosines[start - first : start - first + count]))
            if count
            else nan
            for start, count in spans
        ],
    )
