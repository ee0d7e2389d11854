"""Plans: what cleaning up or relocating would move, and what is left alone and why."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from ways.core import clock
from ways.projects import facts, history, live, moves
from ways.projects.history import Project, Session
from ways.projects.live import Running
from ways.projects.moves import Move
from ways.projects.slug import slug_of


@dataclass(frozen=True)
class Wanted:
    """What cleaning up is for: sessions not changed for `older_than` seconds, and, with `only_empty`, only
    those in which nobody said anything. `orphans` takes folders whose session is gone too."""

    older_than: float
    only_empty: bool = False
    orphans: bool = False


@dataclass(frozen=True)
class Plan:
    """`moves` in order; `sessions` how many sessions they are; `kept` (path, why) of what matched and is
    left alone."""

    moves: tuple[Move, ...]
    sessions: int
    kept: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """Bytes to be moved."""
        return sum(move.size for move in self.moves)


def cleanup(
    projects: Iterable[Project], wanted: Wanted, running: Running, sessions_root: str, folder: str
) -> Plan:
    """What cleaning up would move into `folder`, a batch's. The memory folder of a project always stays."""
    found: list[Move] = []
    kept: list[tuple[str, str]] = []
    count = 0
    for project in projects:
        for session in project.sessions:
            if clock.now() - session.modified < wanted.older_than:
                continue
            why = live.why_live(session, running, sessions_root)
            if not why and wanted.only_empty:
                try:
                    if not facts.of(session.path).is_empty:
                        continue
                except OSError as error:
                    why = f"cannot be read: {error.strerror or error}"
            if why:
                kept.append((session.path, why))
                continue
            found.extend(_moves(session, os.path.join(folder, project.slug)))
            count += 1
        for name in project.orphans if wanted.orphans else ():
            _take_orphan(project, name, wanted, os.path.join(folder, project.slug), found, kept)
    return Plan(tuple(found), count, tuple(kept))


def _take_orphan(
    project: Project,
    name: str,
    wanted: Wanted,
    folder: str,
    found: list[Move],
    kept: list[tuple[str, str]],
) -> None:
    """A folder without its transcript, when nothing in it is young or a link leads through it."""
    path = os.path.join(project.path, name)
    states = list(history.walk(path))
    newest = max((state.st_mtime for state in states), default=0.0)
    try:
        newest = max(newest, os.lstat(path).st_mtime)
        if clock.now() - newest < max(wanted.older_than, live.QUIET_SECONDS):
            return
        size = sum(state.st_size for state in states)
        found.append(moves.move_of(path, os.path.join(folder, name), size))
    except OSError as error:
        kept.append((path, f"cannot be looked at: {error.strerror or error}"))


def _moves(session: Session, folder: str) -> list[Move]:
    """The moves of one session: the folder beside it first, so that the transcript goes last."""
    found = []
    beside = sum(state.st_size for state in history.walk(session.companion)) if session.companion else 0
    if session.companion:
        found.append(moves.move_of(session.companion, os.path.join(folder, session.id), beside))
    target = os.path.join(folder, session.id + history.ENDING)
    found.append(moves.move_of(session.path, target, session.size - beside))
    return found


def relocate(
    projects: list[Project], root: str, old: str, new: str, running: Running, sessions_root: str
) -> Plan:
    """What follows when the folder `old` has become `new`: the sessions that were started in it or below it
    go where Claude Code looks for them from now on. Their contents stay as they were written.

    A project's memory goes along when all its sessions do and none is at the new place.
    """
    found: list[Move] = []
    kept: list[tuple[str, str]] = []
    count = 0
    for project in projects:
        ours = [session for session in project.sessions if _is_below(session.cwd, old)]
        slugs = set()
        stay = len(project.sessions) - len(ours)
        for session in ours:
            slug = slug_of(new + session.cwd[len(old) :])
            if slug == project.slug:
                continue
            why = live.why_live(session, running, sessions_root)
            target = os.path.join(root, slug)
            if not why and any(
                os.path.lexists(os.path.join(target, session.id + ending)) for ending in ("", history.ENDING)
            ):
                why = f"a session of this id is in {slug} already"
            if why:
                kept.append((session.path, why))
                stay += 1
                continue
            slugs.add(slug)
            found.extend(_moves(session, target))
            count += 1
        if not stay and len(slugs) == 1:
            found.extend(_memory(project, os.path.join(root, slugs.pop()), kept))
    return Plan(tuple(found), count, tuple(kept))


def _memory(project: Project, target: str, kept: list[tuple[str, str]]) -> list[Move]:
    path = os.path.join(project.path, "memory")
    if os.path.islink(path) or not os.path.isdir(path):
        return []
    if os.path.lexists(os.path.join(target, "memory")):
        kept.append((path, "the new place has a memory of its own"))
        return []
    size = sum(state.st_size for state in history.walk(path))
    return [moves.move_of(path, os.path.join(target, "memory"), size)]


def _is_below(cwd: str, folder: str) -> bool:
    return bool(cwd) and (cwd == folder or cwd.startswith(folder.rstrip("/\\") + os.sep))


def remove_empty_folders(root: str, slugs: Iterable[str]) -> list[str]:
    """Remove the project folders among `slugs` in which nothing is left. Returns their names."""
    gone = []
    for slug in sorted(set(slugs)):
        path = os.path.join(root, slug)
        if os.path.islink(path):
            continue
        try:
            os.rmdir(path)
        except OSError:
            continue  # something is in it: it stays
        gone.append(slug)
    return gone
