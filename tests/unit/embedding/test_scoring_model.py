"""Corpus, calibration and scoring with the real engine, the real model and the probe corpus."""

from __future__ import annotations

import os

import pytest

from tests.unit.embedding.test_sources import core_folder, write_way
from ways.core.roots import resolve
from ways.embedding import calibrate, client, corpus, manifest, models, paths, scoring, sources
from ways.matching.types import LaneScores

pytestmark = pytest.mark.model

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
WAYS = {
    "dev/commits": (
        "Making git commits that hold one change",
        "commit message amend squash",
        "Commit one thing.",
    ),
    "dev/docker": ("Building container images", "docker image compose", "Pin the base image by digest."),
    "home/cooking": ("Cooking dinner at home", "recipe oven vegetables", "Heat the oven before you begin."),
}


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    if not os.environ.get("WAYS_ENGINE_LIB"):
        library = os.path.join(TOP, "build", "out", "lib", paths.library_name())
        folder = os.path.join(TOP, "build", "out", "models")
        if not os.path.isfile(library) or not os.path.isfile(os.path.join(folder, "en.gguf")):
            pytest.skip("engine and model are not built")
    else:
        library, folder = os.environ["WAYS_ENGINE_LIB"], os.environ.get("WAYS_MODELS_DIR", "")
    home = tmp_path_factory.mktemp("model")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYS_ENGINE_LIB", library)
        patch.setenv("WAYS_MODELS_DIR", folder)
        made = resolve({"HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run")})
        for way_id, (description, vocabulary, body) in WAYS.items():
            write_way(core_folder(made), way_id, description, vocabulary, body)
        yield made


@pytest.fixture(scope="module")
def built(roots):
    found = sources.sources_of(roots)
    # The committed probes are of the shipped ways, and embedding them takes long: not here.
    without = corpus.Sources(found.signature, found.read, os.path.join(roots.cache, "no-probes"))
    return corpus.build(roots.cache, without, {"en": models.model_of("en", roots)})


def test_the_model_is_named_by_its_identity(roots, built):
    lane = manifest.read(roots.cache).lanes["en"]
    assert (lane.dimensions, lane.ids, lane.rows) == (384, 3, 6)
    assert lane.model_hash == models.model_of("en", roots).sha256()
    assert built.outcome == corpus.BUILT


def test_the_nearest_way_is_the_one_that_is_meant(roots, built):
    scores = scoring.score_surface(
        "please commit this, then roast some carrots",
        ["please commit this change to git", "then roast some carrots for dinner"],
        roots,
        resident=False,
    )
    assert isinstance(scores, LaneScores)
    first, second = (max(chunk, key=chunk.get) for chunk in scores.chunks)
    assert (first, second) == ("core:dev/commits", "core:home/cooking")
    assert set(scores.bodies[0]) == set(scores.whole) == {f"core:{way_id}" for way_id in WAYS}
    assert min(scores.whole.values()) < 0.2


@pytest.mark.skipif(os.name == "nt", reason="no resident on Windows")
def test_the_resident_gives_the_same_scores(roots, built):
    surface = ("build the image with docker", ["build the image with docker", "then cook something"])
    alone = scoring.score_surface(*surface, roots, resident=False)
    try:
        for _ in range(400):
            facts = client.status(roots, "en")
            if not isinstance(facts, client.NoAnswer):
                break
            scoring.score_surface(*surface, roots, resident=True, idle_minutes=1)
        assert not isinstance(facts, client.NoAnswer), facts
        before = int(facts["requests"])
        served = scoring.score_surface(*surface, roots, resident=True)
        assert int(client.status(roots, "en")["requests"]) > before
        assert served.fit == alone.fit
        assert dict(served.whole) == pytest.approx(dict(alone.whole), abs=2e-3)
        for one, other in zip((*served.chunks, *served.bodies), (*alone.chunks, *alone.bodies), strict=True):
            assert dict(one) == pytest.approx(dict(other), abs=2e-3)
    finally:
        client.stop(roots, "en")


@pytest.mark.slow
def test_the_committed_probes_calibrate_the_shipped_ways(roots, tmp_path):
    shipped = sources.Root("core", "core", os.path.join(TOP, "projection", "payload", "hooks", "ways"))
    probes = calibrate.PROBES_FILE
    plan = corpus.Sources(lambda: "once", lambda: list(sources.texts([shipped])), probes)
    report = corpus.build(str(tmp_path), plan, {"en": models.model_of("en", roots)})
    lane = report.lanes["en"].lane
    assert lane.samples >= 400
    assert lane.auc >= calibrate.MIN_AUC, lane.reason
    assert lane.a > 0
    assert report.lanes["en"].left_out == 0
