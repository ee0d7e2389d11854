"""Repairs of settings files of which there can be no doubt, each checked by parsing the result again.

- a misspelt key whose right name the file lacks and whose value that setting takes
- a key written with its dots (`ways.enabled: false`) instead of where it stands in the file
- a value that only its spelling keeps from being right: a number in quotes, a choice in capitals
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher

from ways.settings import editing, parsing, registry, values
from ways.settings.editing import CannotEdit
from ways.settings.effective import SettingsFile
from ways.settings.layer import Layer
from ways.settings.registry import (
    AGENT_FILE,
    CHOICE,
    CHOICES,
    CONFIG_FILE,
    INTEGER,
    NUMBER,
    PROJECT_FILE,
    Setting,
)

# Below this likeness a name may be a different idea, not a slip.
MIN_RATIO = 0.8


@dataclass(frozen=True)
class Repair:
    """One repair of a file: what it does in words, the change of the text, and whether that moves lines."""

    file: SettingsFile
    line: int
    what: str
    change: Callable[[str], str]
    moves: bool = False


def plan(file: SettingsFile, text: str) -> list[Repair]:
    """The certain repairs of one file, whose text is `text`, in the order in which they can be made: those
    that move lines last, so that the lines of the others hold."""
    if file.layer is None:
        return []
    tree = parsing.read_tree(text.encode("utf-8"))
    if tree.doubled or not isinstance(tree.root, dict):
        return []
    found = []
    for fault in file.layer.diagnostics:
        place = next((one for one in tree.lines if ".".join(one) == fault.key), None)
        if place is None:
            continue
        value = _value(tree.root, place)
        repair = _renamed(file, place, value, tree) or _respelt(file, place, value)
        if repair is not None:
            what, change = repair
            found.append(Repair(file, tree.lines[place], what, change, "." in place[-1]))
    return sorted(found, key=lambda one: (one.moves, one.line))


def repaired(text: str, repair: Repair) -> str:
    """The text with one repair. Raises CannotEdit when it would do anything else."""
    before = _parse(text, repair.file)
    new = repair.change(text)
    after = _parse(new, repair.file)
    lost = {key for key, value in before.values.items() if after.values.get(key) != value}
    if lost or len(after.diagnostics) >= len(before.diagnostics):
        raise CannotEdit(f"the repair of line {repair.line} changes more than it should")
    return new


def _parse(text: str, file: SettingsFile) -> Layer:
    return parsing.parse(text.encode("utf-8"), file.path, file.scope, agent=file.agent)


def _value(root: object, place: tuple[str, ...]) -> object:
    for name in place:
        root = root.get(name) if isinstance(root, dict) else None
    return root


def _kinds(file: SettingsFile) -> tuple[str, ...]:
    return (AGENT_FILE,) if file.agent else (CONFIG_FILE, PROJECT_FILE)


def _renamed(
    file: SettingsFile, place: tuple[str, ...], value: object, tree: parsing.Tree
) -> tuple[str, Callable[[str], str]] | None:
    """A key under a wrong name: with its dots, or misspelt."""
    if registry.at_place(place, _kinds(file)) is not None:
        return None
    for setting in registry.SETTINGS:
        if (
            setting.file in _kinds(file)
            and file.scope in setting.scopes
            and "<" not in setting.key
            and place == (setting.key,)
            and setting.place not in tree.lines
            and _takes(setting, value)
        ):
            what = f"{setting.key} is now {'.'.join(setting.place)}"
            return what, _moved(place, setting.place, values.check(setting, value))
    right = _slip(file, place, value, tree)
    return (
        None
        if right is None
        else (f"{place[-1]} is now {right}", _rename(tree.lines[place], place[-1], right))
    )


def _slip(file: SettingsFile, place: tuple[str, ...], value: object, tree: parsing.Tree) -> str | None:
    """The one setting beside this place that the name is a slip of, None when there is none or several."""
    near = []
    for setting in registry.SETTINGS:
        name = setting.place[-1]
        if (
            setting.file in _kinds(file)
            and file.scope in setting.scopes
            and setting.place[:-1] == place[:-1]
            and "<" not in name
            and setting.place not in tree.lines
            and SequenceMatcher(None, place[-1].lower().replace("-", "_"), name).ratio() >= MIN_RATIO
            and _takes(setting, value)
        ):
            near.append(name)
    return near[0] if len(near) == 1 else None


def _takes(setting: Setting, value: object) -> bool:
    try:
        values.check(setting, value)
    except values.WrongValue:
        return False
    return True


def _moved(old: tuple[str, ...], new: tuple[str, ...], value: object) -> Callable[[str], str]:
    return lambda text: editing.set_value(editing.unset_value(text, old), new, value)


def _rename(line: int, wrong: str, right: str) -> Callable[[str], str]:
    """The name of a key that begins its line, whatever else stands there."""

    def change(text: str) -> str:
        lines = text.split("\n")
        pattern = re.compile(rf"^(\s*)(['\"]?){re.escape(wrong)}\2(?=\s*:)")
        if not pattern.match(lines[line - 1]):
            raise CannotEdit(f"line {line} does not begin with {wrong}")
        lines[line - 1] = pattern.sub(lambda found: f"{found[1]}{right}", lines[line - 1])
        return "\n".join(lines)

    return change


def _respelt(
    file: SettingsFile, place: tuple[str, ...], value: object
) -> tuple[str, Callable[[str], str]] | None:
    """A text that means a value which the setting takes."""
    setting = registry.at_place(place, _kinds(file))
    if setting is None or file.scope not in setting.scopes or not isinstance(value, str):
        return None
    if setting.kind not in (NUMBER, INTEGER, CHOICE, CHOICES):
        return None
    try:
        meant = values.from_text(setting, value.lower())
    except values.WrongValue:
        return None
    shown = ".".join(place)
    return f"{shown} is now {values.to_text(meant)}", lambda text: editing.set_value(text, place, meant)
