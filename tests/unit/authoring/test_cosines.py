"""Cosines between all aliases, against sums written out, by both ways to compute them."""

from __future__ import annotations

import random
from array import array
from math import sqrt
from pathlib import Path

import pytest

from tests.unit.embedding import parts
from ways.authoring import cosines
from ways.core import files
from ways.embedding import cosine, native, sidecar

DIMENSIONS = 24
ALIASES = {"core:a/one": 2, "core:a/two": 1, "core:b/none": 0, "core:b/three": 3}


def unit(seed: int) -> list[float]:
    values = random.Random(seed)
    vector = [values.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = sqrt(sum(value * value for value in vector))
    return [value / length for value in vector]


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, list[list[float]]]:
    """A corpus with bodies too; the alias rows that it holds."""
    entries, vectors = [], array("f")
    rows: dict[str, list[list[float]]] = {name: [] for name in ALIASES}
    for body in (False, True):
        for name, count in ALIASES.items():
            for at in range(1 if body else count):
                vector = unit(len(entries))
                entries.append(sidecar.Entry(name, body, sidecar.text_hash(f"{name} {body} {at}")))
                vectors.extend(vector)
                if not body:
                    rows[name].append(vector)
    data = sidecar.encode(
        entries, vectors.tobytes(), DIMENSIONS, model_hash="0" * 64, corpus_hash="0" * 64, fit=None
    )
    files.write_atomic(sidecar.path_in(str(tmp_path), "en"), data)
    return rows


def native_best() -> cosine.Best:
    loaded = native.load(parts.library())
    assert isinstance(loaded, native.Library)
    return loaded.best


@pytest.mark.parametrize("how", [lambda: cosine.plain, native_best], ids=["plain", "native"])
def test_the_highest_cosine_of_every_pair(tmp_path, corpus, how):
    ids = ["core:a/two", "core:a/one", "core:b/three", "core:b/none", "core:not/there"]
    found = cosines.above(str(tmp_path), ids, -1.0, how())
    expected = {
        (one, other): max(sum(map(float.__mul__, a, b)) for a in corpus[one] for b in corpus[other])
        for one in corpus
        for other in corpus
        if one < other and corpus[one] and corpus[other]
    }
    assert len(expected) == 3
    assert found == pytest.approx(expected, abs=1e-6)


def test_what_is_less_than_asked_for_is_nought(tmp_path, corpus):
    every = cosines.above(str(tmp_path), list(corpus), -1.0)
    least = sorted(every.values())[1]
    found = cosines.above(str(tmp_path), list(corpus), least)
    assert found == {pair: value if value >= least else 0.0 for pair, value in every.items()}
    assert 0.0 in found.values()


def test_no_corpus_and_no_ways(tmp_path, corpus):
    assert cosines.above(str(tmp_path / "none"), list(corpus), 0.0) is None
    assert cosines.above(str(tmp_path), [], 0.0) == {}


def test_without_the_library_the_products_are_computed_here(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYS_ENGINE_LIB", raising=False)
    assert cosines.products(parts.roots_in(tmp_path)) is cosine.plain
    parts.use(monkeypatch)
    assert cosines.products(parts.roots_in(tmp_path)) is not cosine.plain
