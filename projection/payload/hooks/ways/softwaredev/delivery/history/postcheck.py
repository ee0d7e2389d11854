"""Requests the way when a push was refused because the remote has other commits: next comes a forced one.

Exit 0 asks for it, 1 does not.
"""

import json
import re
import sys

PUSH = re.compile(r"(?:^|[;&|(\n]\s*)(?:[A-Z_]\w*=\S*\s+){0,5}git\b[^|;&\n]*\bpush\b")
REFUSED = re.compile(r"^ ! \[rejected\]\s.*\((?:non-fast-forward|fetch first|stale info)\)\s*$", re.MULTILINE)


def text_of(payload: dict) -> str:
    """What the tool printed; a failed call has an error text instead of a response."""
    response = payload.get("tool_response")
    if isinstance(response, dict):
        response = "\n".join(str(response.get(key) or "") for key in ("stdout", "stderr", "output"))
    return f"{response or ''}\n{payload.get('error') or ''}"


def command_of(payload: dict) -> str:
    """The command that was run, empty when there is none."""
    tool_input = payload.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    return command if isinstance(command, str) else ""

def refused(payload: dict) -> bool:
    """git pushed and said that it was not a fast-forward."""
    return bool(PUSH.search(command_of(payload)) and REFUSED.search(text_of(payload)))


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and refused(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
