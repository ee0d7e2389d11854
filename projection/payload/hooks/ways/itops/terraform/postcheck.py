"""Requests the way when a plan would destroy or replace something. Exit 0 asks for it, 1 does not."""

import json
import re
import sys

PLAN = re.compile(r"(?:^|[;&|(\n]\s*)(?:[A-Z_]\w*=\S*\s+){0,5}(?:terraform|tofu|terragrunt)\b[^|;&\n]*\bplan\b")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
DESTROYS = re.compile(
    r"^Plan: .*\b[1-9]\d* to destroy\b|^\s*# \S.* (?:must be replaced|will be destroyed)", re.MULTILINE
)


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

def destroys(payload: dict) -> bool:
    """A plan was made, and its summary counts something to destroy (a replacement counts as one)."""
    return bool(PLAN.search(command_of(payload)) and DESTROYS.search(COLOURS.sub("", text_of(payload))))


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and destroys(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
