from __future__ import annotations

import math
import os
import subprocess
import sys
from array import array

import pytest

from tests.unit.embedding import parts
from tests.unit.matching.helpers import way
from ways.core.roots import resolve
from ways.embedding import cosine, paths, scoring, sidecar
from ways.embedding.engine import MISSING_MODEL, EngineProblem
from ways.embedding.sidecar import Entry
from ways.matching.types import LaneScores

MODEL = "ab" * 32
HALF = math.sqrt(0.5)
# Two axes: what is said of a text is the direction it is given here.
DIRECTIONS = {
    "east": (1.0, 0.0),
    "north": (0.0, 1.0),
    "west": (-1.0, 0.0),
    "north east": (HALF, HALF),
}
ROWS = [
    ("core:east", False, "east"),
    ("core:north", False, "north"),
    ("core:north", False, "west"),
    ("core:east", True, "north"),
    ("core:east", True, "north east"),
]


class Compass:
    """An engine that knows four texts; anything else has no direction."""

    class library:
        best = staticmethod(cosine.plain)

    def __init__(self, identity=MODEL, failing=False):
        self.identity = identity
        self.failing = failing
        self.failures = 0
        self.asked = []

    def embed(self, texts):
        self.asked.append(list(texts))
        if self.failing:
            self.failures += len(texts)
            return [None] * len(texts)
        return [array("f", DIRECTIONS[text]) if text in DIRECTIONS else None for text in texts]


