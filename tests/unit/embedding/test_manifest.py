from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.embedding import manifest
from ways.embedding.sidecar import Problem


def lane(**changes):
    values = {
        "model": "all-MiniLM-L6-v2",
        "model_hash": "ab" * 32,
        "dimensions": 384,
        "corpus_hash": "cd" * 32,
        "probes_hash": "ef" * 32,
        "signature": "s",
        "jsonl_bytes": 10,
        "ids": 3,
        "rows": 9,
        "a": 12.0,
        "b": -4.5,
        "auc": 0.93,
        "samples": 412,
        "reason": "",
        "built_at": "2026-11-30T20:00:00.000Z",
        "fitted_at": "2026-11-30T20:00:00.000Z",
    }
    return manifest.Lane(**{**values, **changes})


def write_lane(tmp_path, **changes):
    fields = {**lane().__dict__, **changes}
    (tmp_path / manifest.NAME).write_text(json.dumps({"version": 1, "lanes": {"en": fields}}))
    return manifest.read(str(tmp_path))


def test_round_trip(tmp_path):
    uncalibrated = lane(a=None, b=None, auc=None, reason="AUC 0.612 is under 0.70")
    written = manifest.Manifest({"en": lane(), "multi": uncalibrated})
    manifest.write(str(tmp_path), written)
    assert manifest.read(str(tmp_path)) == written


def test_missing_is_not_damaged(tmp_path):
    assert manifest.read(str(tmp_path)) == Problem("not built yet", missing=True)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"version": 2, "lanes": {}}',
        b'{"version": 1}',
        b"[" * 100_000,
    ],
)
def test_damage_is_a_reason(tmp_path, content):
    (tmp_path / manifest.NAME).write_bytes(content)
    found = manifest.read(str(tmp_path))
    assert isinstance(found, Problem)
    assert manifest.NAME in found.reason
    assert not found.missing


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("model_hash", None, "model_hash is not a string"),
        ("rows", -1, "rows is not a count"),
        ("rows", True, "rows is not a count"),
        ("rows", 1.5, "rows is not a count"),
        ("a", "12", "a is not a finite number"),
        ("a", float("nan"), "a is not a finite number"),
        ("b", float("inf"), "b is not a finite number"),
        ("b", None, "a and b belong together"),
    ],
)
def test_a_wrong_field_is_named(tmp_path, field, value, reason):
    found = write_lane(tmp_path, **{field: value})
    assert isinstance(found, Problem)
    assert f"lanes.en: {reason}" in found.reason


def test_fields_that_a_newer_program_added_are_ignored(tmp_path):
    assert write_lane(tmp_path, added="x").lanes["en"] == lane()


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["version", "lanes", "en", "a", "rows"]), inner)
        ),
    )
)
def test_no_json_raises(tmp_path_factory, value):
    folder = tmp_path_factory.getbasetemp()
    (folder / manifest.NAME).write_text(json.dumps({"version": 1, "lanes": value}))
    assert isinstance(manifest.read(str(folder)), Problem | manifest.Manifest)
