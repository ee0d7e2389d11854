"""The one JSON object that a hook may print (spec: hooks, Output)."""

from __future__ import annotations

import os

from ways.core import files, jsontext


def context(event: str, text: str) -> bytes:
    """The answer that adds `text` to the agent's context. ASCII-escaped, one line. At Stop there is no
    context to add to but by going on."""
    if event == "Stop":
        return continuation(text)
    answer = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return jsontext.dump_bytes(answer)


def denial(event: str, reason: str) -> bytes:
    """The answer at PreToolUse that keeps the tool from running; the agent gets the reason."""
    decision = {"hookEventName": event, "permissionDecision": "deny", "permissionDecisionReason": reason}
    return jsontext.dump_bytes({"hookSpecificOutput": decision})


def continuation(text: str) -> bytes:
    """The answer at Stop that makes the agent go on, with `text` as what it goes on with."""
    return jsontext.dump_bytes({"decision": "block", "reason": text})


def write(data: bytes, descriptor: int = 1) -> bool:
    """Print the answer at once. False when the reader has gone (then nothing was delivered)."""
    try:
        files.write_all(descriptor, data)
    except OSError:
        return False
    return True


def close_output() -> None:
    """Point the standard output elsewhere, so that nothing later can hold or soil the host's pipe."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)
