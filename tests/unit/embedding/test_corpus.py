from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.unit.embedding.hashing import HashingEngine, model_of
from ways.core import files
from ways.core.errors import UserError
from ways.embedding import calibrate, corpus, exchange, manifest, sidecar
from ways.embedding.corpus import Sources
from ways.embedding.rows import Texts, text_hash
from ways.embedding.vectors import Model

TOPICS = {
    "commits": "commit message history squash rebase",
    "tests": "pytest fixture assert coverage failing",
    "docker": "container image compose volume registry",
}


def ways(*extra):
    made = [
        Texts(f"core:dev/{name}", words, f"First about {words}.\n\nSecond part on {name} in general.")
        for name, words in TOPICS.items()
    ]
    return [*made, *extra]


def write_probes(path, count=30):
    generator = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count):
            for name in TOPICS:
                for topic, words in TOPICS.items():
                    text = " ".join(generator.choices(words.split(), k=3))
                    file.write(
                        json.dumps({"text": text, "way": f"dev/{name}", "relevant": topic == name}) + "\n"
                    )


class Place:
    """A cache with its sources in memory; `state` stands in for the stat results."""

    def __init__(self, folder):
        self.cache = str(folder / "cache")
        self.texts = ways()
        self.state = "1"
        self.reads = 0
        self.engine = HashingEngine()
        self.opened = []
        self.probes = str(folder / "probes.jsonl")
        write_probes(self.probes)

    def sources(self):
        def read():
            self.reads += 1
            return self.texts

        return Sources(lambda: self.state, read, self.probes)

    def build(self, lanes=("en",), **options):
        models = {lane: model_of(self.engine, self.opened) for lane in lanes}
        return corpus.build(self.cache, self.sources(), models, **options)

    def change(self, texts):
        self.texts = texts
        self.state += "+"
        self.engine.asked.clear()

    def sidecar(self, lane="en"):
        return sidecar.load(sidecar.path_in(self.cache, lane))

    def snapshot(self):
        names = sorted(os.listdir(self.cache))
        return {name: files.read_bytes(os.path.join(self.cache, name)) for name in names}


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_a_first_build_writes_all_files(place):
    report = place.build()
    assert report.outcome == corpus.BUILT
    lane = report.lanes["en"]
    assert (lane.embedded, lane.reused, lane.left_out) == (6, 0, 0)
    assert sorted(os.listdir(place.cache)) == [
        "corpus.lock",
        "embed-manifest.json",
        "ways-corpus-en.bin",
        "ways-corpus-en.jsonl",
        "ways-probes-en.bin",
    ]
    opened = place.sidecar()
    assert opened.ids == sorted(f"core:dev/{name}" for name in TOPICS)
    assert (opened.row_count, opened.alias_rows) == (6, 3)
    read = manifest.read(place.cache).lanes["en"]
    assert (read.ids, read.rows, read.samples) == (3, 6, 270)
    assert read.auc > 0.9
    assert opened.fit == (read.a, read.b)
    assert read.model_hash == opened.model_hash
    assert corpus.staleness(place.cache, {"en": model_of(place.engine)}, place.state) == ""


