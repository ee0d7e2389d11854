"""Properties of the byte-faithful JSON reader and of splicing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from projection.claude_settings import text
from projection.claude_settings.edits import Edits
from projection.claude_settings.text import Malformed, Node, Number
from tests.property import settings_files as files


def nodes(node: Node) -> list[Node]:
    children = node.items or [member.value for member in node.members]
    return [node, *(found for child in children for found in nodes(child))]


@settings(max_examples=100, deadline=None)
@given(files.files())
def test_reading_agrees_with_the_standard_library_and_keeps_every_byte(data: bytes) -> None:
    document = text.parse(data)
    assert document.encode() == data
    body = data.decode("utf-8-sig")
    assert text.plain(document.root) == json.loads(body, parse_float=Number, parse_int=Number)
    for node in nodes(document.root):
        assert text.plain(node) == json.loads(document.raw(node), parse_float=Number, parse_int=Number)


def _strict(body: str) -> Any:
    """The standard library, with its extensions to JSON taken away."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in items}) != len(items):
            raise ValueError("doubled key")
        return dict(items)

    def constant(name: str) -> Any:
        raise ValueError(name)

    found = json.loads(
        body, object_pairs_hook=pairs, parse_constant=constant, parse_int=Number, parse_float=Number
    )
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.binary(max_size=30), st.text('{}[]",:\\ \n\r\tabu0123eE+-./#*', max_size=20).map(str.encode))
)
@example(b'{"a":1,"a":1}')
@example(b'{"\\u0061":1,"a":1}')
@example(b"{} {}")
@example(b'{"a":"\x7f"}')
def test_anything_is_read_exactly_when_strict_json_is(data: bytes) -> None:
    try:
        expected = _strict(data.removeprefix(text.BOM).decode("utf-8"))
    except ValueError:
        with pytest.raises(Malformed) as found:
            text.parse(data)
        assert found.value.line >= 1
        assert found.value.column >= 1
        return
    assert text.plain(text.parse(data).root) == expected


@settings(max_examples=100, deadline=None)
@given(files.files(), st.data())
def test_a_damaged_file_is_refused_or_read_like_the_standard_library(
    data: bytes, draw: st.DataObject
) -> None:
    """One byte taken away, doubled or changed anywhere."""
    at = draw.draw(st.integers(0, len(data) - 1))
    how = draw.draw(st.sampled_from([b"", data[at : at + 1] * 2, b",", b"}", b'"', b"\\", b"/"]))
    test_anything_is_read_exactly_when_strict_json_is.hypothesis.inner_test(data[:at] + how + data[at + 1 :])


@settings(max_examples=100, deadline=None)
@given(files.files(), st.data())
def test_adding_to_a_container_and_removing_it_again_is_an_exact_inverse(
    data: bytes, draw: st.DataObject
) -> None:
    document = text.parse(data)
    containers = [node for node in nodes(document.root) if node.kind in {"object", "array"}]
    chosen = draw.draw(st.integers(0, len(containers) - 1))
    node = containers[chosen]
    count = len(node.spans())
    blanks = document.text[node.start + 1 : node.end - 1] if not count else ""
    new: Any = {"n": [1, "é"], "o": {}}
    added: Any = {"new key": new, "another": None} if node.kind == "object" else [new, None]
    edits = Edits(document)
    edits.change(node, set(), added)
    changed = text.parse(document.encode(edits.apply()))
    same = [found for found in nodes(changed.root) if found.kind in {"object", "array"}][chosen]
    assert len(same.spans()) == count + 2
    back = Edits(changed)
    back.change(same, {count, count + 1}, (), blanks)
    assert changed.encode(back.apply()) == data


@settings(max_examples=80, deadline=None)
@given(files.files(), st.data())
def test_removing_children_leaves_the_others_as_they_are(data: bytes, draw: st.DataObject) -> None:
    document = text.parse(data)
    containers = [node for node in nodes(document.root) if node.spans()]
    if not containers:
        return
    chosen = draw.draw(st.integers(0, len(containers) - 1))
    node = containers[chosen]
    count = len(node.spans())
    removed = draw.draw(st.sets(st.integers(0, count - 1)))
    edits = Edits(document)
    edits.change(node, removed)
    after = edits.apply()
    expected = [document.text[a:b] for number, (a, b) in enumerate(node.spans()) if number not in removed]
    changed = text.parse(document.encode(after))
    before_it = [found for found in nodes(document.root) if found.start <= node.start]
    same = nodes(changed.root)[len(before_it) - 1]
    assert [changed.text[a:b] for a, b in same.spans()] == expected
