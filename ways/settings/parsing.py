"""One settings file as values and diagnostics (spec: settings). Off the hook's path but for the first
read after a change: what it finds is cached.

A section that fails its schema is left out with a diagnostic, so that it falls back to the layer below
or the defaults; the rest of the file still counts. Nothing here writes.
"""

from __future__ import annotations

from ways.core.record import record
from ways.core.text import snippet
from ways.settings import registry, values
from ways.settings.layer import Diagnostic, Layer
from ways.settings.registry import AGENT_FILE, CONFIG_FILE, PROJECT, PROJECT_FILE, Setting
from ways.settings.values import WrongValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_BYTES = 64 * 1024
MAX_VALUES = 10_000
MAX_DEPTH = 40
MAX_BRACKETS = 4_000


@record
class Tree:
    """A YAML document as plain values, with the line of each key by its path, and doubled keys."""

    root: object
    lines: dict[tuple[str, ...], int]
    doubled: tuple[tuple[str, ...], ...] = ()


class Unreadable(Exception):
    """The file as a whole cannot be used: what is wrong, and the line (0 when unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


def parse(data: bytes, file: str, scope: str, agent: bool = False) -> Layer:
    """The settings of a file of this scope (user, target, project); `agent` for agent.yaml. Never raises."""
    try:
        tree = read_tree(data)
    except Unreadable as fault:
        return Layer({}, (Diagnostic(file, fault.line, "", fault.message),))
    if tree.root is None:
        return Layer({})
    if not isinstance(tree.root, dict):
        return Layer({}, (Diagnostic(file, 1, "", "must hold keys and values"),))
    return _Sections(tree, file, scope, agent).layer()


class _Sections:
    """Goes through the top-level keys of one file."""

    def __init__(self, tree: Tree, file: str, scope: str, agent: bool) -> None:
        self.tree = tree
        self.file = file
        self.scope = scope
        self.kinds = (AGENT_FILE,) if agent else (CONFIG_FILE, PROJECT_FILE)
        self.values: dict[str, object] = {}
        self.diagnostics: list[Diagnostic] = []

    def layer(self) -> Layer:
        assert isinstance(self.tree.root, dict)
        for name, value in self.tree.root.items():
            self._section(name, value)
        return Layer(self.values, tuple(self.diagnostics))

    def _section(self, name: str, value: object) -> None:
        settings = [item for item in registry.SETTINGS if item.place[0] == name and item.file in self.kinds]
        if not settings:
            self._note((name,), "is not a setting")
        elif not any(self.scope in item.scopes for item in settings):
            self._note((name,), self._wrong_scope(settings[0]))
        elif any(place[0] == name for place in self.tree.doubled):
            self._note(next(place for place in self.tree.doubled if place[0] == name), "is there twice")
        elif value is not None:
            found: dict[str, object] = {}
            # The project's map holds one switch an entry: a mistake in one must not switch others on.
            whole = self._take((name,), value, found)
            if whole or name == "ways":
                self.values.update(found)

    def _take(self, place: tuple[str, ...], value: object, found: dict[str, object]) -> bool:
        """Collect the settings at and below `place`; False when one of them is wrong."""
        setting = registry.at_place(place, self.kinds)
        if setting is None:
            return self._take_inside(place, value, found)
        if self.scope not in setting.scopes:
            self._note(place, self._wrong_scope(setting))
            return False
        if place[0] == "ways" and isinstance(value, dict):
            value = value.get("enabled") if set(value) == {"enabled"} else value
        try:
            found[registry.key_of(setting, place)] = values.check(setting, value)
        except WrongValue as error:
            self._note(place, f"{error}, not {snippet(repr(value), 60)}")
            return False
        return True

    def _take_inside(self, place: tuple[str, ...], value: object, found: dict[str, object]) -> bool:
        if not any(
            len(item.place) > len(place) and _begins(item, place, self.kinds) for item in registry.SETTINGS
        ):
            self._note(place, "is not a setting")
            return len(place) > 1
        if value is None:
            return True
        if not isinstance(value, dict):
            self._note(place, "must hold keys and values")
            return False
        results = [self._take((*place, name), item, found) for name, item in value.items()]
        return all(results)

    def _wrong_scope(self, setting: Setting) -> str:
        if setting.scopes == (PROJECT,):
            return "may be set in a project's .claude/ways.yaml only"
        return f"may not be set in a {self.scope} file"

    def _note(self, place: tuple[str, ...], message: str) -> None:
        line = self.tree.lines.get(place, 0)
        self.diagnostics.append(Diagnostic(self.file, line, ".".join(place), message))


def _begins(setting: Setting, place: tuple[str, ...], kinds: tuple[str, ...]) -> bool:
    pairs = zip(setting.place, place, strict=False)
    return setting.file in kinds and all(want == part or want.startswith("<") for want, part in pairs)


def read_tree(data: bytes) -> Tree:
    """A YAML file as plain values. Raises Unreadable for what is not YAML, not UTF-8, larger than
    64 KiB, nested deeper than 40, or grows beyond 10,000 values (aliases count each time)."""
    import yaml

    if len(data) > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES} bytes")
    if data.count(b"[") + data.count(b"{") > MAX_BRACKETS:
        # The scanner keeps a possible key for every open bracket; such a file would cost a hook seconds.
        raise Unreadable(f"holds more than {MAX_BRACKETS} brackets")
    try:
        text = (data[3:] if data.startswith(b"\xef\xbb\xbf") else data).decode("utf-8")
        node = yaml.compose(text, yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise Unreadable("is not UTF-8 text", data[: error.start].count(b"\n") + 1) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise Unreadable(
            f"is not YAML: {error.problem or error.context}", mark.line + 1 if mark else 0
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        raise Unreadable(f"is not YAML: {snippet(str(error))}") from error
    except RecursionError as error:
        raise Unreadable("is nested too deeply") from error
    if node is None:
        return Tree(None, {})
    reader = _Reader()
    return Tree(reader.value(node, ()), reader.lines, tuple(reader.doubled))


class _Reader:
    """Turns nodes into values within bounds."""

    def __init__(self) -> None:
        self.left = MAX_VALUES
        self.lines: dict[tuple[str, ...], int] = {}
        self.doubled: list[tuple[str, ...]] = []

    def value(self, node: Any, place: tuple[str, ...], depth: int = 0) -> object:
        line = node.start_mark.line + 1
        self.left -= 1
        if self.left < 0:
            raise Unreadable(f"holds more than {MAX_VALUES} values", line)
        if depth > MAX_DEPTH:
            raise Unreadable("is nested too deeply", line)
        if node.id == "scalar":
            return scalar(node.value, node.style is None)
        if node.id == "sequence":
            return [self.value(item, (*place, str(at)), depth + 1) for at, item in enumerate(node.value)]
        mapping: dict[str, object] = {}
        for key_node, item in node.value:
            if key_node.id != "scalar":
                raise Unreadable("has a key that is no word", key_node.start_mark.line + 1)
            name = key_node.value
            self.lines[(*place, name)] = key_node.start_mark.line + 1
            if name in mapping:
                self.doubled.append((*place, name))
            mapping[name] = self.value(item, (*place, name), depth + 1)
        return mapping


def scalar(text: str, plain: bool) -> object:
    """A scalar by YAML 1.2's core rules; `yes`, `no`, `on`, `off` stay words for the setting to read."""
    if not plain:
        return text
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if values.is_whole(text):
        return int(text)
    if text[0] in "+-.0123456789" and text.isascii() and "_" not in text:
        try:
            number = float(text)
        except ValueError:
            return text
        return number if number - number == 0 else text
    return text
