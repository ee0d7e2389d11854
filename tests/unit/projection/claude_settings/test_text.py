"""Reading JSON byte for byte, and refusing what must not be edited."""

from __future__ import annotations

import json

import pytest

from projection.claude_settings import shape, text
from projection.claude_settings.text import Malformed, Number


def refused(data: str | bytes) -> Malformed:
    with pytest.raises(Malformed) as found:
        shape.check(text.parse(data.encode() if isinstance(data, str) else data))
    return found.value


@pytest.mark.parametrize(
    ("data", "line", "column", "word"),
    [
        ('{\n  "a": 1, // no\n  "b": 2\n}', 2, 11, "comment"),
        ('{"a": 1 /* no */}', 1, 9, "comment"),
        ("# no\n{}", 1, 1, "comment"),
        ('{"a": 1,}', 1, 8, "trailing comma"),
        ('{\n  "a": [\n    1,\n    2,\n  ]\n}', 4, 6, "trailing comma"),
        ("", 1, 1, "empty"),
        (" \n\t", 1, 1, "empty"),
        ("[1]", 1, 1, "a list"),
        ('"x"', 1, 1, "a string"),
        ("12", 1, 1, "a number"),
        ("null", 1, 1, "a literal"),
        ('{"a": 1', 1, 8, "ends"),
        ('{"a"', 1, 5, "colon"),
        ('{"a":', 1, 6, "ends in the middle of a value"),
        ("{", 1, 2, "ends in the middle of an object"),
        ('{"a": [', 1, 8, "ends in the middle of a list"),
        ('{"a": 1} x', 1, 10, "something follows"),
        ('{"a": 1 "b": 2}', 1, 9, "comma"),
        ("{'a': 1}", 1, 2, "double quotes"),
        ("{a: 1}", 1, 2, "double quotes"),
        ('{"a": 01}', 1, 7, "number"),
        ('{"a": 1.}', 1, 7, "number"),
        ('{"a": .5}', 1, 7, "value"),
        ('{"a": +1}', 1, 7, "value"),
        ('{"a": 0x10}', 1, 7, "number"),
        ('{"a": NaN}', 1, 7, "value"),
        ('{"a": -Infinity}', 1, 7, "number"),
        ('{"a": True}', 1, 7, "value"),
        ('{"a": "b\nc"}', 1, 9, "line end or control"),
        ('{"a": "b\\x"}', 1, 9, "backslash"),
        ('{"a": "b', 1, 7, "not closed"),
        ('{"a": "\\ud8"}', 1, 8, "backslash"),
        ('{"a": 1, "b": 2, "a": 3}', 1, 18, "twice"),
        ('{"a": 1, "\\u0061": 3}', 1, 10, "twice"),
        ('{"x": {"y": [{"k": 1,\r\n"k": 2}]}}', 2, 1, "twice"),
        ('{"\\ud83d\\ude00": 1, "😀": 2}', 1, 21, "twice"),
        ("\ufeff\ufeff{}", 1, 1, "value"),
        ("{\u00a0}", 1, 2, "double quotes"),
    ],
)
def test_refused_with_place(data: str, line: int, column: int, word: str) -> None:
    fault = refused(data)
    assert (fault.line, fault.column) == (line, column), fault
    assert word in fault.what


def test_bytes_that_are_not_utf8_are_named_with_their_place() -> None:
    fault = refused(b'{\n "a": "\xff"}')
    assert (fault.line, fault.column) == (2, 8)
    assert "0xff" in fault.what
    assert refused("{}".encode("utf-16")).line == 1
    assert "UTF-8" in refused(b'{"a": "\xed\xa0\x80"}').what


def test_too_deep_and_too_large() -> None:
    deep = '{"a":' + "[" * (text.MAX_DEPTH - 1) + "]" * (text.MAX_DEPTH - 1) + "}"
    assert text.plain(text.parse(deep.encode()).root)
    assert "nested" in refused(deep.replace("[", "[[", 1).replace("]", "]]", 1)).what
    assert "nested" in refused('{"a":' + "[" * 100_000).what
    assert "16 MiB" in refused(b" " * (text.MAX_BYTES + 1)).what


@pytest.mark.parametrize(
    "data",
    [
        "{}",
        "\ufeff{}",
        '{"a": 1.0, "b": 1e3, "c": 12345678901234567890123, "d": -0, "e": 1E+02}',
        '{"\\u0061": "\\/\\ud83d\\ude00\\n", "ü": "é😀"}',
        '{"lone": "\\ud800", "other": "\\udc00x"}',
        '\r\n\t {"a"\t:\r\n[ ] , "b" : { }, "c": [true,false , null]}\n\n',
    ],
)
def test_every_value_is_read_as_the_standard_library_reads_it(data: str) -> None:
    document = text.parse(data.encode())
    assert document.encode() == data.encode()
    expected = json.loads(data.removeprefix("\ufeff"), parse_float=Number, parse_int=Number)
    assert text.plain(document.root) == expected


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ('{"hooks": []}', "hooks is a list"),
        ('{"hooks": null}', "hooks is true, false or null"),
        ('{"hooks": {"Stop": {}}}', "hooks.Stop is an object"),
        ('{"hooks": {"Stop": ["x"]}}', "hooks.Stop[0] is a string"),
        ('{"hooks": {"Stop": [{"hooks": {}}]}}', "hooks.Stop[0].hooks is an object"),
        ('{"hooks": {"Stop": [{"matcher": 3, "hooks": []}]}}', "hooks.Stop[0].matcher is a number"),
        ('{"hooks": {"Stop": [{"hooks": [null]}]}}', "hooks.Stop[0].hooks[0] is true, false or null"),
        ('{"hooks": {"Stop": [{"hooks": [{"type": 1}]}]}}', "hooks[0].type is a number"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": []}]}]}}', "hooks[0].command is a list"),
        ('{"hooks": {"Stop": [{"hooks": [{"args": "x"}]}]}}', "hooks[0].args is a string"),
        ('{"hooks": {"Stop": [{"hooks": [{"args": [1]}]}]}}', "hooks[0].args[0] is a number"),
        ('{"hooks": {"Stop": [{"hooks": [{"timeout": "10"}]}]}}', "hooks[0].timeout is a string"),
        ('{"permissions": []}', "permissions is a list"),
        ('{"permissions": {"allow": "Bash"}}', "permissions.allow is a string"),
        ('{"permissions": {"deny": [{}]}}', "permissions.deny[0] is an object"),
        ('{"permissions": {"ask": {}}}', "permissions.ask is an object"),
        ('{"permissions": {"defaultMode": 1}}', "permissions.defaultMode is a number"),
    ],
)
def test_members_of_another_type_are_refused(data: str, place: str) -> None:
    assert place in refused(data).what


def test_what_claude_code_may_know_and_we_do_not_passes() -> None:
    shape.check(
        text.parse(
            b'{"hooks": {"NewEvent": [{"hooks": [{"type": "http", "url": "x"}], "note": 1}, {}]},'
            b' "permissions": {"newList": 3, "additionalDirectories": ["/x"]}, "other": [1]}'
        )
    )
