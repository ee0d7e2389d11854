"""Whatever a transcript holds, reading it ends, raises nothing and agrees with reading it forwards."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.session import rows
from ways.session.backwards import Backwards
from ways.session.stamps import seconds_of
from ways.session.transcript import Queue, read

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**7) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "type",
        "message",
        "usage",
        "model",
        "content",
        "isSidechain",
        "timestamp",
        "operation",
        "origin",
        "subtype",
        "compactMetadata",
        "isMeta",
        "text",
        "input_tokens",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "system",
        "queue-operation",
        "enqueue",
        "compact_boundary",
        "text",
        rows.stamp(5),
        rows.stamp(900),
    ]
)
FOREIGN = st.recursive(
    WORDS | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=12,
)
KNOWN = st.one_of(
    st.builds(
        rows.assistant, st.sampled_from(["", "text — x"]), st.integers(0, 10**6), at=st.integers(0, 3600)
    ),
    st.builds(rows.user, st.just("hi"), st.integers(0, 3600)),
    st.builds(rows.enqueue, VALUES, st.integers(0, 3600)),
    st.builds(rows.boundary, st.none() | st.integers(0, 10**6)),
    st.just(rows.result()),
)


def scratch(data: bytes) -> str:
    descriptor, name = tempfile.mkstemp()
    os.write(descriptor, data)
    os.close(descriptor)
    return name


@settings(max_examples=150, deadline=None)
@given(st.lists(FOREIGN | KNOWN, max_size=8), st.binary(max_size=30))
def test_foreign_rows_never_raise(documents: list[Any], tail: bytes) -> None:
    path = scratch(rows.encode(*documents) + tail)
    found = read(path, queue=Queue(rows.stamp(100), lambda text: False))
    assert found.position >= 0 and all(isinstance(message, str) and message for message in found.messages)
    found.prose.encode("utf-8")
    Path(path).unlink()


def forwards(documents: list[Any]) -> tuple[int, str]:
    """The same figure by the plain rule, from the front."""
    position, model = 0, ""
    for row in documents:
        if row.get("type") == "assistant":
            usage = row["message"]["usage"]
            tokens = sum(usage[name] for name in usage if name != "output_tokens")
            if tokens:
                position, model = tokens, row["message"]["model"]
        elif row.get("subtype") == "compact_boundary":
            position = row["compactMetadata"].get("postTokens", 0)
    return position, model


@settings(max_examples=100, deadline=None)
@given(st.lists(KNOWN, max_size=12))
def test_backwards_agrees_with_forwards(documents: list[Any]) -> None:
    path = scratch(rows.encode(*documents))
    found = read(path)
    assert (found.position, found.model) == forwards(documents)
    Path(path).unlink()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.binary(max_size=400_000).filter(lambda line: b"\n" not in line), max_size=6), st.booleans()
)
def test_lines_come_back_whole_and_in_reverse(lines: list[bytes], ends: bool) -> None:
    data = b"\n".join(lines) + (b"\n" if ends else b"")
    path = scratch(data)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = [line for offset, line in Backwards(descriptor, len(data))]
        offsets = [offset for offset, line in Backwards(descriptor, len(data))]
    finally:
        os.close(descriptor)
        Path(path).unlink()
    wanted = data.split(b"\n")[::-1]
    assert [line for line in found if line] == [line for line in wanted if line]
    assert all(data[offset - 1 : offset] == b"\n" for offset in offsets if offset)


@given(st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(9000, 1, 1)), st.booleans())
def test_stamps_are_read_as_datetime_reads_them(moment: datetime, zoned: bool) -> None:
    stamp = moment.isoformat() + ("Z" if zoned else "")
    found = seconds_of(stamp)
    assert found is not None and abs(found - moment.replace(tzinfo=UTC).timestamp()) < 1e-3
    assert seconds_of(moment.isoformat() + "+02:30") == found - 9000


@given(VALUES | st.text(max_size=40))
def test_other_stamps_are_none_or_a_number(value: object) -> None:
    assert isinstance(seconds_of(value), float | int | None)
    assert seconds_of(json.dumps(value)) is None or isinstance(value, str)
