"""Requests the way when a commit has just been made on a main branch. Exit 0 asks for it, 1 does not.

git itself prints the branch, as in `[main 1a2b3c4] subject`, so no further process is needed.
"""

import json
import re
import sys

COMMIT = re.compile(r"\bgit\b[^|;&\n]*\bcommit\b")
ON_MAIN = re.compile(r"^\[(main|master|trunk|develop|production)( \(root-commit\))? [0-9a-f]{7,40}\] ", re.MULTILINE)


def committed_on_main(payload: dict) -> bool:
    """The command was a commit and git said that it landed on a main branch (a first commit is fine)."""
    tool_input, response = payload.get("tool_input"), payload.get("tool_response")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if not isinstance(command, str) or not COMMIT.search(command):
        return False
    output = str(response.get("stdout") or "") if isinstance(response, dict) else str(response or "")
    landed = ON_MAIN.search(output)
    return landed is not None and not landed.group(2)


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and committed_on_main(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
