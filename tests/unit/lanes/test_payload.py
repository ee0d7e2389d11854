"""Reading what Claude Code sends, and what it never should."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.lanes import payload
from ways.lanes.payload import PayloadProblem


@contextmanager
def pipe(data: bytes, close: bool = True) -> Iterator[int]:
    """A pipe that holds `data`; its writing end stays open unless `close`."""
    reader, writer = os.pipe()

    def feed() -> None:
        with os.fdopen(os.dup(writer), "wb") as stream:
            stream.write(data)

    thread = threading.Thread(target=feed, daemon=True)
    thread.start()
    if close:
        thread.join(5) if len(data) < 60_000 else None
        os.close(writer)
    try:
        yield reader
    finally:
        os.close(reader)
        if not close:
            os.close(writer)


def read(data: bytes, close: bool = True) -> dict[str, object]:
    with pipe(data, close) as descriptor:
        return payload.read(descriptor)[0]


def test_case_h01_stdin_that_is_never_closed() -> None:
    assert read(b'{"session_id": "s", "prompt": "a } in text"}', close=False)["session_id"] == "s"
    assert read(b'{"a": {"b": 1}}\n\n', close=False) == {"a": {"b": 1}}
    assert read(b'{"a": 1} trailing {', close=False) == {"a": 1}


def test_case_h02_the_payload_is_utf8_whatever_the_locale() -> None:
    document = read(json.dumps({"prompt": "テストを直して"}, ensure_ascii=False).encode("utf-8"))
    assert document["prompt"] == "テストを直して"
    assert read(b"\xef\xbb\xbf" + b'{"a": 1}') == {"a": 1}
    assert read(b'{"a": "\xff\xfe"}')["a"] == "\ufffd\ufffd"


def test_a_large_payload_comes_whole() -> None:
    text = "x}" * 1_500_000
    assert read(json.dumps({"prompt": text}).encode(), close=False)["prompt"] == text


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"[1]", b"{", b'"text"', b"nonsense", b"{'a': 1}", b"{" * 5000]
)
def test_what_is_no_object_is_a_problem(data: bytes) -> None:
    with pytest.raises(PayloadProblem):
        read(data)


def test_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "MAX_BYTES", 1000)
    with pytest.raises(PayloadProblem, match="larger"):
        read(b'{"a": "' + b"x" * 5000)


def test_a_silent_stdin_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "DEADLINE_SECONDS", 0.1)
    with pytest.raises(PayloadProblem, match="nothing came"):
        read(b"", close=False)


def test_a_silent_stdin_ends_where_no_timer_can_end_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload, "DEADLINE_SECONDS", 0.2)
    found: list[object] = []

    def attempt(descriptor: int) -> None:
        try:
            found.append(payload.read(descriptor)[0])
        except PayloadProblem as problem:
            found.append(str(problem))

    with pipe(b"", close=False) as descriptor:
        thread = threading.Thread(target=attempt, args=(descriptor,))
        thread.start()
        thread.join(30)
        if os.name != "nt":
            former = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
            attempt(descriptor)
            signal.pthread_sigmask(signal.SIG_SETMASK, former)
    assert set(found) == {"nothing came on standard input"} and len(found) == (1 if os.name == "nt" else 2)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such timer")
def test_reading_leaves_no_timer_and_no_handler() -> None:
    before = signal.getsignal(signal.SIGALRM)
    assert read(b'{"a": 1}') == {"a": 1}
    with pytest.raises(PayloadProblem):
        read(b"{")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_fields_of_a_wrong_type_count_as_absent() -> None:
    record = payload.parse(
        {"session_id": 7, "cwd": ["x"], "tool_input": "no", "agent_id": 3, "prompt": None, "tool_name": {}}
    )
    assert (record.session_id, record.cwd, record.agent_id, record.tool_name) == ("", "", "", "")
    assert record.tool_input == {} and record.text("prompt") == "" and not record.agent_unusable


@pytest.mark.parametrize("bad", ["", "..", "a/b", "x" * 300, ".hidden", "a\x00b", "con"])
def test_ids_that_may_not_become_paths(bad: str) -> None:
    record = payload.parse({"session_id": bad, "agent_id": bad})
    assert record.session_id == "" and record.agent_id == ""
    assert record.agent_unusable == (bad != "")


def test_lone_surrogates_are_replaced_everywhere() -> None:
    document = read(b'{"prompt": "a\\ud83d", "tool_input": {"command": ["\\udc00"]}}')
    record = payload.parse(document)
    assert record.text("prompt") == "a\ufffd" and record.tool_input["command"] == ["\ufffd"]


@given(
    st.dictionaries(
        st.text(max_size=12),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)
        ),
        max_size=6,
    )
)
def test_any_object_becomes_a_record(document: dict[str, object]) -> None:
    record = payload.parse(document)
    for text in (record.event, record.session_id, record.cwd, record.text("prompt")):
        text.encode("utf-8")


@given(st.binary(max_size=200))
def test_any_bytes_end_in_an_object_or_a_problem(data: bytes) -> None:
    try:
        document, seen = payload._parse(data)
    except PayloadProblem:
        return
    assert isinstance(document, dict) and seen == data
