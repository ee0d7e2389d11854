"""Clearing a session directory and pruning old ones, without ever leaving them.

A link is removed, never followed. Only what is recognised as a session directory is pruned: a sessions
root set to a folder that also holds other things must not cost anybody those things.
"""

from __future__ import annotations

import os
import time

from ways.core import files, ids

PRUNE_SECONDS = 7 * 86400
_MAX_DEPTH = 64
# Names that survive a reset: locks (a removed lock file lets two holders in) and the record itself.
_KEPT = frozenset({"locks", "reset.json"})
# One of these is in every directory in which a hook has done anything.
_PROOF = frozenset(
    {"locks", "reset.json", "epoch", "engagement.json", "response-context.json", "queued-mark"}
)
_KNOWN = _PROOF | frozenset(
    {
        "ways",
        "check-fires",
        "queued-scanned",
        "subagent-stash",
        "held",
        "tasks-active",
        "notices",
        "agents",
        "pending-fires.json",
        "issues-shown.json",
    }
)
_KNOWN_PREFIX = "core.marker."
_TRASH = ".pruned-"


def make_root_private(sessions_root: str) -> None:
    """Close the sessions root to others when it is the user's own and open for reading (POSIX)."""
    if os.name == "nt":
        return
    info = os.lstat(sessions_root)
    if info.st_mode & 0o170000 == 0o040000 and info.st_mode & 0o077 and info.st_uid == os.getuid():
        os.chmod(sessions_root, 0o700)


def clear(directory: str, keep_teams: bool = False) -> None:
    """Remove everything in a session directory except its locks and the record of the last reset.

    `keep_teams` leaves the teammate markers of running agents. What another hook removes or writes
    meanwhile is no error. Raises OSError for what cannot be removed.
    """
    for entry in _entries(directory):
        if entry.name in _KEPT:
            continue
        if entry.name == "agents" and keep_teams and entry.is_dir(follow_symlinks=False):
            _clear_agents(entry.path)
        else:
            remove_tree(entry.path)


def _clear_agents(folder: str) -> None:
    for agent in _entries(folder):
        if not agent.is_dir(follow_symlinks=False):
            remove_tree(agent.path)
            continue
        for entry in _entries(agent.path):
            if entry.name != "teammate":
                remove_tree(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove_tree(path: str, depth: int = 0) -> None:
    """Remove a file, a link or a whole folder; never what a link points to.

    A folder that another hook fills meanwhile is tried again a few times and then left. Raises
    OSError for what may not be removed.
    """
    for _attempt in range(4):
        try:
            if not _is_real_folder(path):
                os.unlink(path)
                return
            if depth < _MAX_DEPTH:
                for entry in _entries(path):
                    remove_tree(entry.path, depth + 1)
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            if not _is_real_folder(path) or not _entries(path):
                raise
            time.sleep(0.002)


def _is_real_folder(path: str) -> bool:
    return os.lstat(path).st_mode & 0o170000 == 0o040000


def prune(
    sessions_root: str,
    keep: str,
    now: float,
    *,
    max_age: float = PRUNE_SECONDS,
    max_looked_at: int = 400,
    max_removed: int = 20,
) -> int:
    """Remove session directories that nothing has touched for `max_age` seconds; how many went.

    Never `keep` (the caller's own), never a link, never what does not look like a session
    directory. Looks at `max_looked_at` directories and removes `max_removed` of them at most, so that a
    session start costs little; the next one goes on. A fault at one directory leaves that one.
    """
    removed = 0
    for entry in _entries(sessions_root)[:max_looked_at]:
        if removed >= max_removed:
            break
        if entry.name.startswith(_TRASH) and entry.is_dir(follow_symlinks=False):
            removed += _try_remove(entry.path)
        elif entry.name != keep and ids.is_session_id(entry.name) and _is_old(entry, now, max_age):
            removed += _retire(sessions_root, entry)
    return removed


def _is_old(entry: os.DirEntry[str], now: float, max_age: float) -> bool:
    """True when the directory is ours by its contents and neither it, its files nor its agents'
    folders have changed for `max_age` seconds."""
    try:
        if not entry.is_dir(follow_symlinks=False):
            return False
        newest = entry.stat(follow_symlinks=False).st_mtime
        if now - newest <= max_age:
            return False
        inside = _entries(entry.path)
        names = {item.name for item in inside}
        if not all(_is_known(name) for name in names) or (names and not names & _PROOF):
            return False
        folders = (os.path.join(entry.path, name) for name in ("agents", "ways", "subagent-stash", "held"))
        deeper = [item for folder in folders if not os.path.islink(folder) for item in _entries(folder)[:200]]
        newest = max([newest, *(item.stat(follow_symlinks=False).st_mtime for item in (*inside, *deeper))])
    except OSError:
        return False  # it is being used or removed at this moment
    return now - newest > max_age


def _is_known(name: str) -> bool:
    return name in _KNOWN or name.startswith(_KNOWN_PREFIX) or files.TEMPORARY_MARK in name


def _retire(sessions_root: str, entry: os.DirEntry[str]) -> bool:
    """Rename the directory away first, so that a session that resumes at this moment starts fresh in
    a new one instead of losing files one by one."""
    trash = os.path.join(sessions_root, f"{_TRASH}{entry.name[:100]}-{os.getpid()}-{time.time_ns()}")
    try:
        os.rename(entry.path, trash)
    except OSError:
        return False
    return _try_remove(trash)


def _try_remove(path: str) -> bool:
    try:
        remove_tree(path)
    except OSError:
        return False
    return not os.path.lexists(path)
