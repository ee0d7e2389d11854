"""Edits of a document's text by splicing, in the style of the file around them.

Everything outside an edited span keeps its bytes. Adding at the end of a container and removing that
child again are exact inverses; what a formerly empty container held (its blanks) is handed in by the
caller, who recorded it.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from projection.claude_settings.slices import Json
from projection.claude_settings.text import Document, Node

DEFAULT_UNIT = "  "
_SURROGATE = re.compile("[\ud800-\udfff]")
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True)
class Raw:
    """A value by its spelling, carried over byte for byte."""

    text: str


Value = Json | Raw | Mapping[str, "Value"] | Sequence["Value"]


@dataclass(frozen=True)
class Style:
    """How a file is written: its line end, one step of indentation, and what follows `:` and `,`
    on one line. `inline` says that the whole file is on one line."""

    newline: str
    unit: str
    colon: str
    comma: str
    inline: bool


def style_of(document: Document) -> Style:
    """The style of a file; where it shows none (`{}`), two spaces and one member a line."""
    text, root = document.text, document.root
    inline = bool(root.members) and not is_multiline(document, root)
    return Style(_newline(text), _unit(document), _colon(document), _comma(document, inline), inline)


def _newline(text: str) -> str:
    at = text.find("\n")
    if at < 0:
        return "\r" if "\r" in text else "\n"
    return "\r\n" if at and text[at - 1] == "\r" else "\n"


def _unit(document: Document) -> str:
    """One step of indentation: the first container whose children stand on lines of their own."""
    waiting = deque([document.root])
    while waiting:
        node = waiting.popleft()
        spans = node.spans()
        if spans and is_multiline(document, node):
            own, inner = line_indent(document.text, node.start), line_indent(document.text, spans[0][0])
            return inner[len(own) :] if inner.startswith(own) else DEFAULT_UNIT
        waiting.extend(_containers(node))
    return DEFAULT_UNIT


def _colon(document: Document) -> str:
    for member in document.root.members:
        gap = re.search(r":([ \t]*)$", document.text[member.start : member.value.start])
        return ":" + gap.group(1) if gap else ": "
    return ": "


def _comma(document: Document, inline: bool) -> str:
    """What stands between two children on one line: the file's first example of it."""
    waiting = deque([document.root])
    while waiting:
        node = waiting.popleft()
        spans = node.spans()
        if len(spans) > 1:
            gap = document.text[spans[0][1] : spans[1][0]]
            if re.fullmatch(r",[ \t]*", gap):
                return gap
        waiting.extend(_containers(node))
    # One member alone shows no comma, but a file that writes `"a":1` also writes `1,2`.
    return "," if inline and _colon(document) == ":" else ", "


def _containers(node: Node) -> list[Node]:
    children = node.items or [member.value for member in node.members]
    return [child for child in children if child.kind in {"object", "array"}]


def is_multiline(document: Document, node: Node) -> bool:
    """True when the children of a container stand on lines of their own (or, for an empty one, its
    brackets on two lines)."""
    spans = node.spans()
    start = spans[-2][1] if len(spans) > 1 else node.start
    end = spans[-1][0] if spans else node.end
    return _has_line_end(document.text[start:end])


def _has_line_end(text: str) -> bool:
    return "\n" in text or "\r" in text


def line_indent(text: str, at: int) -> str:
    """The blanks that begin the line which holds `at`."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _INDENT.match(text, start, at)
    return found.group() if found else ""


def render(value: Value, style: Style, indent: str | None) -> str:
    """JSON text: over several lines whose closing bracket stands at `indent`, or on one line (None)."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Mapping):
        inner = None if indent is None else indent + style.unit
        parts = [f"{_string(key)}{style.colon}{render(item, style, inner)}" for key, item in value.items()]
        return _bracket("{", parts, "}", style, indent)
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Sequence):
        inner = None if indent is None else indent + style.unit
        return _bracket("[", [render(item, style, inner) for item in value], "]", style, indent)
    return json.dumps(value)


def _bracket(opening: str, parts: list[str], closing: str, style: Style, indent: str | None) -> str:
    if not parts:
        return opening + closing
    if indent is None:
        return opening + style.comma.join(parts) + closing
    line = style.newline + indent
    return opening + ",".join(line + style.unit + part for part in parts) + line + closing


