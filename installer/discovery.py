"""Finding Claude Code config directories to propose in `ways init` (spec: projection, Targets).

Candidates are proposed, never assumed. Reading is bounded and read-only: no shell is started, no rc
file is executed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ways.core import files
from ways.core.roots import config_directory

RC_FILES = (
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish/config.fish",
    ".config/environment.d/claude.conf",
)
_MAX_FILE = 1 << 20
_MAX_ENTRIES = 2_000
# One of these names is in every config directory that Claude Code has used.
_SIGNS = ("settings.json", "projects", "todos", "statsig", "plugins", ".credentials.json", "CLAUDE.md")
_NEEDED_SIGNS = 2
_ASSIGNMENT = re.compile(
    r"""^\s*(?:export\s+|set\s+-\S+\s+)?CLAUDE_CONFIG_DIR(?:\s*=\s*|\s+)(?P<value>"[^"]*"|'[^']*'|[^\s;#&|]+)"""
)


@dataclass(frozen=True)
class Candidate:
    """A folder that may be a config directory, and why it is proposed. `exists` on this disk."""

    path: str
    reason: str
    exists: bool


def candidates(environ: Mapping[str, str], home: str) -> list[Candidate]:
    """The folders to propose, the default first, each once (compared with links resolved)."""
    found: list[Candidate] = []
    seen: set[str] = set()
    for path, reason in _all(environ, home):
        key = os.path.normcase(os.path.realpath(path))
        if key not in seen:
            seen.add(key)
            found.append(Candidate(path, reason, os.path.isdir(path)))
    return found


def _all(environ: Mapping[str, str], home: str) -> Iterator[tuple[str, str]]:
    default = os.path.join(home, ".claude")
    named = config_directory(environ, home)
    if named != default:
        yield named, "CLAUDE_CONFIG_DIR"
    yield default, "the default"
    for rc in RC_FILES:
        for value in assignments(os.path.join(home, rc)):
            path = expand(value, home)
            if path:
                yield path, f"named in ~/{rc}"
    for envrc in allowed_envrcs(environ, home):
        for value in assignments(envrc):
            path = expand(value, home, os.path.dirname(envrc))
            if path:
                yield path, f"named in {envrc}"
    config_root = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(config_root):
        config_root = os.path.join(home, ".config")
    for folder in (home, config_root):
        for name in _names(folder):
            path = os.path.join(folder, name)
            if "claude" in name.lower() and looks_like_config(path):
                yield path, "looks like a Claude Code config directory"


def looks_like_config(path: str) -> bool:
    """True for a folder that holds at least two of the names that Claude Code keeps in its own."""
    names = set(_names(path))
    return sum(sign in names for sign in _SIGNS) >= _NEEDED_SIGNS


def assignments(path: str) -> list[str]:
    """The values that a shell file gives CLAUDE_CONFIG_DIR, quotes removed, in order."""
    data = files.read_bytes_or_none(path, _MAX_FILE) if os.path.isfile(path) else None
    if data is None:
        return []
    matches = (_ASSIGNMENT.match(line) for line in data.decode("utf-8", "replace").splitlines())
    return [match.group("value").strip("\"'") for match in matches if match is not None]


def expand(value: str, home: str, base: str = "") -> str:
    """A shell value as an absolute path, "" when it needs a shell to be understood."""
    for spelling in ("$HOME", "${HOME}", "~"):
        if value == spelling or value.startswith(spelling + "/"):
            value = home + value[len(spelling) :]
            break
    if base:
        for spelling in ("$PWD", "${PWD}"):
            if value == spelling or value.startswith(spelling + "/"):
                value = base + value[len(spelling) :]
                break
    if "$" in value or "`" in value or not value:
        return ""
    if not os.path.isabs(value):
        value = os.path.join(base, value) if base else ""
    return os.path.normpath(value) if value else ""


def allowed_envrcs(environ: Mapping[str, str], home: str) -> list[str]:
    """The `.envrc` files that the user has allowed in direnv.

    direnv keeps one file per allowed `.envrc`, named by the SHA-256 of path, newline and content,
    holding the path. A file whose content changed since is no longer allowed, and is passed over.
    """
    data_root = environ.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data_root):
        data_root = os.path.join(home, ".local", "share")
    folder = os.path.join(data_root, "direnv", "allow")
    found: list[str] = []
    for name in _names(folder):
        named = files.read_bytes_or_none(os.path.join(folder, name), 8_192)
        path = named.decode("utf-8", "replace").strip() if named else ""
        if not os.path.isabs(path) or not os.path.isfile(path):
            continue
        content = files.read_bytes_or_none(path, _MAX_FILE)
        if content is None:
            continue
        digest = hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\n" + content).hexdigest()
        if digest == name:
            found.append(path)
    return found


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MAX_ENTRIES]
    except OSError:
        return []
