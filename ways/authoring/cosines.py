"""Cosines between the aliases of all ways, from the corpus: for near-duplicates and the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def above(cache: str, corpus_ids: Sequence[str], least: float) -> Mapping[tuple[str, str], float] | None:
    """Per pair of corpus ids (in order) the highest cosine of their aliases where it is at least `least`;
    0.0 below. Pairs that the corpus does not have are missing; None without a corpus."""
    from ways.embedding import sidecar

    corpus = sidecar.load(sidecar.path_in(cache, "en"))
    if isinstance(corpus, sidecar.Problem):
        return None
    import numpy as np

    from ways.embedding.neighbours import alias_vectors

    vectors = alias_vectors(corpus, corpus_ids)
    names = sorted(vectors)
    if not names:
        return {}
    owner = np.concatenate([np.full(len(vectors[name]), at) for at, name in enumerate(names)])
    rows = np.concatenate([vectors[name] for name in names])
    found: dict[tuple[str, str], float] = {}
    for at, name in enumerate(names):
        best = np.full(len(names), -1.0, dtype=np.float32)
        np.maximum.at(best, owner, (rows @ vectors[name].T).max(axis=1))
        for other in range(at + 1, len(names)):
            value = float(best[other])
            found[(name, names[other])] = value if value >= least else 0.0
    return found
