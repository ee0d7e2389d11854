"""Requests the way when a migration was edited that the main branch already has. Exit 0 asks for it, 1 does not.

One that exists only on the current branch may still be changed. No main branch, no request.
"""

import json
import os
import re
import subprocess
import sys

# `0012_name.py`, `V3__name.sql`, `20260102030405_name.rb`, alembic's `1a2b3c4d5e6f_name.py`, prisma's folders.
NUMBERED = re.compile(
    r"(^|/)(migrations?|alembic/versions|db/migrate)/([^/]+/)?(V?\d+[^/]*|[0-9a-f]{12}_[^/]*)\.(py|sql|rb|ts|js)$",
    re.IGNORECASE,
)
PRISMA = re.compile(r"(^|/)migrations/\d[^/]*/migration\.sql$")
MAIN = ("origin/HEAD", "origin/main", "origin/master", "main", "master")


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

def edited(payload: dict) -> str:
    """The path of the migration that the tool has changed, empty when it changed none."""
    tool_input = payload.get("tool_input")
    path = tool_input.get("file_path") if isinstance(tool_input, dict) else None
    if not isinstance(path, str) or payload.get("tool_name") not in ("Edit", "Write", "MultiEdit"):
        return ""
    shown = path.replace("\\", "/")
    return path if os.path.isabs(path) and (NUMBERED.search(shown) or PRISMA.search(shown)) else ""


def was_published(payload: dict) -> bool:
    """The main branch has the file, and what lies there now is something else."""
    path = edited(payload)
    folder, name = os.path.split(path)
    if not path or not os.path.isdir(folder):
        return False
    base = next((ref for ref in MAIN if git(folder, "rev-parse", "-q", "--verify", f"{ref}^{{commit}}")), "")
    if not base:
        return False
    before = git(folder, "rev-parse", "-q", "--verify", f"{base}:./{name}").strip()
    return bool(before) and before != git(folder, "hash-object", "--", name).strip()


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and was_published(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
