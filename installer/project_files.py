"""The files that ways has put into projects, so that leaving takes them back (spec: installer, uninstall).

`ways init` writes two small files into a project at its first session (installer/project.py). Each is noted
in `{state}/project-files.jsonl`, one line a file: its path, its SHA-256, and the folders that were made for
it. A project is its people's: only a file that nobody has changed, that git does not know, and that protects
nothing is taken back.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from projection.system import System
from ways.core import files
from ways.core.environment import child_environment
from ways.core.roots import Roots

NAME = "project-files.jsonl"
GIT_SECONDS = 10.0
_MOST = 8 << 20
_IGNORE, _IGNORED = ".gitignore", "settings.local.json"


@dataclass(frozen=True)
class ProjectFile:
    """A file that was written: its SHA-256 in hex, and the folders made for it, outermost first."""

    path: str
    sha256: str
    folders: tuple[str, ...] = ()


def note(roots: Roots, written: Iterable[ProjectFile]) -> None:
    """Add files to the record, by one write: two sessions may start at once. Raises OSError."""
    lines = [
        json.dumps({"path": one.path, "sha256": one.sha256, "folders": list(one.folders)}) + "\n"
        for one in written
    ]
    if not lines:
        return
    files.make_private(roots.state)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(os.path.join(roots.state, NAME), flags, 0o600)
    try:
        files.write_all(descriptor, "".join(lines).encode("ascii"))
    finally:
        os.close(descriptor)


def load(system: System, roots: Roots) -> list[ProjectFile]:
    """The record, each path once; a line that cannot be read is passed over."""
    path = os.path.join(roots.state, NAME)
    data = system.read_bytes(path, _MOST) if system.kind(path) == "file" else b""
    found: dict[str, ProjectFile] = {}
    for line in data.splitlines():
        try:
            row = json.loads(line)
            one = ProjectFile(
                str(row["path"]), str(row["sha256"]), tuple(str(part) for part in row.get("folders", ()))
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        if all(os.path.isabs(part) for part in (one.path, *one.folders)):
            found[one.path] = one
    return list(found.values())


def ours(system: System, roots: Roots) -> list[ProjectFile]:
    """The files that can be taken back now. Changes nothing."""
    return [one for one in load(system, roots) if _is_ours(system, one)]


def _is_ours(system: System, one: ProjectFile) -> bool:
    if system.kind(one.path) != "file" or system.sha256(one.path) != one.sha256:
        return False
    folder, name = os.path.split(one.path)
    if name == _IGNORE and system.kind(os.path.join(folder, _IGNORED)) is not None:
        return False  # it keeps that file out of the repository
    return not _may_be_tracked(folder, name)


def _may_be_tracked(folder: str, name: str) -> bool:
    """True when git knows the file, or it cannot be told whether it does."""
    if not _in_repository(folder):
        return False
    git = shutil.which("git")
    if git is None:
        return True
    # No command of the repository's own configuration is started by this.
    command = [git, "-c", "core.fsmonitor=false", "ls-files", "--error-unmatch", "--", name]
    environ = {
        key: value
        for key, value in child_environment().items()
        if key not in {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}
    }
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**environ, "GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode != 1  # 1: git does not know it


def _in_repository(folder: str) -> bool:
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True


def take_back(system: System, roots: Roots) -> tuple[str, ...]:
    """Remove those files, and the folders made for them that are empty then; sentences on what could not
    be removed. The record goes too: what is left belongs to the projects."""
    left = []
    for one in ours(system, roots):
        try:
            system.remove(one.path)
        except OSError as error:
            left.append(f"{one.path}: {error.strerror or error}")
    for folder in sorted({part for one in load(system, roots) for part in one.folders}, reverse=True):
        try:
            if system.kind(folder) == "folder" and not system.names(folder):
                system.rmdir(folder)
        except OSError as error:
            left.append(f"{folder}: {error.strerror or error}")
    path = os.path.join(roots.state, NAME)
    if system.kind(path) == "file":
        system.remove(path)
    return tuple(left)
