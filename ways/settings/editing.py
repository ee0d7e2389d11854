"""Changing one value in a YAML text and nothing else: comments, order, quoting and spacing stay.

A round-trip dump keeps comments but reformats what it was not asked to touch, and loses the comments that
hang on a removed key. So the library's marks are used to splice the text, and every splice is checked: the
new text must parse to exactly the wanted document. Where a splice cannot do it (an alias, an
unusual flow style), the round trip does, under the same check.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ways.settings.parsing import Unreadable, read_tree, scalar

Path = tuple[str, ...]
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./*+@~-]*")
_WORDS_OF_OLD_YAML = frozenset({"y", "n", "yes", "no", "on", "off"})


class CannotEdit(Exception):
    """The text cannot be changed without changing more than was asked for."""


class _CannotSplice(Exception):
    pass


def set_value(text: str, path: Path, value: object) -> str:
    """The text with `value` at `path`, missing mappings on the way made. Raises CannotEdit, Unreadable."""
    wanted = _plain(value)
    before = _document(text)
    if _get(before, path) == wanted and type(_get(before, path)) is type(wanted):
        return text
    return _checked(text, path, lambda: _splice_in(text, path, wanted), _with(before, path, wanted), wanted)


def unset_value(text: str, path: Path) -> str:
    """The text without the key at `path`, and without mappings that this empties. Raises CannotEdit,
    Unreadable."""
    before = _document(text)
    if _get(before, path) is _MISSING:
        return text
    while len(path) > 1 and len(_get(before, path[:-1])) == 1:
        path = path[:-1]
    return _checked(text, path, lambda: _splice_out(text, path), _without(before, path), _MISSING)


class _Missing:
    pass


_MISSING = _Missing()


def _plain(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _document(text: str) -> dict[str, Any]:
    tree = read_tree(text.encode("utf-8"))
    if tree.doubled:
        place = tree.doubled[0]
        raise Unreadable(f"{'.'.join(place)} is there twice", tree.lines[place])
    if tree.root is not None and not isinstance(tree.root, dict):
        raise Unreadable("must hold keys and values", 1)
    return tree.root or {}


def _get(document: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(document, dict) or name not in document:
            return _MISSING
        document = document[name]
    return document


def _with(document: dict[str, Any], path: Path, value: object) -> dict[str, Any]:
    inner = document.get(path[0])
    if len(path) > 1:
        if inner is not None and not isinstance(inner, dict):
            raise CannotEdit(f"{path[0]} does not hold keys and values")
        value = _with(inner or {}, path[1:], value)
    return {**document, path[0]: value}


def _without(document: dict[str, Any], path: Path) -> dict[str, Any]:
    if len(path) == 1:
        return {key: item for key, item in document.items() if key != path[0]}
    return {**document, path[0]: _without(document[path[0]], path[1:])}


def _checked(text: str, path: Path, splice: Any, wanted: dict[str, Any], value: object) -> str:
    """The first result that parses to `wanted`, keys in the same order."""
    for attempt, exact in ((splice, True), (lambda: _round_trip(text, path, value), False)):
        try:
            result: str = attempt()
            if _same(_document(result), wanted) and (exact or _keeps_the_rest(text, result, path)):
                return result
        except (_CannotSplice, Unreadable, YAMLError, ValueError, RecursionError):
            continue
    raise CannotEdit(f"{'.'.join(path)} cannot be changed without changing other lines")


def _keeps_the_rest(text: str, result: str, path: Path) -> bool:
    """True when the lines that a round trip lost are lines of the key in question: they name it, or are
    of the flow style or alias for which the round trip is there."""
    left = Counter(line.rstrip() for line in result.splitlines())
    left.subtract(line.rstrip() for line in text.splitlines())
    lost = [line for line, count in left.items() if count < 0 and line]
    return all(any(sign in line for sign in (*path, "{", "}", "[", "]", "*", "&")) for line in lost)


def _same(found: object, wanted: object) -> bool:
    if isinstance(found, dict) and isinstance(wanted, dict):
        pairs = zip(found.items(), wanted.items(), strict=False)
        return len(found) == len(wanted) and all(a == b and _same(x, y) for (a, x), (b, y) in pairs)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_same, found, wanted))
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


# Splicing


def _splice_in(text: str, path: Path, value: Any) -> str:
    root = _compose(text)
    if root is None:
        return _appended(text, _block(path, value, 0))
    node: Node = root
    key: Node | None = None
    for depth, name in enumerate(path):
        if key is not None and _is_empty(node):
            return _filled(text, key, path[depth:], value)
        if not isinstance(node, MappingNode):
            raise _CannotSplice
        pair = _pair(node, name)
        if pair is None:
            return _inserted(text, node, path[depth:], value)
        key, node = pair[0], _value_of(pair)
    if key is not None and _is_empty(node):
        at = _after_colon(text, key)
        return f"{text[:at]} {inline(value)}{text[at:]}"
    return _replaced(text, node, value)


def _splice_out(text: str, path: Path) -> str:
    root = _compose(text)
    node: Any = root
    for name in path[:-1]:
        node = _value_of(_found(node, name))
    key, value = _found(node, path[-1])
    _value_of((key, value))
    if isinstance(node, MappingNode) and node.flow_style:
        return _cut_from_flow(text, node, key, value)
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    if text[start : key.start_mark.index].strip():
        raise _CannotSplice
    end = _line_end(text, _pair_end(text, (key, value)))
    return text[:start] + text[end + 1 :] if end < len(text) else text[:start]


def _compose(text: str) -> MappingNode | None:
    node = YAML(typ="rt").compose(io.StringIO(text))
    if node is None or _is_empty(node):
        return None
    if not isinstance(node, MappingNode):
        raise _CannotSplice
    return node


def _pair(node: MappingNode, name: str) -> tuple[Node, Node] | None:
    return next((pair for pair in node.value if getattr(pair[0], "value", None) == name), None)


def _found(node: Any, name: str) -> tuple[Node, Node]:
    pair = _pair(node, name) if isinstance(node, MappingNode) else None
    if pair is None:
        raise _CannotSplice
    return pair


def _value_of(pair: tuple[Node, Node]) -> Node:
    """The value's node. An alias gives the node of its anchor, which stands elsewhere."""
    key, value = pair
    if value.start_mark.index < key.end_mark.index:
        raise _CannotSplice
    return value


