"""Prints the branch and the uncommitted files of the project, shortened. Quiet outside git."""

import os
import subprocess
import sys

MOST = 12


def git(*arguments: str) -> str:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    project = os.environ.get("WAYS_PROJECT_DIR") or "."
    try:
        done = subprocess.run(
            ["git", "-C", project, "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", *arguments],
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


def unfinished() -> str:
    """The operation that git is in the middle of, or an empty string."""
    folder = git("rev-parse", "--absolute-git-dir")
    marks = {"MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply": "rebase", "CHERRY_PICK_HEAD": "cherry-pick"}
    return next((name for mark, name in marks.items() if os.path.exists(os.path.join(folder, mark))), "")


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def main() -> int:
    status = git("status", "--porcelain=v1", "--branch")
    if not status:
        return 0
    branch, *changes = status.splitlines()
    lines = [f"- Branch: {quoted(branch.removeprefix('## '), 120)}"]
    operation = unfinished()
    if operation:
        lines.append(f"- A {operation} is in progress: do not start anything else before the user has decided.")
    if changes:
        lines.append(f"- Uncommitted: {len(changes)} path(s)")
        lines += [f"  - {quoted(change, 100)}" for change in changes[:MOST]]
        if len(changes) > MOST:
            lines.append(f"  - and {len(changes) - MOST} more")
    else:
        lines.append("- No uncommitted changes.")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
