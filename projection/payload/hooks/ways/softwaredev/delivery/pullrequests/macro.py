"""Shows how large the branch is against the remote's default branch. Quiet outside git."""

import os
import subprocess
import sys

LARGE = 400


def git(*arguments: str) -> str:
    """What a read-only git command prints; empty when it fails or there is no git."""
    environment = dict(os.environ, GIT_OPTIONAL_LOCKS="0", GIT_NO_LAZY_FETCH="1", LC_ALL="C")
    try:
        done = subprocess.run(
            ["git", "-C", os.environ.get("WAYS_PROJECT_DIR") or ".", "-c", "core.fsmonitor=false", *arguments],
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


def base_branch() -> str:
    """The remote's default branch, else a branch that usually is it; empty when there is none."""
    default = git("symbolic-ref", "--short", "-q", "refs/remotes/origin/HEAD")
    usual = ("origin/main", "origin/master", "main", "master")
    return default or next((name for name in usual if git("rev-parse", "-q", "--verify", name)), "")


def changed_lines(base: str) -> tuple:
    """Files and lines changed since the branch left the base; binary files count no lines."""
    rows = [row.split("\t", 2) for row in git("diff", "--numstat", f"{base}...HEAD").splitlines()]
    lines = sum(int(count) for row in rows for count in row[:2] if count.isdigit())
    return len(rows), lines


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def main() -> int:
    base = base_branch()
    if not base:
        return 0
    files, lines = changed_lines(base)
    if not files:
        return 0
    commits = git("rev-list", "--count", f"{base}..HEAD")
    text = f"## This branch\n- Against {quoted(base, 100)}: {commits} commit(s), {files} file(s), {lines} changed lines"
    if lines > LARGE:
        text += "; consider splitting it"
    template = ".github/pull_request_template.md"
    if os.path.exists(os.path.join(os.environ.get("WAYS_PROJECT_DIR") or ".", template)):
        text += f"\n- Template: `{template}`"
    sys.stdout.write(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
