"""`{state}/projects.json`: the projects whose ways the corpus holds (spec: embedding).

`ways corpus` run inside a project adds it; a project whose folder of ways has vanished is dropped
at the next write. The list is bounded: the project that was seen longest ago goes first.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ways.core import clock, files
from ways.core.locking import Lock

if TYPE_CHECKING:
    from ways.core.roots import Roots

NAME = "projects.json"
VERSION = 1
MAX_PROJECTS = 200
MAX_BYTES = 1 << 20
LOCK_SECONDS = 15.0


@dataclass(frozen=True)
class Project:
    """A project by its resolved path, and when `ways corpus` last ran in it (UTC ISO 8601)."""

    path: str
    seen: str


def ways_folder(project: str) -> str:
    """Where a project keeps its ways."""
    return os.path.join(project, ".claude", "ways")


def known(roots: Roots) -> tuple[Project, ...]:
    """The projects on record that still have a folder of ways, most recently seen first.

    A file that is missing, damaged or of another version reads as no projects: each comes back when
    `ways corpus` next runs in it.
    """
    return tuple(project for project in _read(roots) if os.path.isdir(ways_folder(project.path)))


def remember(roots: Roots, project: str) -> bool:
    """Put `project` on record, dropping those that vanished. Answers whether it has a folder of ways.

    A project without one has nothing for the corpus and is not recorded. Raises LockTimeout and
    OSError.
    """
    resolved = os.path.realpath(project)
    if not os.path.isdir(ways_folder(resolved)):
        return False
    with Lock(os.path.join(roots.state, "projects.lock"), LOCK_SECONDS):
        newest = Project(resolved, clock.utc_iso())
        others = (entry for entry in known(roots) if entry.path != resolved)
        _write(roots, (newest, *others)[:MAX_PROJECTS])
    return True


def _read(roots: Roots) -> list[Project]:
    data = files.read_bytes_or_none(os.path.join(roots.state, NAME), MAX_BYTES)
    try:
        value = json.loads(data or b"null")
    except (ValueError, RecursionError):
        return []
    entries = value.get("projects") if isinstance(value, dict) and value.get("version") == VERSION else None
    if not isinstance(entries, list):
        return []
    found = {
        entry["path"]: Project(entry["path"], entry["seen"])
        for entry in entries
        if isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("seen"), str)
        and os.path.isabs(entry["path"])
        and "\0" not in entry["path"]
    }
    return sorted(found.values(), key=lambda project: project.seen, reverse=True)[:MAX_PROJECTS]


def _write(roots: Roots, projects: tuple[Project, ...]) -> None:
    value = {
        "version": VERSION,
        "projects": [{"path": project.path, "seen": project.seen} for project in projects],
    }
    files.make_private(roots.state)
    text = json.dumps(value, indent=2)
    files.write_atomic(os.path.join(roots.state, NAME), text.encode() + b"\n")