def _end(text: str, node: Node) -> int:
    """Where the node's own text ends; the mark of a block collection lies at the next token."""
    if isinstance(node, ScalarNode):
        end = int(node.end_mark.index)
        return len(text[:end].rstrip("\r\n ")) if node.style in {"|", ">"} else end
    if not isinstance(node, MappingNode | SequenceNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    if isinstance(node, MappingNode):
        return _pair_end(text, last)
    if _is_empty(last):
        raise _CannotSplice
    return _end(text, last)


def _pair_end(text: str, pair: tuple[Node, Node]) -> int:
    value = _value_of(pair)
    return _after_colon(text, pair[0]) if _is_empty(value) else _end(text, value)


def _is_empty(node: Node) -> bool:
    """True for a value that is not there; its marks lie at the next token."""
    return isinstance(node, ScalarNode) and not node.value and not node.style


def _after_colon(text: str, key: Node) -> int:
    return text.index(":", int(key.end_mark.index)) + 1


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _appended(text: str, lines: str) -> str:
    if text and not text.endswith("\n"):
        text += "\n"
    return f"{text}{lines}\n"


def _inserted(text: str, node: MappingNode, path: Path, value: Any) -> str:
    """A new key behind the last one of a mapping."""
    if node.flow_style:
        close = int(node.end_mark.index) - 1
        head = text[:close].rstrip()
        comma = "" if not node.value or head.endswith(",") else ","
        space = " " if node.value else ""
        return f"{head}{comma}{space}{_flow(path, value)}{text[len(head) : close]}{text[close:]}"
    column = int(node.value[0][0].start_mark.column)
    at = _line_end(text, _end(text, node))
    return f"{text[:at]}\n{_block(path, value, column)}{text[at:]}"


def _filled(text: str, key: Node, path: Path, value: Any) -> str:
    """The first key of a mapping that had none: `macro:` with nothing behind it."""
    at = _line_end(text, _after_colon(text, key))
    return f"{text[:at]}\n{_block(path, value, int(key.start_mark.column) + 2)}{text[at:]}"


def _replaced(text: str, node: Node, value: Any) -> str:
    if isinstance(node, SequenceNode) and not node.flow_style and isinstance(value, list) and value:
        return _replaced_items(text, node, value)
    return f"{text[: int(node.start_mark.index)]}{inline(value)}{text[_end(text, node) :]}"


def _replaced_items(text: str, node: SequenceNode, value: list[Any]) -> str:
    """A block list whose remaining items keep their lines, comments included."""
    lines: dict[object, str] = {}
    for item in node.value:
        if not isinstance(item, ScalarNode):
            raise _CannotSplice
        start = int(item.start_mark.index)
        lines[scalar(item.value, item.style is None)] = text[
            start : _line_end(text, _end(text, item))
        ].rstrip("\r")
    between = "\n" + " " * int(node.start_mark.column) + "- "
    new = between.join(lines.get(item) or inline(item) for item in value)
    start = int(node.start_mark.index)
    return f"{text[:start]}- {new}{text[_line_end(text, _end(text, node)) :]}"


def _cut_from_flow(text: str, node: MappingNode, key: Node, value: Node) -> str:
    start, end = int(key.start_mark.index), _pair_end(text, (key, value))
    at = next(index for index, pair in enumerate(node.value) if pair[0] is key)
    if at + 1 < len(node.value):
        end = int(node.value[at + 1][0].start_mark.index)
    elif at:
        start = _pair_end(text, node.value[at - 1])
    return text[:start] + text[end:]


def _block(path: Path, value: Any, column: int) -> str:
    lines = [f"{' ' * (column + 2 * depth)}{inline(name)}:" for depth, name in enumerate(path)]
    lines[-1] += f" {inline(value)}"
    return "\n".join(lines)


def _flow(path: Path, value: Any) -> str:
    text = inline(value)
    for name in reversed(path[1:]):
        text = f"{{{inline(name)}: {text}}}"
    return f"{inline(path[0])}: {text}"


def inline(value: Any) -> str:
    """A value in one line, spelt so that YAML 1.1 and 1.2 read the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        # YAML 1.1 takes an exponent only behind a decimal point.
        head, exponent, tail = repr(value).partition("e")
        return head if not exponent else f"{head if '.' in head else head + '.0'}e{tail}"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(key)}: {inline(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(inline, value)) + "]"
    return _word(str(value))


def _word(text: str) -> str:
    import json

    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS_OF_OLD_YAML and scalar(text, True) == text:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    # YAML allows fewer characters than JSON to stand for themselves.
    return "".join(c if c.isprintable() else _escaped(ord(c)) for c in quoted)


def _escaped(code: int) -> str:
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


# The library's own round trip


def _round_trip(text: str, path: Path, value: object) -> str:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    document = yaml.load(text)
    if document is None:
        raise _CannotSplice
    node = document
    for name in path[:-1]:
        if node.get(name) is None:
            node[name] = {}
        node = node[name]
    if value is _MISSING:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    stream = io.StringIO()
    yaml.dump(document, stream)
    return stream.getvalue()
