"""Where Claude Code has been told to run no hooks, or none but its administrator's.

Everything else may be in order and still nothing is ever shown, without a word from Claude Code.
"""

from __future__ import annotations

import json
import os
import sys

_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "win32": r"C:\Program Files\ClaudeCode\managed-settings.json",
}


def managed_settings(platform: str = sys.platform) -> str:
    """The settings file of the machine's administrator."""
    return _MANAGED.get(platform, "/etc/claude-code/managed-settings.json")


def switched_off(target: str, project: str, managed: str = "") -> list[tuple[str, str]]:
    """(file, key) of each setting that keeps the hooks of this target from running in this project; ""
    for no project."""
    managed = managed or managed_settings()
    own = [os.path.join(target, "settings.json")]
    if project:
        folder = os.path.join(project, ".claude")
        own += [os.path.join(folder, name) for name in ("settings.json", "settings.local.json")]
    found = [(path, "disableAllHooks") for path in dict.fromkeys([*own, managed])]
    return [(path, key) for path, key in [*found, (managed, "allowManagedHooksOnly")] if _is_set(path, key)]


def _is_set(path: str, key: str) -> bool:
    """False too for a file that is missing or broken: then it switches nothing off."""
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            document = json.load(file)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get(key) is True
