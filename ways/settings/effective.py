"""Every setting with its value and the file that it comes from: for commands, not for hooks."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ways.core import files
from ways.core.roots import Roots
from ways.settings import parsing, registry, target_file
from ways.settings.layer import Diagnostic, Layer
from ways.settings.load import REFIRE_PRESETS, layer_of, project_file, user_file
from ways.settings.registry import AGENT_FILE, PROJECT, TARGET, USER

DEFAULT = "default"


@dataclass(frozen=True)
class SettingsFile:
    """One file that can hold settings: its scope, its path, and what it says (None: there is no file)."""

    scope: str
    path: str
    layer: Layer | None
    agent: bool = False


@dataclass(frozen=True)
class Value:
    """A setting as it holds: `source` is default, user, target or project, `path` its file, if any."""

    key: str
    value: object
    source: str
    path: str = ""


def settings_files(roots: Roots, project: str, target: str) -> tuple[SettingsFile, ...]:
    """The files that hold here, lowest first. `project` and `target` are folders, "" for none."""
    path = user_file(roots)
    user = layer_of(roots, path, USER)
    agent = agent_file(roots)
    found = [SettingsFile(USER, path, user), SettingsFile(USER, agent, _agent_layer(agent), agent=True)]
    if target:
        path = target_settings(roots, target)
        found.append(SettingsFile(TARGET, path, layer_of(roots, path, TARGET)))
    if project:
        path = project_file(project)
        found.append(SettingsFile(PROJECT, path, layer_of(roots, path, PROJECT)))
    return tuple(found)


def agent_file(roots: Roots) -> str:
    """The user's agent.yaml."""
    return os.path.join(roots.config, AGENT_FILE)


def target_settings(roots: Roots, target: str) -> str:
    """The settings file of a target, whether it exists or not."""
    user = layer_of(roots, user_file(roots), USER)
    rows = user.values.get("targets") if user is not None else None
    named = target_file.path_of(roots.config, target, roots.home, rows)
    key = target_file.target_key(os.path.realpath(target))
    return named or os.path.join(roots.config, "targets", key, "config.yaml")


def values(found: tuple[SettingsFile, ...]) -> dict[str, Value]:
    """Every setting by its key, in the registry's order; names from the files (`refire_presets.daily`,
    `ways.project.<id>`) behind the defaults of their group."""
    held: dict[str, Value] = {}
    for setting in registry.SETTINGS:
        if "<" not in setting.key:
            held[setting.key] = Value(setting.key, setting.default, DEFAULT)
        elif setting.group == "refire_presets":
            for name, number in REFIRE_PRESETS.items():
                held[f"refire_presets.{name}"] = Value(f"refire_presets.{name}", number, DEFAULT)
    for file in found:
        for key, value in file.layer.values.items() if file.layer is not None else ():
            held[key] = Value(key, tuple(value) if isinstance(value, list) else value, file.scope, file.path)
    return held


def diagnostics(found: tuple[SettingsFile, ...]) -> list[Diagnostic]:
    """What is wrong in these files, file by file."""
    return [item for file in found if file.layer is not None for item in file.layer.diagnostics]


def near(key: str) -> list[str]:
    """Known keys that look like `key`, at most three."""
    from difflib import get_close_matches

    known = [setting.key for setting in registry.SETTINGS]
    ends = {name.rsplit(".", 1)[-1]: name for name in known}
    return get_close_matches(key, known, 3) or [ends[end] for end in get_close_matches(key, ends, 3)]


def _agent_layer(path: str) -> Layer | None:
    data = files.read_bytes_or_none(path, parsing.MAX_BYTES + 1)
    return None if data is None else parsing.parse(data, path, USER, agent=True)