def test_the_exchange_file_and_the_sidecar_hold_the_same_rows(place):
    place.build()
    opened = place.sidecar()
    with open(exchange.path_in(place.cache, "en"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert len(lines) == opened.row_count
    for row, line in enumerate(lines):
        assert line["text_hash"] == opened.text_hash(row).hex()
        assert [float(value) for value in opened.row(row)] == pytest.approx(
            line["vector"], rel=1e-8, abs=1e-12
        )
    by_text = {line["text_hash"]: line for line in lines}
    alias = by_text[text_hash(place.texts[0].alias).hex()]
    assert (alias["corpus_id"], alias["kind"], alias["lang"]) == ("core:dev/commits", "alias", "en")


def test_files_are_private(place):
    place.build()
    if os.name != "nt":
        assert {
            os.stat(os.path.join(place.cache, name)).st_mode & 0o077 for name in os.listdir(place.cache)
        } == {0}


def test_if_stale_reads_and_loads_nothing_when_nothing_changed(place):
    place.build()
    before, reads, opened = place.snapshot(), place.reads, len(place.opened)
    assert place.build(if_stale=True).outcome == corpus.CURRENT
    assert (place.reads, len(place.opened)) == (reads, opened)
    assert place.snapshot() == before


def test_a_touched_file_with_the_same_text_costs_no_embedding(place):
    place.build()
    place.change(place.texts)
    opened = len(place.opened)
    report = place.build(if_stale=True)
    assert report.outcome == corpus.BUILT
    assert (report.lanes["en"].why, report.lanes["en"].embedded) == ("", 0)
    assert len(place.opened) == opened
    reads = place.reads
    assert place.build(if_stale=True).outcome == corpus.CURRENT
    assert place.reads == reads


def test_only_what_changed_is_embedded_again(place):
    place.build()
    old = place.sidecar()
    kept = bytes(old.row(old.span(old.index["core:dev/tests"]).alias))
    first = place.texts[0]
    place.change([Texts(first.corpus_id, "commit messages and nothing else", first.body), *place.texts[1:]])
    report = place.build(if_stale=True)
    assert place.engine.asked == ["commit messages and nothing else"]
    assert (report.lanes["en"].embedded, report.lanes["en"].reused) == (1, 5)
    new = place.sidecar()
    assert bytes(new.row(new.span(new.index["core:dev/tests"]).alias)) == kept
    assert new.corpus_hash != old.corpus_hash


def test_a_removed_way_leaves_the_corpus_without_the_engine(place):
    place.build()
    opened = len(place.opened)
    place.change(place.texts[1:])
    place.build(if_stale=True)
    assert "core:dev/commits" not in place.sidecar().index
    assert len(place.opened) == opened


def test_one_text_in_two_roots_is_embedded_once(place):
    place.change([Texts("core:a", "same words here"), Texts("p-0123456789ab:a", "same words here")])
    place.build()
    assert place.engine.asked.count("same words here") == 1
    opened = place.sidecar()
    assert bytes(opened.row(0)) == bytes(opened.row(1))


def test_another_model_embeds_everything_again(place):
    place.build()
    place.engine = HashingEngine("2")
    report = place.build(if_stale=True)
    assert report.lanes["en"].embedded == 6
    assert place.sidecar().model_hash == manifest.read(place.cache).lanes["en"].model_hash


def test_the_multilingual_lane_holds_locale_aliases_and_no_bodies(place):
    place.change([Texts("core:a", "one two three", "A body of some length.", (("de", "eins zwei drei"),))])
    place.build(lanes=("en", "multi"))
    assert (place.sidecar("en").alias_rows, place.sidecar("en").row_count) == (1, 2)
    assert (place.sidecar("multi").alias_rows, place.sidecar("multi").row_count) == (2, 2)
    assert set(manifest.read(place.cache).lanes) == {"en", "multi"}


def test_a_lane_that_is_not_asked_for_stays(place):
    place.build(lanes=("en", "multi"))
    place.change(ways(Texts("user:new", "something new entirely")))
    place.build(lanes=("en",), if_stale=True)
    assert set(manifest.read(place.cache).lanes) == {"en", "multi"}
    assert place.build(lanes=("en",), if_stale=True).outcome == corpus.CURRENT
    # The multilingual lane was not brought up to date with it, so it counts as stale.
    assert place.build(lanes=("en", "multi"), if_stale=True).outcome == corpus.BUILT
    assert "user:new" in place.sidecar("multi").index


def test_calibration_uses_core_ways_only(place):
    place.build()
    fit = place.sidecar().fit
    place.change(ways(Texts("user:dev/commits", "entirely other words"), Texts("user:x", "pytest fixture")))
    place.build(if_stale=True)
    assert place.sidecar().fit == fit


def test_changed_probes_refit_and_embed_only_the_new_ones(place):
    place.build()
    with open(place.probes, "a", encoding="utf-8") as file:
        file.write(json.dumps({"text": "brand new probe", "way": "dev/tests", "relevant": False}) + "\n")
    place.change(place.texts)
    place.build(if_stale=True)
    assert place.engine.asked == ["brand new probe"]
    assert manifest.read(place.cache).lanes["en"].samples == 271


@pytest.mark.parametrize("probes", ["none", "random"])
def test_without_a_usable_fit_the_lane_is_built_uncalibrated_with_the_reason(place, probes):
    if probes == "none":
        os.unlink(place.probes)
    else:
        generator = random.Random(1)
        lines = [
            json.dumps(
                {"text": f"word{at} thing{at}", "way": "dev/tests", "relevant": generator.random() < 0.5}
            )
            for at in range(200)
        ]
        with open(place.probes, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
    place.build()
    lane = manifest.read(place.cache).lanes["en"]
    assert (lane.a, lane.b) == (None, None)
    assert ("no probe corpus" if probes == "none" else "under 0.70") in lane.reason
    assert place.sidecar().fit is None
    assert place.build(if_stale=True).outcome == corpus.CURRENT


def test_bad_probes_stop_the_build_and_keep_the_old_corpus(place):
    place.build()
    before = place.snapshot()
    with open(place.probes, "a", encoding="utf-8") as file:
        file.write("not json\n")
    place.change(place.texts[1:])
    with pytest.raises(calibrate.BadProbes, match="not JSON"):
        place.build()
    assert place.snapshot() == before


# Not a changed byte of the exchange file: only a full reading would notice, and nothing of ours reads it.
DAMAGES = [
    (name, damage)
    for name in ("ways-corpus-en.bin", "ways-corpus-en.jsonl", "embed-manifest.json")
    for damage in ("delete", "truncate", "flip", "empty")
    if (name, damage) != ("ways-corpus-en.jsonl", "flip")
]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_damage_is_noticed_and_healed(place, name, damage):
    place.build()
    before = place.snapshot()
    path = os.path.join(place.cache, name)
    data = before[name]
    if damage == "delete":
        os.unlink(path)
    else:
        cut = {"truncate": data[: len(data) // 2], "flip": data[:5] + b"\xff" + data[6:], "empty": b""}[
            damage
        ]
        with open(path, "wb") as file:
            file.write(cut)
    place.engine.asked.clear()
    report = place.build(if_stale=True)
    assert report.outcome == corpus.BUILT
    assert report.lanes["en"].why
    after = place.snapshot()
    for other in ("ways-corpus-en.bin", "ways-corpus-en.jsonl", "ways-probes-en.bin"):
        assert after[other] == before[other], other
    assert place.build(if_stale=True).outcome == corpus.CURRENT
    # Vectors are taken over from a sound sidecar, never from a damaged one.
    assert bool(place.engine.asked) == (name == "ways-corpus-en.bin")


def test_damaged_vectors_are_healed_by_a_full_build(place):
    place.build()
    before = place.snapshot()
    damaged = bytearray(before["ways-corpus-en.bin"])
    damaged[-2] ^= 0x40
    with open(sidecar.path_in(place.cache, "en"), "wb") as file:
        file.write(damaged)
    report = place.build()
    assert "checksum" in report.lanes["en"].why
    assert place.snapshot()["ways-corpus-en.bin"] == before["ways-corpus-en.bin"]


def test_a_deleted_cache_is_built_again(place):
    place.build()
    for name in os.listdir(place.cache):
        os.unlink(os.path.join(place.cache, name))
    os.rmdir(place.cache)
    assert place.build(if_stale=True).outcome == corpus.BUILT
    assert place.sidecar().row_count == 6


def test_texts_without_an_answer_are_left_out(place):
    class Odd(HashingEngine):
        def embed(self, texts):
            made = super().embed(texts)
            return [
                None if "blank" in text else [float("nan")] * 32 if "broken" in text else vector
                for text, vector in zip(texts, made, strict=True)
            ]

    place.engine = Odd()
    place.change(ways(Texts("user:a", "a blank one"), Texts("user:b", "a broken one")))
    report = place.build()
    assert report.lanes["en"].left_out == 2
    assert not {"user:a", "user:b"} & set(place.sidecar().ids)
    assert place.build(if_stale=True).outcome == corpus.CURRENT


def test_no_ways_at_all(place):
    place.change([])
    place.build()
    assert place.sidecar().ids == []
    assert place.build(if_stale=True).outcome == corpus.CURRENT


def test_progress_counts_up_to_everything(place):
    seen = []
    place.build(progress=lambda lane, done, total: seen.append((lane, done, total)))
    total = seen[0][2]
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1] == ("en", total, total)


def test_an_engine_that_cannot_be_loaded_keeps_the_old_corpus(place):
    place.build()
    before = place.snapshot()
    place.change(ways(Texts("user:new", "something new entirely")))

    def fail():
        raise UserError("no engine", "ways doctor")

    good = model_of(place.engine)
    with pytest.raises(UserError, match="no engine"):
        corpus.build(place.cache, place.sources(), {"en": Model(good.name, good.stamp, good.sha256, fail)})
    assert place.snapshot() == before


def test_an_interrupted_build_keeps_the_old_corpus(place):
    place.build()
    before = place.snapshot()
    place.change(ways(*(Texts(f"user:{at}", f"words number {at}") for at in range(60))))

    def interrupt(lane, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        place.build(progress=interrupt)
    assert place.snapshot() == before


SLOW_BUILDER = """
import sys, time
from tests.unit.embedding.hashing import HashingEngine, model_of
from tests.unit.embedding.test_corpus import ways
from ways.embedding import corpus
from ways.embedding.rows import Texts

cache, wait, seconds, tag = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]

class Slow(HashingEngine):
    def embed(self, texts):
        print("embedding", flush=True)
        if seconds < 0:
            sys.stdin.read()  # until the test closes it
        time.sleep(max(seconds, 0))
        return super().embed(texts)

extra = [Texts(f"user:{tag}/{at}", f"{tag} words {at}") for at in range(64)]
sources = corpus.Sources(lambda: tag, lambda: ways(*extra), cache + "/no-probes")
report = corpus.build(cache, sources, {"en": model_of(Slow())}, if_stale=True, wait=wait)
print(report.outcome, flush=True)
"""


def start_builder(place, wait, seconds, tag):
    return subprocess.Popen(
        [sys.executable, "-c", SLOW_BUILDER, place.cache, str(wait), str(seconds), tag],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=os.path.join(os.path.dirname(__file__), "..", "..", ".."),
    )


def test_a_second_builder_waits_or_leaves(place):
    with start_builder(place, 0, -1, "same") as first:
        assert first.stdout.readline() == "embedding\n"
        with start_builder(place, 0, 0, "same") as leaving, start_builder(place, 600, 0, "same") as waiting:
            assert leaving.communicate()[0] == "busy\n"
            assert first.communicate()[0].endswith("built\n")
            # What it waited for is what it wanted, so it has nothing left to do.
            assert waiting.communicate()[0] == "current\n"
    assert sidecar.verify(sidecar.path_in(place.cache, "en")) is None


def test_builders_with_different_aims_leave_one_whole_corpus(place):
    with start_builder(place, 600, 0.02, "one") as one, start_builder(place, 600, 0.02, "two") as two:
        one.communicate()
        two.communicate()
    assert (one.returncode, two.returncode) == (0, 0)
    lane = manifest.read(place.cache).lanes["en"]
    assert corpus.lane_damage(place.cache, "en", lane, thorough=True) == ""
    assert lane.signature.split()[0] in {"one", "two"}


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_kill_in_the_middle_leaves_the_old_corpus(place):
    place.build()
    before = place.snapshot()
    with start_builder(place, 0, -1, "killed") as builder:
        assert builder.stdout.readline() == "embedding\n"
        os.kill(builder.pid, signal.SIGKILL)
        builder.wait()
    assert place.snapshot() == before
    place.change(ways(Texts("user:after", "the lock of the dead is free")))
    assert place.build(if_stale=True).outcome == corpus.BUILT


@pytest.mark.skipif(os.name == "nt", reason="kill -9")
def test_kill_at_any_time_leaves_a_corpus_that_reads(place):
    place.build()
    for attempt in range(8):
        with start_builder(place, 600, 0.01, f"try{attempt}") as builder:
            assert builder.stdout.readline() == "embedding\n"
            time.sleep(0.012 * attempt)
            builder.kill()
            builder.wait()
        assert sidecar.verify(sidecar.path_in(place.cache, "en")) is None
        assert isinstance(manifest.read(place.cache), manifest.Manifest)
    place.change(place.texts)
    place.build(if_stale=True)
    lane = manifest.read(place.cache).lanes["en"]
    assert corpus.lane_damage(place.cache, "en", lane, thorough=True) == ""
    assert not [name for name in os.listdir(place.cache) if ".ways-tmp-" in name]


def test_left_over_temporaries_of_the_dead_are_swept(place):
    place.build()
    stale = os.path.join(place.cache, ".ways-corpus-en.bin.ways-tmp-999-1-1")
    other = os.path.join(place.cache, ".catalogue-x.json.ways-tmp-999-1-1")
    for path in (stale, other):
        with open(path, "wb") as file:
            file.write(b"x")
    place.change(place.texts)
    place.build()
    assert not os.path.exists(stale)
    assert os.path.exists(other)


def test_five_thousand_ways(place):
    many = [Texts(f"core:bulk/way{at}", f"alias of way number {at}") for at in range(5000)]
    place.change(many)
    place.build()
    opened = place.sidecar()
    assert len(opened.ids) == 5000
    assert opened.ids == sorted(opened.ids)
    place.change([*many, Texts("core:bulk/one-more", "one more alias")])
    report = place.build(if_stale=True)
    assert (report.lanes["en"].embedded, report.lanes["en"].reused) == (1, 5000)