def _string(text: str) -> str:
    """A JSON string with non-ASCII letters as they are; an unpaired surrogate can only be escaped."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(text, ensure_ascii=False))


class Edits:
    """Splices of one document's text, collected in any order and applied at once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.style = style_of(document)
        self._splices: list[tuple[int, int, str]] = []

    def __bool__(self) -> bool:
        return bool(self._splices)

    def replace(self, node: Node, value: Value) -> None:
        """Put a value, written on one line, in the place of another."""
        self._splice(node.start, node.end, render(value, self.style, None))

    def change(
        self,
        node: Node,
        removed: set[int],
        added: Sequence[Value] | Mapping[str, Value] = (),
        blanks: str = "",
    ) -> None:
        """Remove the children of a container by number and add others at its end.

        `blanks` is what stays between the brackets when no child is left.
        """
        spans = node.spans()
        kept = [number for number in range(len(spans)) if number not in removed]
        if not kept:
            self._refill(node, spans, added, blanks)
            return
        self._cut(spans, removed)
        if added:
            multiline = is_multiline(self.document, node)
            parts = self._parts(node, added, multiline)
            text = self.document.text
            if multiline:
                gap = "," + self.style.newline + line_indent(text, spans[-1][0])
            elif len(spans) > 1 and re.fullmatch(r",[ \t]*", text[spans[-2][1] : spans[-1][0]]):
                gap = text[spans[-2][1] : spans[-1][0]]
            else:
                gap = self.style.comma
            self._splice(spans[-1][1], spans[-1][1], "".join(gap + part for part in parts))

    def _cut(self, spans: list[tuple[int, int]], removed: set[int]) -> None:
        """Remove runs of children with the comma before them; a run at the start takes the one after."""
        number = 0
        while number < len(spans):
            if number not in removed:
                number += 1
                continue
            first = number
            while number < len(spans) and number in removed:
                number += 1
            if first:
                self._splice(spans[first - 1][1], spans[number - 1][1], "")
            else:
                self._splice(spans[0][0], spans[number][0], "")

    def _refill(
        self,
        node: Node,
        spans: list[tuple[int, int]],
        added: Sequence[Value] | Mapping[str, Value],
        blanks: str,
    ) -> None:
        """Fill an empty container, or one all of whose children go."""
        if not added:
            self._splice(node.start + 1, node.end - 1, blanks)
            return
        text = self.document.text
        multiline = is_multiline(self.document, node) if spans else not self.style.inline
        parts = self._parts(node, added, multiline)
        if spans:
            gap = "," + self.style.newline + line_indent(text, spans[0][0]) if multiline else self.style.comma
            self._splice(spans[0][0], spans[-1][1], gap.join(parts))
        elif multiline:
            line = self.style.newline + line_indent(text, node.start)
            body = ",".join(line + self.style.unit + part for part in parts)
            self._splice(node.start + 1, node.end - 1, body + line)
        else:
            self._splice(node.start + 1, node.end - 1, self.style.comma.join(parts))

    def _parts(self, node: Node, added: Sequence[Value] | Mapping[str, Value], multiline: bool) -> list[str]:
        """The rendered children, ready to stand in `node`."""
        spans = node.spans()
        text = self.document.text
        if multiline:
            own = line_indent(text, node.start) + self.style.unit
            indent: str | None = line_indent(text, spans[-1][0]) if spans else own
        elif any(_has_line_end(text[start:end]) for start, end in spans):
            indent = line_indent(text, spans[-1][0])
        else:
            indent = None
        if isinstance(added, Mapping):
            colon = self._local_colon(node)
            return [f"{_string(key)}{colon}{render(item, self.style, indent)}" for key, item in added.items()]
        return [render(item, self.style, indent) for item in added]

    def _local_colon(self, node: Node) -> str:
        if node.members:
            last = node.members[-1]
            gap = re.search(r":([ \t]*)$", self.document.text[last.start : last.value.start])
            if gap:
                return ":" + gap.group(1)
        return self.style.colon

    def _splice(self, start: int, end: int, text: str) -> None:
        if self.document.text[start:end] != text:
            self._splices.append((start, end, text))

    def apply(self) -> str:
        """The edited text. Raises AssertionError when two splices overlap, which would be our fault."""
        result, at = [], 0
        for start, end, text in sorted(self._splices, key=lambda splice: (splice[0], splice[1])):
            if start < at:
                raise AssertionError(f"two edits overlap at {start}")
            result += [self.document.text[at:start], text]
            at = end
        result.append(self.document.text[at:])
        return "".join(result)
