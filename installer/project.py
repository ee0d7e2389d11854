"""The project part of `ways init`: what SessionStart runs in every project (spec: command line)."""

from __future__ import annotations

import hashlib
import os

from installer.project_files import ProjectFile
from ways.core import files
from ways.core.roots import Roots

GITIGNORE = b"""# Personal files of Claude Code that do not belong into the repository.
settings.local.json
"""

TEMPLATE = b"""---
description: One positive sentence that says what this guidance is for
vocabulary: words that somebody would use when they need it
# pattern: \\bdeploy(ment|ing)?\\b      # a regex on the prompt
# commands: ^make deploy               # a regex on a Bash command
# files: (^|/)deploy/                  # a regex on the path of an edited file
scope: [agent, subagent]
refire: normal
---
# Deploying this project

Copy this file to `.claude/ways/<domain>/<name>/<name>.md` and say in it what the team does, and why.
Files whose name begins with `_` are never shown.
"""


def is_project(folder: str) -> bool:
    """True for a folder with `.claude/` or `.git` in it."""
    return os.path.isdir(os.path.join(folder, ".claude")) or os.path.lexists(os.path.join(folder, ".git"))


def missing_files(folder: str, roots: Roots, targets: list[str]) -> list[tuple[str, bytes]]:
    """(path, content) of the project's files that are not there yet.

    Empty for what is no project, and where `.claude` is a Claude Code config directory (a home that is
    a repository), leads out of the project, or is a file: those are not ours to fill.
    """
    base = os.path.join(folder, ".claude")
    if not is_project(folder) or (os.path.lexists(base) and not os.path.isdir(base)):
        return []
    real = os.path.realpath(base)
    config_directories = {os.path.realpath(path) for path in [roots.projection, *targets]}
    if real in config_directories or os.path.realpath(folder) == os.path.realpath(roots.home):
        return []
    if not _inside(real, os.path.realpath(folder)):
        return []
    wanted = [
        (os.path.join(base, ".gitignore"), GITIGNORE),
        (os.path.join(base, "ways", "_template.md"), TEMPLATE),
    ]
    return [(path, data) for path, data in wanted if _may_write(path, real)]


def _may_write(path: str, base: str) -> bool:
    """Nothing is there, and the folder that it goes into lies in the project's own `.claude`."""
    parent = os.path.dirname(path)
    if os.path.lexists(parent) and not os.path.isdir(parent):
        return False
    return not os.path.lexists(path) and _inside(os.path.realpath(parent), base)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def write_missing(wanted: list[tuple[str, bytes]]) -> list[ProjectFile]:
    """Write the files, never over one that appeared meanwhile. Returns what was written. Raises OSError."""
    written = []
    for path, data in wanted:
        made = _make_folders(os.path.dirname(path))
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
        except FileExistsError:
            continue
        try:
            files.write_all(descriptor, data)
        finally:
            os.close(descriptor)
        written.append(ProjectFile(path, hashlib.sha256(data).hexdigest(), tuple(made)))
    return written


def _make_folders(folder: str) -> list[str]:
    """The folders that had to be made, outermost first."""
    missing: list[str] = []
    above = folder
    while not os.path.isdir(above):
        missing.insert(0, above)
        above = os.path.dirname(above)
    os.makedirs(folder, exist_ok=True)
    return missing
