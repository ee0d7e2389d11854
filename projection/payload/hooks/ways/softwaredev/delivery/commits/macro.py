"""Shows the branch, how much is staged, and the style of the last subjects. Quiet outside git."""

import os
import subprocess
import sys


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


def quoted(text: str, most: int) -> str:
    """Text that others wrote, as code on one line: without what could end the quotation."""
    return "`" + "".join(c if c.isprintable() and c != "`" else "?" for c in text[:most]) + "`"


def main() -> int:
    if git("rev-parse", "--is-inside-work-tree") != "true":
        return 0
    lines = ["## This repository"]
    branch = git("symbolic-ref", "--short", "-q", "HEAD")
    lines.append(f"- Branch: {quoted(branch, 100)}" if branch else "- HEAD is detached: make a branch before committing.")
    staged = git("diff", "--cached", "--name-only").splitlines()
    lines.append(f"- Staged: {len(staged)} file(s)" if staged else "- Nothing is staged.")
    subjects = git("log", "-5", "--no-merges", "--format=%s").splitlines()
    if subjects:
        lines.append("- Last subjects, for the style:")
        lines += [f"  - {quoted(subject, 90)}" for subject in subjects]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
