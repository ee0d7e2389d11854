"""Requests the way when a commit changed what a manifest depends on and left its lockfile as it was.

Exit 0 asks for it, 1 does not. The dependencies of both versions are compared, so that a new script or another
description asks for nothing.
"""

import json
import os
import re
import subprocess
import sys
import tomllib

COMMIT = re.compile(r"\bgit\b[^|;&\n]*\bcommit\b")
LANDED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\] ", re.MULTILINE)
LOCKFILES = {
    "package.json": ("package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb"),
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
    "Cargo.toml": ("Cargo.lock",),
}
# Where a manifest says what it depends on.
PLACES = {
    "package.json": (("dependencies",), ("devDependencies",), ("optionalDependencies",)),
    "pyproject.toml": (
        ("project", "dependencies"),
        ("project", "optional-dependencies"),
        ("dependency-groups",),
        ("tool", "poetry", "dependencies"),
        ("tool", "poetry", "group"),
    ),
    "Cargo.toml": (("dependencies",), ("dev-dependencies",), ("build-dependencies",)),
}


def git(folder: str, *arguments: str) -> bytes:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    try:
        done = subprocess.run(
            ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return b""
    return done.stdout if done.returncode == 0 else b""

def landed(payload: dict) -> str:
    """The commit that the command has just made, as git printed it (`[topic 1a2b3c4] subject`), else empty."""
    tool_input, response = payload.get("tool_input"), payload.get("tool_response")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if not isinstance(command, str) or not COMMIT.search(command):
        return ""
    output = str(response.get("stdout") or "") if isinstance(response, dict) else str(response or "")
    found = LANDED.findall(output)
    return found[-1] if found else ""


def folder_of(payload: dict) -> str:
    """Where the command ran."""
    folder = payload.get("cwd")
    return folder if isinstance(folder, str) and os.path.isdir(folder) else os.environ.get("WAYS_PROJECT_DIR") or "."

def dependencies(name: str, data: bytes) -> list:
    """What a manifest depends on, in a form that can be compared. Raises ValueError for one that is broken."""
    text = data.decode("utf-8", "replace")
    table = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    found = []
    for keys in PLACES[name]:
        part = table
        for key in keys:
            part = part.get(key) if isinstance(part, dict) else None
        found.append(part or None)
    return found


def changed(folder: str, commit: str, path: str) -> bool:
    """The commit changed the dependencies of an existing manifest."""
    name = path.rpartition("/")[2]
    before, after = (git(folder, "show", f"{version}:{path}") for version in (f"{commit}~1", commit))
    try:
        return bool(before and after) and dependencies(name, before) != dependencies(name, after)
    except ValueError:
        return False


def lockfile_left(payload: dict) -> bool:
    """A lockfile lies under git beside a manifest whose dependencies changed, and the commit does not hold it."""
    commit = landed(payload)
    folder = folder_of(payload)
    if not commit:
        return False
    rows = git(folder, "diff-tree", "-r", "-z", "--no-commit-id", "--name-only", commit).decode("utf-8", "replace")
    touched = {row for row in rows.split("\0") if row}
    for path in sorted(touched):
        above, slash, name = path.rpartition("/")
        beside = [f"{above}{slash}{lock}" for lock in LOCKFILES.get(name, ())]
        if not beside or touched & set(beside):
            continue
        held = git(folder, "ls-tree", "--full-tree", "--name-only", commit, "--", *beside)
        if held.strip() and changed(folder, commit, path):
            return True
    return False


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and lockfile_left(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
