"""Transcripts and trash records are read whatever they hold."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ways.projects import facts, history, moves
from ways.projects.slug import is_slug_of, slug_of

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)
names = (
    "type",
    "message",
    "content",
    "usage",
    "model",
    "id",
    "timestamp",
    "cwd",
    "isMeta",
    "summary",
    "text",
)
rows = st.dictionaries(st.sampled_from(names), values | st.sampled_from(["user", "assistant"]), max_size=8)
nested = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "summary"]), "message": rows | values}
)
lines = st.lists(
    st.binary(max_size=60) | (rows | nested).map(lambda row: json.dumps(row).encode("utf-8")), max_size=12
)
quick = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@quick
@given(lines, st.text(min_size=1, max_size=5))
def test_no_transcript_breaks_a_reader(tmp_path: Path, parts: list[bytes], wanted: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(parts))
    found = facts.of(str(path))
    assert found.broken <= found.lines
    assert all(isinstance(count, int) and count > 0 for count in found.tokens.values())
    for hit in facts.search(str(path), "s", "p", wanted):
        assert hit.role in {"user", "assistant"}
    assert isinstance(history.cwd_of(str(path)), str)


@quick
@given(st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode("utf-8")))
def test_no_trash_record_breaks_a_reader(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "batch.json").write_bytes(data)
    moves.read(str(tmp_path))


@quick
@given(st.text(min_size=1, max_size=300))
def test_a_slug_is_a_plain_name_of_its_folder(folder: str) -> None:
    slug = slug_of(folder)
    assert is_slug_of(slug, folder) and len(slug) == len(folder)
    assert all(character == "-" or (character.isascii() and character.isalnum()) for character in slug)
