"""Which sessions are in use. Every sign counts, and one that cannot be read counts as in use.

- the transcript or what lies beside it changed in the last 15 minutes; where processes cannot be looked at
  (no `/proc`), in the last day, because somebody may have a session open without typing
- the session's state folder (`ways` writes it at every prompt) did
- Claude Code's own record of running sessions, `<config>/sessions/<pid>.json`, names it and the process runs
- Linux: a process has the transcript open, names the session on its command line, or is a `claude`
  whose current folder is the session's
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from ways.core import clock, jsontext, processes
from ways.core.files import read_bytes_or_none
from ways.projects.history import ENDING, Session

QUIET_SECONDS = 15 * 60.0
BLIND_SECONDS = 86_400.0
_RECORD_BYTES = 64 * 1024


@dataclass(frozen=True)
class Running:
    """What the processes say: session ids, folders in which Claude Code runs, files held open, and words of
    command lines. `sees_processes` is False where only Claude Code's own records could be read."""

    sessions: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    open_files: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    sees_processes: bool = True


def why_live(session: Session, running: Running, sessions_root: str) -> str:
    """Why a session must be left alone, "" when nothing speaks for its being in use."""
    now = clock.now()
    try:
        newest = max(session.modified, os.lstat(session.path).st_mtime)
    except OSError as error:
        return f"cannot be looked at: {error.strerror or error}"
    if now - newest < (QUIET_SECONDS if running.sees_processes else BLIND_SECONDS):
        return "was written to in the last " + ("15 minutes" if running.sees_processes else "day")
    try:
        if now - os.lstat(os.path.join(sessions_root, session.id)).st_mtime < QUIET_SECONDS:
            return "ran a hook in the last 15 minutes"
    except OSError:
        pass  # no state: no hook has run
    if session.id in running.sessions or session.id in running.words:
        return "is open in a running Claude Code"
    beside = os.path.join(os.path.realpath(session.path)[: -len(ENDING)], "")
    if any(file == os.path.realpath(session.path) or file.startswith(beside) for file in running.open_files):
        return "is held open by a process"
    if session.cwd and os.path.realpath(session.cwd) in running.folders:
        return "belongs to a folder in which Claude Code runs"
    return ""


def running(config: str, proc: str = "/proc") -> Running:
    """What can be learnt of running processes. Without `/proc` only Claude Code's own records."""
    ids, folders = _recorded(config)
    files: set[str] = set()
    words: set[str] = set()
    try:
        pids = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError:
        pids = []
    seen = bool(pids)
    pids = [pid for pid in pids if int(pid) != os.getpid()]
    for pid in pids:
        place = os.path.join(proc, pid)
        arguments = (read_bytes_or_none(os.path.join(place, "cmdline"), 1 << 16) or b"").split(b"\0")
        texts = [argument.decode("utf-8", "replace") for argument in arguments if argument]
        words.update(text for text in texts if len(text) <= 128)
        if is_claude(texts):
            folder = _link(os.path.join(place, "cwd"))
            if folder:
                folders.add(os.path.realpath(folder))
        files.update(_open_transcripts(os.path.join(place, "fd")))
    return Running(frozenset(ids), frozenset(folders), frozenset(files), frozenset(words), seen)


def is_claude(arguments: list[str]) -> bool:
    """True when a command line is Claude Code's: itself, or a Node program of its package."""
    names = [os.path.basename(argument) for argument in arguments[:2]]
    return "claude" in names or any("claude-code" in argument for argument in arguments[:3])


def _recorded(config: str) -> tuple[set[str], set[str]]:
    """Session ids and folders in `<config>/sessions/<pid>.json` of processes that run."""
    ids: set[str] = set()
    folders: set[str] = set()
    place = os.path.join(config, "sessions")
    try:
        names = os.listdir(place)
    except OSError:
        return ids, folders
    for name in names:
        record = jsontext.object_or_empty(read_bytes_or_none(os.path.join(place, name), _RECORD_BYTES))
        pid = record.get("pid")
        if isinstance(pid, int) and pid > 0 and not processes.may_run(pid):
            continue
        session, folder = record.get("sessionId"), record.get("cwd")
        if isinstance(session, str):
            ids.add(session)
        if isinstance(folder, str):
            folders.add(os.path.realpath(folder))
    return ids, folders


def _open_transcripts(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except OSError:
        return []  # another user's process, or one that has ended
    targets = (_link(os.path.join(folder, name)) for name in names)
    return [target for target in targets if target.endswith(".jsonl")]


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
