"""JSON that is edited in place: a tree of positions over the text, and nothing is re-serialised.

The parser is RFC 8259 to the letter, as Claude Code's is, and refuses what would make an edit unsafe:
duplicate keys in any spelling, comments, trailing commas, bytes that are not UTF-8, a nesting deeper
than MAX_DEPTH and files larger than MAX_BYTES (spec: projection, "Kept as they were").
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Literal, NoReturn

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 128
BOM = b"\xef\xbb\xbf"

Kind = Literal["object", "array", "string", "number", "literal"]

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD = re.compile(r"[A-Za-z]+")
_LITERALS = {"true": True, "false": False, "null": None}
_LINE_END = re.compile(r"\r\n|\n|\r")


class Malformed(Exception):
    """The file is not what we may edit. `line` and `column` count from 1 (columns in characters)."""

    def __init__(self, what: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {what}")
        self.what = what
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Number:
    """A number by its spelling: `1.0` and `1` are different texts and stay so."""

    spelling: str


Plain = dict[str, "Plain"] | list["Plain"] | str | Number | bool | None


@dataclass(slots=True, eq=False)
class Node:
    """One value: `text[start:end]` is its spelling. `value` is the decoded string, the number's
    spelling, or the literal; `members` and `items` are the children of an object or array."""

    kind: Kind
    start: int
    end: int = 0
    value: str | bool | None = None
    members: list[Member] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def get(self, key: str) -> Node | None:
        """The value of an object's member, None when it has none (or is no object)."""
        for member in self.members:
            if member.key == key:
                return member.value
        return None

    def spans(self) -> list[tuple[int, int]]:
        """Where each child of a container begins and ends; a member begins at its key."""
        if self.kind == "object":
            return [(member.start, member.value.end) for member in self.members]
        return [(item.start, item.end) for item in self.items]


@dataclass(slots=True, eq=False)
class Member:
    """A member of an object; `start` is the position of its key."""

    key: str
    start: int
    value: Node


