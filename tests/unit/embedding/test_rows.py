from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.embedding import rows
from ways.embedding.rows import ALIAS, BODY, Row, Texts, body_chunks, rows_for


@pytest.fixture
def unjoined(monkeypatch):
    """Chunks as they are before short neighbours are joined."""
    monkeypatch.setattr(rows, "JOINED", 0)


def test_short_neighbours_are_one_chunk_up_to_a_length():
    part = "A sentence of guidance. " * 10
    chunks = body_chunks(f"# Title\n\n{part}\n\n{part}\n\n{part}")
    assert sorted(chunk.count("sentence") for chunk in chunks) == [10, 20]
    assert all(len(chunk) <= rows.JOINED for chunk in chunks)


def test_paragraphs_are_chunks_and_take_their_headings_along(unjoined):
    body = (
        "# Title\n\n## Part\n\nFirst paragraph,\ntwo lines.\n\nSecond paragraph.\n\n"
        "## Next\n- the first item\n  goes on\n  - nested\n2. the second item\n"
    )
    assert body_chunks(body) == (
        "Title Part First paragraph, two lines.",
        "Second paragraph.",
        "Next the first item goes on - nested",
        "the second item",
    )


def test_a_fence_is_one_chunk_and_its_comments_are_no_headings(unjoined):
    body = "Run this now:\n\n```sh\n# not a heading\n\nmake all the things\n```\n\nThen look at it.\n"
    assert body_chunks(body) == ("Run this now:", "# not a heading make all the things", "Then look at it.")


def test_an_open_fence_ends_with_the_body():
    assert body_chunks("~~~\nopen to the end\n\nstill open") == ("open to the end still open",)


def test_comments_are_left_out_and_short_pieces_joined(unjoined):
    body = "<!-- a note\nfor authors -->\n\n- one\n- two\n- three\n\nThis one is long enough.\n\nend"
    assert body_chunks(body) == ("one two three", "This one is long enough. end")
    assert body_chunks("too short") == ()


def test_a_heading_at_the_end_is_not_lost(unjoined):
    assert body_chunks("Something here first.\n\n## And a last heading") == (
        "Something here first.",
        "And a last heading",
    )


def test_at_most_eight_chunks_that_cover_everything(unjoined):
    body = "\n\n".join(f"Paragraph number {at} says something." for at in range(40))
    chunks = body_chunks(body)
    assert len(chunks) == rows.MAX_CHUNKS
    assert " ".join(chunks).split() == body.split()


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("ab #`~\n<!->\u00e9\ud800\0 "), max_size=400))
def test_no_body_breaks_the_bounds(body):
    chunks = body_chunks(body)
    assert len(chunks) <= rows.MAX_CHUNKS
    assert all(rows.MIN_CHUNK <= len(chunk) <= rows.MAX_CHUNK and "\n" not in chunk for chunk in chunks)
    assert all(chunk.encode("utf-8") for chunk in chunks)


def test_a_body_of_a_million_lines_is_chunked():
    assert len(body_chunks("word here and there\n\n" * 100_000)) == rows.MAX_CHUNKS


def test_rows_of_the_two_lanes(unjoined):
    item = Texts(
        "core:a",
        "does things words",
        "The body of the way.",
        (("de", "tut Dinge"), ("fr", "fait des choses")),
    )
    check = Texts("core:a:check", "look twice")
    english = rows_for("en", [check, item])
    assert english == (
        Row("core:a", ALIAS, "en", "does things words"),
        Row("core:a:check", ALIAS, "en", "look twice"),
        Row("core:a", BODY, "en", "The body of the way."),
    )
    multi = rows_for("multi", [item])
    assert {(row.kind, row.lang, row.text) for row in multi} == {
        (ALIAS, "en", "does things words"),
        (ALIAS, "de", "tut Dinge"),
        (ALIAS, "fr", "fait des choses"),
    }


def test_a_blank_alias_gives_no_row():
    assert rows_for("en", [Texts("core:a", " \n ", "")]) == ()


def test_locales_are_read_and_other_lines_skipped(tmp_path):
    target = tmp_path / "a.locales.jsonl"
    lines = [
        json.dumps({"lang": "ja", "description": "コミット", "vocabulary": "履歴 変更"}, ensure_ascii=False),
        json.dumps({"lang": "de", "description": "Commits", "vocabulary": ["Verlauf", 3, "Änderung"]}),
        "not json",
        "[1]",
        json.dumps({"lang": "", "description": "x"}),
        json.dumps({"lang": "\ud800", "description": "surrogate \ud800"}),
    ]
    target.write_text("\n".join(lines), encoding="utf-8")
    found = rows.read_locales(str(target))
    assert found[:2] == (("ja", "コミット 履歴 変更"), ("de", "Commits Verlauf Änderung"))
    assert len(found) == 3
    assert rows.corpus_hash(rows_for("multi", [Texts("core:a", "x", "", found)]))


def test_no_locales():
    assert rows.read_locales("/nonexistent/x.locales.jsonl") == ()
    assert rows.locales_path("/w/a/a.md") == "/w/a/a.locales.jsonl"


def test_the_corpus_hash_sees_every_part():
    base = Row("core:a", ALIAS, "en", "text")
    changed = [
        Row("core:b", ALIAS, "en", "text"),
        Row("core:a", BODY, "en", "text"),
        Row("core:a", ALIAS, "de", "text"),
        Row("core:a", ALIAS, "en", "texts"),
    ]
    hashes = {rows.corpus_hash([row]) for row in [base, *changed]}
    assert len(hashes) == 5
