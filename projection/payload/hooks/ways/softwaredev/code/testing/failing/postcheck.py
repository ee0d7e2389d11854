"""Requests the way when a test command has just failed. Exit 0 asks for it, 1 does not."""

import json
import re
import sys

# A test runner as the command itself, behind variables and starters such as `uv run` or `python -m`.
RUNNERS = re.compile(
    r"(?:^|[;&|(\n]\s*)(?:[A-Z_]\w*=\S*\s+){0,5}"
    r"(?:(?:(?:uv|poetry|pdm|hatch|pipenv|rye) run|bundle exec|npx|time|nice|python[\d.]* -m)\s+){0,3}(?:\S*/)?"
    r"(?:pytest|py\.test|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|python[\d.]* -m (?:pytest|unittest)"
    r"|(?:go|cargo|npm|pnpm|yarn|bun|dotnet|swift|mix|bazel) (?:run )?test|make (?:test|check)"
    r"|(?:mvn|gradle|gradlew)\b[^;&|\n]*\b(?:test|verify))(?=[\s;&|)]|$)",
    re.IGNORECASE,
)
SUMMARY = re.compile(
    r"\b[1-9]\d* (failed|failures?|failing|errors?)\b|^--- FAIL:|^FAILED\b|test result: FAILED|^not ok ",
    re.IGNORECASE | re.MULTILINE,
)


def output_of(payload: dict) -> str:
    """What the tool printed; a failed call has no response but an error text."""
    response = payload.get("tool_response")
    if isinstance(response, dict):
        return "\n".join(str(response.get(key) or "") for key in ("stdout", "stderr", "output"))
    return str(response or "")


def failed(payload: dict) -> bool:
    """A test runner was called, and it failed or printed a summary with failures."""
    tool_input = payload.get("tool_input")
    command = tool_input.get("command") if isinstance(tool_input, dict) else None
    if not isinstance(command, str) or not RUNNERS.search(command):
        return False
    if payload.get("hook_event_name") == "PostToolUseFailure":
        return not payload.get("is_interrupt")
    return bool(SUMMARY.search(output_of(payload)))


def main() -> int:
    try:
        payload = json.loads(sys.stdin.buffer.read().decode("utf-8", "replace"))
    except ValueError:
        return 1
    return 0 if isinstance(payload, dict) and failed(payload) else 1


if __name__ == "__main__":
    sys.exit(main())
