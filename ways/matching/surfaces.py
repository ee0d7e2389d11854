"""The names of surfaces: what a scan can be of. Apart from the records, so that a hook that matches nothing
loads none of them."""

from __future__ import annotations

PROMPT, QUEUED, TASK, COMMAND, FILE = "prompt", "queued", "task", "command", "file"
