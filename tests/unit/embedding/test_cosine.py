from __future__ import annotations

import math
import random
from array import array

import numpy as np
import pytest

from ways.embedding import cosine, sidecar, wire
from ways.embedding.sidecar import Entry

D = 24


def unit(seed):
    generator = random.Random(seed)
    values = [generator.gauss(0, 1) for _ in range(D)]
    length = math.sqrt(sum(value * value for value in values))
    return array("f", [value / length for value in values])


NAMES = [
    ("core:a", False),
    ("core:b", False),
    ("core:b", False),
    ("user:c", False),
    ("core:a", True),
    ("core:a", True),
]
ROWS = [unit(at) for at in range(len(NAMES))]


@pytest.fixture
def corpus(tmp_path):
    entries = [Entry(name, body, bytes(16)) for name, body in NAMES]
    data = sidecar.encode(
        entries,
        b"".join(row.tobytes() for row in ROWS),
        D,
        model_hash="00" * 32,
        corpus_hash="00" * 32,
        fit=None,
    )
    (tmp_path / "x.bin").write_bytes(data)
    return sidecar.load(str(tmp_path / "x.bin"))


def dot(first, second):
    return float(np.dot(np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)))


def test_a_query_of_any_length_gets_its_dot_product(corpus):
    query = array("f", [2.5 * value for value in unit(101)])
    (aliases,) = cosine.alias_scores(corpus, [query])
    assert aliases[0] == pytest.approx(dot(query, ROWS[0]), abs=1e-6)


def test_opposite_vectors_score_minus_one(corpus):
    (aliases,) = cosine.alias_scores(corpus, [array("f", [-value for value in ROWS[0]])])
    assert aliases[0] == pytest.approx(-1.0, abs=1e-6)


def test_a_vector_of_another_model_is_refused(corpus):
    with pytest.raises(ValueError, match="3 values"):
        cosine.alias_scores(corpus, [array("f", [1, 0, 0])])


def test_the_native_products_are_used_and_replaced_when_they_fail(corpus):
    calls = []

    def failing(*arguments):
        calls.append(arguments)
        return "a problem"

    query = unit(7)
    (expected,) = cosine.alias_scores(corpus, [query])
    (found,) = cosine.alias_scores(corpus, [query], failing)
    assert bytes(found) == bytes(expected)
    assert len(calls) == 1


def test_the_best_row_of_each_id_counts(corpus):
    query = unit(200)
    (aliases,), (bodies,) = cosine.alias_scores(corpus, [query]), cosine.body_scores(corpus, [query])
    dots = [dot(query, row) for row in ROWS]
    assert list(aliases) == pytest.approx([dots[0], max(dots[1:3]), dots[3]], abs=1e-6)
    assert bodies[0] == pytest.approx(max(dots[4:6]), abs=1e-6)
    assert math.isnan(bodies[1])
    assert math.isnan(bodies[2])
    assert cosine.body_score(corpus, 0, query) == pytest.approx(max(dots[4:6]), abs=1e-6)
    assert math.isnan(cosine.body_score(corpus, 2, query))


def test_a_blank_text_has_no_score(corpus):
    aliases = cosine.alias_scores(corpus, [None, unit(1), None])
    assert all(math.isnan(score) for score in aliases[0])
    assert aliases[1][1] == pytest.approx(1.0, abs=1e-6)
    assert all(math.isnan(score) for score in aliases[2])


def test_the_answer_of_the_resident_is_read_back(corpus):
    texts = [unit(1), None, unit(300)]
    answer = cosine.reduce_rows(corpus, texts)
    parts = wire.split_reduced(answer, len(corpus.ids), len(texts))
    assert len(parts) == 3
    for (alias, body), expected_alias, expected_body in zip(
        parts, cosine.alias_scores(corpus, texts), cosine.body_scores(corpus, texts), strict=True
    ):
        assert bytes(alias) == bytes(expected_alias)
        assert bytes(body) == bytes(expected_body)


def test_an_answer_of_another_length_is_refused():
    assert wire.split_reduced(b"\0" * 23, 3, 1) is None
    assert wire.split_reduced(b"", 0, 2) is not None
