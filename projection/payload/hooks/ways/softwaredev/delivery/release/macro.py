"""Shows the last tags, what was committed since, and where the version stands. Quiet without any of it."""

import json
import os
import subprocess
import sys
import tomllib

ROOT = os.environ.get("WAYS_PROJECT_DIR") or "."
MOST_CHARACTERS, SUBJECTS = 200_000, 6


def read(name: str) -> str:
    """The beginning of a file of the project; empty when it is not there."""
    path = os.path.join(ROOT, name)
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(MOST_CHARACTERS)
    except OSError:
        return ""


def git(*arguments: str) -> str:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    project = os.environ.get("WAYS_PROJECT_DIR") or "."
    try:
        done = subprocess.run(
            ["git", "-C", project, "-c", "core.fsmonitor=false", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").rstrip() if done.returncode == 0 else ""


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def tags() -> list:
    """Lines about the newest tags on this branch and the commits since the last one."""
    rows = git(
        "for-each-ref", "--merged=HEAD", "--count=3", "--sort=-creatordate",
        "--format=%(refname:short)%09%(creatordate:short)", "refs/tags",
    ).splitlines()  # fmt: skip
    newest = [row.split("\t", 1) for row in rows if "\t" in row]
    if not newest:
        return []
    lines = ["- Last tags: " + ", ".join(f"{quoted(name, 60)} ({date})" for name, date in newest)]
    since = f"refs/tags/{newest[0][0]}..HEAD"
    count = git("rev-list", "--count", since)
    if count.isdigit():
        lines.append(f"- Commits since: {count}")
        subjects = git("log", f"-{SUBJECTS}", "--no-merges", "--format=%s", since).splitlines()
        lines += [f"  - {quoted(subject, 90)}" for subject in subjects]
    return lines


def version_of(name: str) -> object:
    """The version that a manifest states, None when it states none."""
    text = read(name)
    try:
        table = json.loads(text) if name.endswith(".json") else tomllib.loads(text)
    except ValueError:
        return None
    sections = {"pyproject.toml": "project", "Cargo.toml": "package"}
    part = table.get(sections[name]) if name in sections and isinstance(table, dict) else table
    return part.get("version") if isinstance(part, dict) else None


def main() -> int:
    lines = tags()
    for name in ("pyproject.toml", "package.json", "Cargo.toml"):
        version = version_of(name)
        if isinstance(version, str):
            lines.append(f"- `{name}` says {quoted(version, 40)}")
    if lines:
        sys.stdout.write("\n".join(["## Versions here", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
