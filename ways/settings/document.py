"""Many settings in one YAML document: what `ways settings emit` prints and `apply` reads.

The document looks like the files: keys of the `ways.` and `matching.` groups at the top level, other groups
nested, those of agent.yaml under `gate:`. So a config.yaml is such a document too.
"""

from __future__ import annotations

from collections.abc import Mapping

from ways.settings import parsing, registry
from ways.settings.editing import inline
from ways.settings.layer import Diagnostic
from ways.settings.registry import AGENT_FILE, LIST, Setting

# Which folders of this machine are served is for `ways target` to say.
_MACHINE = "targets"


def emitted(values: Mapping[str, object], scope: str) -> str:
    """The values that may be set in a file of this scope, as YAML in the registry's order. What has no
    value, and the list of targets, is left out."""
    tree: dict[str, object] = {}
    for key, value in values.items():
        setting, place = registry.find(key) if "<" not in key else (None, ())
        if setting is None or value is None or setting.kind == LIST or scope not in setting.scopes:
            continue
        _put(tree, place, value)
    return "".join(_lines(tree, 0))


def _put(tree: dict[str, object], place: tuple[str, ...], value: object) -> None:
    at = tree
    for name in place[:-1]:
        below = at.setdefault(name, {})
        assert isinstance(below, dict)
        at = below
    at[place[-1]] = value


def _lines(tree: Mapping[str, object], depth: int) -> list[str]:
    found = []
    for name, value in tree.items():
        begin = f"{'  ' * depth}{inline(name)}:"
        if isinstance(value, dict):
            found.append(f"{begin}\n")
            found.extend(_lines(value, depth + 1))
        else:
            found.append(f"{begin} {inline(value)}\n")
    return found


def read(data: bytes, path: str, scope: str) -> tuple[dict[str, object], list[Diagnostic]]:
    """The settings of a document by their keys, and everything wrong in it. Never raises."""
    config = parsing.parse(data, path, scope)
    agent = parsing.parse(data, path, scope, agent=True)
    values = {**config.values, **agent.values}
    # Each parse takes the other's groups for unknown; what neither knows is wrong.
    faults = [
        fault
        for fault, is_agent in (
            *((one, False) for one in config.diagnostics),
            *((one, True) for one in agent.diagnostics),
        )
        if _is_of_agent(fault.key) == is_agent
    ]
    if _MACHINE in values:
        del values[_MACHINE]
        faults.append(Diagnostic(path, 0, _MACHINE, "is managed by `ways target` and cannot be applied"))
    return values, faults


def _is_of_agent(key: str) -> bool:
    top = key.split(".", 1)[0]
    return any(setting.file == AGENT_FILE and setting.place[0] == top for setting in registry.SETTINGS)


def setting_of(key: str) -> Setting:
    """The setting of a key that a document gave."""
    return registry.find(key)[0]
