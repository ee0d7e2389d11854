"""Cosines between the aliases of all ways, from the corpus: for near-duplicates and the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ways.embedding import cosine

if TYPE_CHECKING:
    from ways.core.roots import Roots
    from ways.embedding.cosine import Best


def above(
    cache: str, corpus_ids: Sequence[str], least: float, best: Best = cosine.plain
) -> Mapping[tuple[str, str], float] | None:
    """Per pair of corpus ids (in order) the highest cosine of their aliases where it is at least `least`;
    0.0 below. Pairs that the corpus does not have are missing; None without a corpus."""
    from ways.embedding import sidecar
    from ways.embedding.neighbours import alias_vectors

    corpus = sidecar.load(sidecar.path_in(cache, "en"))
    if isinstance(corpus, sidecar.Problem):
        return None
    vectors = alias_vectors(corpus, corpus_ids)
    names = sorted(vectors)
    found: dict[tuple[str, str], float] = {}
    for at, name in enumerate(names):
        rows = cosine.alias_scores(corpus, vectors[name], best)
        for other in names[at + 1 :]:
            value = max(row[corpus.index[other]] for row in rows)
            found[(name, other)] = value if value >= least else 0.0
    return found


def products(roots: Roots) -> Best:
    """What computes the products: the native library where there is one, which is a hundred times faster."""
    from ways.embedding import native, paths

    path = paths.find_library(roots)
    library = native.load(path) if path else None
    return library.best if isinstance(library, native.Library) else cosine.plain