@pytest.fixture
def roots(tmp_path):
    base = resolve({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    os.makedirs(base.cache)
    write_corpus(base, "en")
    return base


def write_corpus(roots, lane, fit=(10.0, -4.0), model=MODEL):
    vectors = array("f", [value for *_, name in ROWS for value in DIRECTIONS[name]])
    entries = [Entry(corpus_id, body, bytes(16)) for corpus_id, body, _ in ROWS]
    data = sidecar.encode(entries, vectors.tobytes(), 2, model_hash=model, corpus_hash="00" * 32, fit=fit)
    with open(sidecar.path_in(roots.cache, lane), "wb") as file:
        file.write(data)


def score(roots, whole, chunks=(), engine=None, **options):
    engine = engine or Compass()
    return scoring.score_surface(
        whole, chunks, roots, resident=False, opener=lambda lane, _: engine, **options
    )


def test_the_best_alias_of_a_way_counts(roots):
    scores = score(roots, "west")
    assert isinstance(scores, LaneScores)
    assert scores.fit == (10.0, -4.0)
    assert dict(scores.whole) == pytest.approx({"core:east": -1.0, "core:north": 1.0})
    assert (scores.chunks, scores.bodies) == ((), ())


def test_case_h14_a_negative_cosine_is_a_score(roots):
    scores = score(roots, "west")
    assert scores.whole["core:east"] == pytest.approx(-1.0)
    assert scores.whole.get("core:east") is not None
    assert "core:east" in scores.whole


def test_chunks_meet_aliases_and_bodies(roots):
    scores = score(roots, "north east", ["east", "north"])
    assert scores.whole["core:east"] == pytest.approx(HALF)
    assert [dict(chunk) for chunk in scores.chunks] == [
        pytest.approx({"core:east": 1.0, "core:north": 0.0}, abs=1e-6),
        pytest.approx({"core:east": 0.0, "core:north": 1.0}, abs=1e-6),
    ]
    assert [dict(body) for body in scores.bodies] == [
        pytest.approx({"core:east": HALF}),
        pytest.approx({"core:east": 1.0}),
    ]


def test_a_way_without_rows_is_missing(roots):
    scores = score(roots, "north east", ["east", "north"])
    for mapping in (scores.whole, scores.chunks[0], scores.bodies[0]):
        assert "core:none" not in mapping
        assert mapping.get("core:none") is None
    assert "core:north" not in scores.bodies[0]
    with pytest.raises(KeyError):
        scores.bodies[0]["core:north"]
    assert len(scores.bodies[0]) == 1


def test_each_text_is_embedded_once(roots):
    engine = Compass()
    scores = score(roots, "east", ["east", "north", "east"], engine)
    assert engine.asked == [["east", "north"]]
    assert len(scores.chunks) == len(scores.bodies) == 3
    assert dict(scores.chunks[2]) == dict(scores.whole)


def test_one_chunk_is_no_late_interaction(roots):
    engine = Compass()
    assert score(roots, "east", ["north"], engine).chunks == ()
    assert engine.asked == [["east"]]


def test_the_multilingual_lane_is_a_single_vector(roots):
    write_corpus(roots, "multi", fit=None)
    scores = score(roots, "east", ["north", "west"], lane="multi")
    assert (scores.fit, scores.chunks, scores.bodies) == (None, (), ())


def test_a_chunk_without_a_direction_has_no_scores(roots):
    scores = score(roots, "east", ["east", "\u200b\u200b"])
    assert dict(scores.chunks[1]) == {}
    assert dict(scores.bodies[1]) == {}
    assert scores.whole["core:east"] == pytest.approx(1.0)


@pytest.mark.parametrize("whole", ["", " \n\t"])
def test_a_blank_surface_loads_nothing(roots, whole):
    engine = Compass()
    assert score(roots, whole, engine=engine).reason == "the surface is blank"
    assert engine.asked == []


def test_no_corpus_is_a_reason(roots):
    os.unlink(sidecar.path_in(roots.cache, "en"))
    found = score(roots, "east")
    assert found == scoring.NoScores("no corpus: not built yet", unbuilt=True)


def test_a_damaged_corpus_is_a_reason(roots):
    with open(sidecar.path_in(roots.cache, "en"), "r+b") as file:
        file.truncate(250)
    assert "cut short" in score(roots, "east").reason


def test_a_corpus_of_another_model_is_a_reason(roots):
    engine = Compass(identity="cd" * 32)
    found = score(roots, "east", engine=engine)
    assert "another model" in found.reason
    assert engine.asked == []


def test_a_corpus_holds_a_way_only_as_it_was_embedded(roots):
    data = sidecar.encode(
        [Entry("core:east", False, sidecar.text_hash("About east"))],
        array("f", DIRECTIONS["east"]).tobytes(),
        2,
        model_hash=MODEL,
        corpus_hash="00" * 32,
        fit=None,
    )
    with open(sidecar.path_in(roots.cache, "en"), "wb") as file:
        file.write(data)
    holds = score(roots, "east").holds
    assert holds(way("east", description="About  east"))
    assert not holds(way("east", description="About west")), "changed since"
    assert not holds(way("west", description="About east")), "not embedded"


def test_no_engine_is_a_reason_and_worth_a_notice(roots):
    problem = EngineProblem(MISSING_MODEL, "the English model is not there", "ways doctor")
    found = scoring.semantic_scores("east", (), roots, resident=False, opener=lambda lane, _: problem)
    assert found.scores.lanes == ()
    assert found.engine_missing
    assert found.reasons == ("en: the English model is not there  Next: ways doctor",)


def test_case_h22_a_corpus_that_cannot_be_built_is_worth_a_notice(roots, tmp_path, monkeypatch):
    os.unlink(sidecar.path_in(roots.cache, "en"))
    library, models = tmp_path / "ways_native.so", tmp_path / "models"
    monkeypatch.setenv("WAYS_ENGINE_LIB", str(library))
    monkeypatch.setenv("WAYS_MODELS_DIR", str(models))
    assert scoring.semantic_scores("east", (), roots, resident=False).engine_missing
    library.touch()
    models.mkdir()
    (models / paths.model_name("en")).touch()
    found = scoring.semantic_scores("east", (), roots, resident=False)
    assert found.engine_missing, "what is there and does not open builds no corpus either"
    parts.use(monkeypatch)
    found = scoring.semantic_scores("east", (), roots, resident=False)
    assert not found.engine_missing, "the first build has yet to come: no fault"
    assert found.reasons == ("en: no corpus: not built yet",)


def test_case_h04_a_failing_engine_is_counted_and_said(roots):
    found = score(roots, "east", engine=Compass(failing=True))
    assert "could not embed 1 of 1" in found.reason


def test_lanes_answer_on_their_own(roots):
    write_corpus(roots, "multi", fit=(3.0, -1.0))
    os.unlink(sidecar.path_in(roots.cache, "en"))
    found = scoring.semantic_scores(
        "east", (), roots, localized=True, resident=False, opener=lambda lane, _: Compass()
    )
    assert [name for name, _ in found.scores.lanes] == ["multi"]
    assert found.reasons == ("en: no corpus: not built yet",)
    assert not found.engine_missing


def test_a_multilingual_lane_that_was_never_built_is_no_fault(roots):
    found = scoring.semantic_scores(
        "east", (), roots, localized=True, resident=False, opener=lambda lane, _: Compass()
    )
    assert [name for name, _ in found.scores.lanes] == ["en"]
    assert found.reasons == ()


def test_without_localized_mode_the_multilingual_lane_is_not_asked(roots):
    write_corpus(roots, "multi")
    found = scoring.semantic_scores("east", (), roots, resident=False, opener=lambda lane, _: Compass())
    assert [name for name, _ in found.scores.lanes] == ["en"]


def test_scoring_loads_nothing_heavy(roots):
    code = (
        "import sys\n"
        "from ways.core.roots import resolve\n"
        "from ways.embedding import scoring\n"
        f"roots = resolve({{'HOME': {roots.home!r}}})\n"
        "found = scoring.semantic_scores('east', ('a', 'b'), roots, resident=False)\n"
        "print(len(found.reasons))\n"
        "heavy = {'numpy', 'json', 'typing', 'dataclasses', 'hashlib', 'pathlib', 'subprocess', 'yaml',\n"
        "         'ctypes', 'click'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            "WAYS_ENGINE_LIB": "/nonexistent",
            "PYTHONPATH": os.path.join(os.path.dirname(__file__), "..", "..", ".."),
        },
    )
    assert done.stdout.split("\n")[:2] == ["1", "[]"]
