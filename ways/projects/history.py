"""What is there: projects and their sessions, by names, sizes and the first rows of each file.

Links are not followed and foreign files are left alone: only a real folder below the projects folder is a
project, only a regular `<session id>.jsonl` in it a session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ways.core import jsontext
from ways.core.ids import is_session_id

HEAD_BYTES = 256 * 1024
ENDING = ".jsonl"
# Folders of a project that belong to no session.
NOT_SESSIONS = frozenset({"memory"})


@dataclass(frozen=True)
class Session:
    """One session: its id, its transcript, the folder beside it ("" when there is none), size in bytes with
    that folder, time of the last change (seconds), and the folder it was started in ("" when unknown)."""

    id: str
    slug: str
    path: str
    companion: str
    size: int
    modified: float
    cwd: str


@dataclass(frozen=True)
class Project:
    """One folder of history. `folder` is where its newest session was started, "" when none says so;
    `foreign` are entries that are no session of ours, `links` those that are links."""

    slug: str
    path: str
    sessions: tuple[Session, ...]
    foreign: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    orphans: tuple[str, ...] = field(default=())

    @property
    def folder(self) -> str:
        """Where the newest session that says so was started."""
        return next((session.cwd for session in self.sessions if session.cwd), "")

    @property
    def size(self) -> int:
        """Bytes of all its sessions."""
        return sum(session.size for session in self.sessions)

    @property
    def modified(self) -> float:
        """The time of its newest change, 0 without sessions."""
        return max((session.modified for session in self.sessions), default=0.0)


def projects_folder(config: str) -> str:
    """The real path of a config directory's projects folder; itself may be reached by a link."""
    return os.path.realpath(os.path.join(config, "projects"))


def read(root: str) -> list[Project]:
    """Every project below `root` (the projects folder), the one used last first. Unreadable ones are left
    out; a root that is not there has none."""
    found = [project(root, entry.name) for entry in _entries(root) if entry.is_dir(follow_symlinks=False)]
    return sorted(found, key=lambda one: (-one.modified, one.slug))


def project(root: str, slug: str) -> Project:
    """One project, its newest session first."""
    path = os.path.join(root, slug)
    sessions: list[Session] = []
    foreign, links, folders = [], [], []
    for entry in _entries(path):
        if entry.is_symlink():
            links.append(entry.name)
        elif entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
        elif entry.name.endswith(ENDING) and is_session_id(entry.name[: -len(ENDING)]):
            session = _session(slug, entry)
            if session is not None:
                sessions.append(session)
        else:
            foreign.append(entry.name)
    sessions.sort(key=lambda one: (-one.modified, one.id))
    known = {session.id for session in sessions}
    orphans = [name for name in folders if name not in known and name not in NOT_SESSIONS]
    return Project(slug, path, tuple(sessions), tuple(sorted(foreign)), tuple(links), tuple(sorted(orphans)))


def _session(slug: str, entry: os.DirEntry[str]) -> Session | None:
    try:
        info = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if info.st_mode & 0o170000 != 0o100000:
        return None
    session_id = entry.name[: -len(ENDING)]
    companion = os.path.join(os.path.dirname(entry.path), session_id)
    size, modified = info.st_size, info.st_mtime
    if os.path.islink(companion) or not os.path.isdir(companion):
        companion = ""
    else:
        for inner in walk(companion):
            size += inner.st_size
            modified = max(modified, inner.st_mtime)
    return Session(session_id, slug, entry.path, companion, size, modified, cwd_of(entry.path))


def walk(folder: str) -> Iterator[os.stat_result]:
    """The state of every file below a folder, links not followed."""
    for entry in _entries(folder):
        if entry.is_dir(follow_symlinks=False):
            yield from walk(entry.path)
            continue
        try:
            yield entry.stat(follow_symlinks=False)
        except OSError:
            continue  # it has gone since the listing


def cwd_of(path: str) -> str:
    """The folder that a session was started in: the first row that names one, "" when none of the first
    256 KiB does."""
    return next((row["cwd"] for row in head(path) if isinstance(row.get("cwd"), str) and row["cwd"]), "")


def head(path: str) -> Iterator[dict[str, Any]]:
    """The complete rows of the first 256 KiB of a transcript."""
    try:
        with open(path, "rb") as file:
            left = HEAD_BYTES
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                row = jsontext.loads_or_none(line) if line.endswith(b"\n") else None
                if isinstance(row, dict):
                    yield row
    except OSError:
        return


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def chosen(projects: list[Project], named: str) -> list[Project]:
    """The projects that `named` means: a slug, a folder, or the last part of one. All for ""."""
    from ways.projects.slug import is_slug_of

    if not named:
        return projects
    folder = os.path.abspath(os.path.expanduser(named))
    exact = [
        one for one in projects if one.slug == named or one.folder == folder or is_slug_of(one.slug, folder)
    ]
    return exact or [one for one in projects if os.path.basename(one.folder.rstrip("/\\")) == named]
