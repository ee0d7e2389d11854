from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.embedding import wire

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=50), max_size=10)


@given(texts, st.text(max_size=20).filter(str.isascii), st.integers(0, 60_000))
def test_a_request_comes_back(parts, corpus, deadline):
    request = wire.Request(wire.SCORE, "1.2.3", deadline, corpus, tuple(parts))
    assert wire.parse_request(wire.encode_request(request)) == request


@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_an_answer_comes_back(scores, message):
    answer = wire.Answer(wire.OK, "1.2.3", message, bytes(range(32)), scores)
    back = wire.parse_answer(wire.encode_answer(answer))
    assert (back.status, back.program, back.message, back.corpus_hash) == (
        wire.OK,
        "1.2.3",
        message,
        bytes(range(32)),
    )
    assert bytes(back.scores) == scores


@settings(max_examples=500)
@given(st.binary(max_size=120), st.booleans())
def test_bytes_are_parsed_or_refused(data, ours):
    data = b"\x01\x00\x01" + data if ours else data
    for parse in (wire.parse_request, wire.parse_answer, wire.operation):
        try:
            parse(data)
        except wire.WireError:
            continue


@given(texts, st.integers(0, 400), st.integers(0, 255))
def test_a_changed_request_is_parsed_or_refused(parts, at, value):
    data = bytearray(wire.encode_request(wire.Request(wire.SCORE, "1", 5, "/c", tuple(parts))))
    data[at % len(data)] = value
    try:
        request = wire.parse_request(bytes(data))
    except wire.WireError:
        return
    assert len(request.texts) <= wire.MAX_TEXTS


def test_an_answer_of_another_version_has_only_its_status():
    assert wire.parse_answer(b"\x02\x00\x07 anything").status == wire.OTHER_VERSION


@pytest.mark.parametrize(
    ("one", "other", "older"),
    [
        ("0.1.0", "0.2.0", True),
        ("0.9", "0.10", True),
        ("1.0", "1.0", False),
        ("1.1", "1.0.9", False),
        ("dev", "1.0", True),
        ("dev", "dev", False),
        ("", "1.0", True),
    ],
)
def test_which_version_is_older(one, other, older):
    assert wire.is_older(one, other) is older


def test_more_than_a_request_holds():
    for parts in (("a",) * 65, ("x" * (1 << 20),)):
        assert not wire.texts_fit(parts)
        with pytest.raises(wire.WireError):
            wire.encode_request(wire.Request(wire.SCORE, "1", 5, "/c", parts))
