"""What is not as it should be in the history. Looks, and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ways.projects import facts
from ways.projects.history import Project

LARGE_BYTES = 100 << 20


@dataclass(frozen=True)
class Finding:
    """One thing: its kind, where, what it means, and what to type ("" for nothing)."""

    kind: str
    path: str
    message: str
    next: str = ""


def look(projects: list[Project], advance: Callable[[int], None] = lambda _bytes: None) -> Iterator[Finding]:
    """Every finding, project by project."""
    for project in projects:
        yield from _project(project)
        for session in project.sessions:
            yield from _session(session.path, session.size, advance)


def _project(project: Project) -> Iterator[Finding]:
    if project.folder and not os.path.isdir(project.folder):
        yield Finding(
            "missing-folder",
            project.path,
            f"its folder {project.folder} is not there any more",
            "ways projects relocate OLD NEW, or ways projects cleanup --project",
        )
    for name in project.links:
        yield Finding("link", os.path.join(project.path, name), "is a link; it is never followed or moved")
    for name in project.orphans:
        yield Finding(
            "orphan",
            os.path.join(project.path, name),
            "belongs to a session whose transcript is gone",
            "ways projects cleanup --orphans",
        )
    for name in project.foreign:
        yield Finding("foreign", os.path.join(project.path, name), "is no session; it is left alone")


def _session(path: str, size: int, advance: Callable[[int], None]) -> Iterator[Finding]:
    try:
        found = facts.of(path, advance)
        mode = os.lstat(path).st_mode
    except OSError as error:
        yield Finding("unreadable", path, f"cannot be read: {error.strerror or error}")
        return
    if found.is_empty:
        yield Finding("empty", path, "nobody said anything in it", "ways projects cleanup --empty")
    if found.torn:
        yield Finding("torn", path, "its last line is not finished (a crash, or Claude Code is writing)")
    if found.broken:
        yield Finding("broken", path, f"{found.broken} of its {found.lines} lines are no JSON")
    if size > LARGE_BYTES:
        yield Finding("large", path, f"takes {size >> 20} MiB")
    if os.name != "nt" and mode & 0o044:
        yield Finding("readable", path, "other users of this machine can read it", f"chmod go= {path}")
