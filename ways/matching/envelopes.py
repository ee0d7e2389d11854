"""Harness envelopes: prompts that no person typed (spec: matching, surfaces). The one list of them."""

from __future__ import annotations

ENVELOPES = (
    "<task-notification",
    "<system-reminder",
    "<command-name",
    "<command-message",
    "<local-command-",
    "<cross-session-message",
    "[SYSTEM NOTIFICATION",
    "Base directory for this skill:",
)


def is_envelope(text: str) -> bool:
    """True for a text that begins, after white space, with one of ENVELOPES."""
    return text.lstrip().startswith(ENVELOPES)
