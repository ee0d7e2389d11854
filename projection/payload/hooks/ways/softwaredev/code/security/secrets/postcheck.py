"""Requests the way when a commit has just added a private key or an environment file with values.

Exit 0 asks for it, 1 does not. Content is looked at and never printed.
"""

import json
import os
import re
import subprocess
import sys

COMMIT = re.compile(r"\bgit\b[^|;&\n]*\bcommit\b")
LANDED = re.compile(r"^\[[^\]\n]* ([0-9a-f]{7,40})\] ", re.MULTILINE)
NAMES = re.compile(r"(^|/)(\.env(\.[^/]+)?|id_(rsa|ed25519|ecdsa)|[^/]+\.(pem|key))$", re.IGNORECASE)
EXAMPLE = re.compile(
    r"(example|sample|template|dist|defaults?|schema)\b|(^|/)(tests?|fixtures?|testdata|vendor|node_modules)/"
)
PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
# A name that is one for a secret, with a value that is neither empty nor a reference nor a word in brackets.
VALUE = re.compile(
    rb"^(?:export[ \t]+)?\w*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)\w*[ \t]*=[ \t]*"
    rb"[\"']?(?![\"'\s$<{]|your|change|x{3})\S{6,}",
    re.IGNORECASE | re.MULTILINE,
)


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

def leaked(payload: dict) -> bool:
    """The commit holds such a file, new or changed, with something secret in it."""
    commit = landed(payload)
    folder = folder_of(payload)
    if not commit:
        return False
    rows = git(
        folder, "diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--diff-filter=AMR", commit
    ).decode("utf-8", "replace")
    names = [row for row in rows.split("\0") if NAMES.search(row) and not EXAMPLE.search(row.lower())]
    for name in names[:10]:
        content = git(folder, "show", f"{commit}:{name}")[:100_000]
        is_env = name.rpartition("/")[2].lower().startswith(".env")
        if (VALUE if is_env else PRIVATE).search(content):
            return True
    return False


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and leaked(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