@dataclass(frozen=True)
class Document:
    """A parsed file: `text` without the byte-order mark, which `bom` remembers."""

    text: str
    root: Node
    bom: bool

    def encode(self, text: str | None = None) -> bytes:
        """The bytes of this document, or of an edited text of it."""
        return (BOM if self.bom else b"") + (self.text if text is None else text).encode("utf-8")

    def raw(self, node: Node) -> str:
        """The spelling of a value."""
        return self.text[node.start : node.end]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1."""
        return position(self.text, offset)


def position(text: str, offset: int) -> tuple[int, int]:
    """Line and column (in characters) of an offset, both from 1; CR LF is one line end."""
    line, start = 1, 0
    for found in _LINE_END.finditer(text, 0, offset):
        line, start = line + 1, found.end()
    return line, offset - start + 1


def parse(data: bytes) -> Document:
    """Parse a settings file. Raises Malformed, naming line and column; never alters anything."""
    if len(data) > MAX_BYTES:
        raise Malformed(f"the file is larger than {MAX_BYTES // 1024 // 1024} MiB", 1, 1)
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = position(before := body[: error.start].decode("utf-8"), len(before))
        raise Malformed(f"byte 0x{body[error.start]:02x} is not UTF-8", line, column) from None
    return Document(text, _Parser(text).document(), bom)


def plain(node: Node) -> Plain:
    """The value as Python data; numbers keep their spelling, so that equality is exact."""
    if node.kind == "object":
        return {member.key: plain(member.value) for member in node.members}
    if node.kind == "array":
        return [plain(item) for item in node.items]
    if node.kind == "number":
        return Number(str(node.value))
    return node.value


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def document(self) -> Node:
        start = self._space(0)
        if start == len(self.text):
            self._fail("the file is empty; Claude Code needs at least {}", 0)
        root, end = self._value(start, 0)
        end = self._space(end)
        if end != len(self.text):
            self._comment(end)
            self._fail("something follows the end of the JSON object", end)
        if root.kind != "object":
            self._fail(f"the file holds {_an(root.kind)} where an object is expected", root.start)
        return root

    def _value(self, at: int, depth: int) -> tuple[Node, int]:
        char = self.text[at : at + 1]
        if char == '"':
            return self._string(at)
        if char in {"{", "["} and char:
            if depth >= MAX_DEPTH:
                self._fail(f"values are nested deeper than {MAX_DEPTH} levels", at)
            return self._object(at, depth) if char == "{" else self._array(at, depth)
        if char and char in "-0123456789":
            return self._number(at)
        return self._literal(at)

    def _string(self, at: int) -> tuple[Node, int]:
        found = _STRING.match(self.text, at)
        if not found:
            self._bad_string(at)
        raw = found.group()
        value = json.loads(raw) if "\\" in raw else raw[1:-1]
        return Node("string", at, found.end(), value), found.end()

    def _number(self, at: int) -> tuple[Node, int]:
        found = _NUMBER.match(self.text, at)
        if not found:
            self._fail("a number is misspelt", at)
        following = self.text[found.end() : found.end() + 1]
        if following and (following.isalnum() or following in "._+-"):
            self._fail("a number is misspelt", at)
        return Node("number", at, found.end(), found.group()), found.end()

    def _literal(self, at: int) -> tuple[Node, int]:
        found = _WORD.match(self.text, at)
        if found and found.group() in _LITERALS:
            return Node("literal", at, found.end(), _LITERALS[found.group()]), found.end()
        if at == len(self.text):
            self._fail("the file ends in the middle of a value", at)
        self._comment(at)
        self._fail(f"a value is expected, not {self.text[at : at + 1]!r}", at)

    def _object(self, at: int, depth: int) -> tuple[Node, int]:
        node = Node("object", at)
        seen: set[str] = set()
        comma = -1
        here = self._space(at + 1)
        while self.text[here : here + 1] != "}":
            key, end = self._key(here, comma)
            if key in seen:
                self._fail(f"the key {_shown(key)} stands twice in the same object", here)
            seen.add(key)
            colon = self._space(end)
            if self.text[colon : colon + 1] != ":":
                self._comment(colon)
                self._fail("a colon is expected after the key", colon)
            value, end = self._value(self._space(colon + 1), depth + 1)
            node.members.append(Member(key, here, value))
            comma, here = self._after_child(end, "}")
        if comma >= 0:
            self._fail("a trailing comma; JSON and Claude Code allow none", comma)
        node.end = here + 1
        return node, node.end

    def _key(self, at: int, comma: int) -> tuple[str, int]:
        if self.text[at : at + 1] == '"':
            node, end = self._string(at)
            return str(node.value), end
        if at == len(self.text):
            self._fail("the file ends in the middle of an object", at)
        self._comment(at)
        self._fail("a key in double quotes is expected", at)

    def _array(self, at: int, depth: int) -> tuple[Node, int]:
        node = Node("array", at)
        comma = -1
        here = self._space(at + 1)
        while self.text[here : here + 1] != "]":
            if here == len(self.text):
                self._fail("the file ends in the middle of a list", here)
            value, end = self._value(here, depth + 1)
            node.items.append(value)
            comma, here = self._after_child(end, "]")
        if comma >= 0:
            self._fail("a trailing comma; JSON and Claude Code allow none", comma)
        node.end = here + 1
        return node, node.end

    def _after_child(self, at: int, close: str) -> tuple[int, int]:
        """The position of the comma (-1 for none) and of what follows it."""
        here = self._space(at)
        if self.text[here : here + 1] == ",":
            return here, self._space(here + 1)
        if self.text[here : here + 1] == close:
            return -1, here
        self._comment(here)
        if here == len(self.text):
            self._fail("the file ends before everything is closed", here)
        self._fail(f"a comma or {close!r} is expected", here)

    def _space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def _comment(self, at: int) -> None:
        if self.text.startswith(("//", "/*", "#"), at):
            self._fail("a comment; JSON and Claude Code allow none", at)

    def _bad_string(self, at: int) -> NoReturn:
        for found in re.finditer(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|\\.|["\x00-\x1f]', self.text[at + 1 :]):
            where, what = at + 1 + found.start(), found.group()
            if what == "\\":
                self._fail("a backslash in a string is followed by something JSON does not know", where)
            if what < " ":
                self._fail("a line end or control character stands inside a string", where)
        self._fail("a string is not closed", at)

    def _fail(self, what: str, at: int) -> NoReturn:
        raise Malformed(what, *position(self.text, at))


def _an(kind: str) -> str:
    return {"array": "a list", "string": "a string", "number": "a number", "literal": "a literal"}[kind]


def _shown(key: str) -> str:
    """A key for a message: never longer than a line, never an unpaired surrogate."""
    return json.dumps(key if len(key) <= 60 else key[:60] + "…", ensure_ascii=True)
