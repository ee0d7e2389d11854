"""Whether anything may be shown at all (spec: disclosure, Switches)."""

from __future__ import annotations

import os

from ways.core import files, jsontext
from ways.core.ids import is_session_id

PRUNE_SECONDS = 30 * 86400
_MAX_AGENT_FILES = 2_000
_HEAD_BYTES = 8_192


def switch_path(state_root: str, session_id: str) -> str:
    """The per-session subagent switch."""
    return os.path.join(state_root, "subagent-switch", session_id)


def session_subagents_off(state_root: str, session_id: str) -> bool:
    """True when this session's switch file says `off`."""
    if not is_session_id(session_id):
        return False
    data = files.read_bytes_or_none(switch_path(state_root, session_id), 64)
    return data is not None and data.strip().lower() == b"off"


def set_session_subagents(state_root: str, session_id: str, on: bool) -> None:
    """Write or remove the session's switch. Raises OSError, ValueError for an unusable id."""
    if not is_session_id(session_id):
        raise ValueError(f"not a session id: {session_id!r}")
    path = switch_path(state_root, session_id)
    if on:
        files.remove_if_there(path)
        return
    files.make_private(os.path.dirname(path))
    files.write_atomic(path, b"off\n")


def prune(state_root: str, now: float, own: str) -> int:
    """Remove switches older than 30 days, never the caller's own. Returns how many went."""
    folder = os.path.join(state_root, "subagent-switch")
    try:
        names = os.listdir(folder)
    except OSError:
        return 0
    gone = 0
    for name in names[:500]:
        path = os.path.join(folder, name)
        try:
            if name != own and now - os.lstat(path).st_mtime > PRUNE_SECONDS:
                os.unlink(path)
                gone += 1
        except OSError:
            continue  # another session start removed it, or it is not ours to remove
    return gone


def is_defined_agent(name: str, project: str, target: str) -> bool:
    """True when `name` is an agent that someone defined: the file stem or the frontmatter `name` of
    an `agents/**/*.md` in the project's `.claude`, the target, or an installed plugin (there also as
    `plugin:name`). The name is compared, never used in a path (case h05).
    """
    if not name:
        return False
    folders = [(os.path.join(target, "agents"), "")]
    if project:
        folders.append((os.path.join(project, ".claude", "agents"), ""))
    folders.extend(_plugin_folders(target))
    return any(_defines(folder, name, prefix) for folder, prefix in folders)


def _defines(folder: str, name: str, prefix: str) -> bool:
    wanted = {name}
    if prefix and name.startswith(f"{prefix}:"):
        wanted.add(name[len(prefix) + 1 :])
    seen = 0
    for where, subfolders, entries in os.walk(folder, followlinks=False):
        subfolders.sort()
        for entry in entries:
            if not entry.endswith(".md"):
                continue
            seen += 1
            if seen > _MAX_AGENT_FILES:
                return False
            if entry[:-3] in wanted or _frontmatter_name(os.path.join(where, entry)) in wanted:
                return True
    return False


def _frontmatter_name(path: str) -> str:
    """The `name:` of an agent file's frontmatter, "" when there is none. A line scan: importing a
    YAML parser for this would cost more than the hook."""
    data = files.read_bytes_or_none(path, _HEAD_BYTES)
    if not data:
        return ""
    lines = data.decode("utf-8", "replace").lstrip("﻿").splitlines()
    if not lines or lines[0].strip() != "---":
        return ""
    for line in lines[1:]:
        if line.strip() == "---":
            return ""
        if line.startswith("name:"):
            return line[5:].split(" #", 1)[0].strip().strip("\"'")
    return ""


def _plugin_folders(target: str) -> list[tuple[str, str]]:
    """(agents folder, plugin name) of each installed plugin, from Claude Code's own record."""
    path = os.path.join(target, "plugins", "installed_plugins.json")
    document = jsontext.object_or_empty(files.read_bytes_or_none(path, 1 << 20))
    plugins = document.get("plugins")
    found: list[tuple[str, str]] = []
    for key, value in plugins.items() if isinstance(plugins, dict) else ():
        for install in value if isinstance(value, list) else [value]:
            place = install.get("installPath") if isinstance(install, dict) else None
            if isinstance(place, str) and os.path.isabs(place):
                found.append((os.path.join(place, "agents"), key.split("@", 1)[0]))
    return found
