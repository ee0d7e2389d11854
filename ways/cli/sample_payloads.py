"""Payloads in the shapes that Claude Code sends, for `ways doctor` and `ways demo`."""

from __future__ import annotations

import json
import os
from typing import Any

MODEL = "claude-sonnet-5"
SESSION = "ways-sample-session"


def _common(project: str, session: str, transcript: str) -> dict[str, Any]:
    return {
        "session_id": session,
        "transcript_path": transcript,
        "cwd": project,
        "permission_mode": "default",
    }


class Samples:
    """Payloads of one session. `transcript` is a path; the file need not exist."""

    def __init__(self, project: str, transcript: str, session: str = SESSION) -> None:
        self.project = project
        self.transcript = transcript
        self.session = session
        self._calls = 0

    def _make(self, event: str, **fields: Any) -> dict[str, Any]:
        return {**_common(self.project, self.session, self.transcript), "hook_event_name": event, **fields}

    def start(self, source: str = "startup") -> dict[str, Any]:
        """SessionStart."""
        return self._make("SessionStart", source=source, model=MODEL)

    def prompt(self, text: str) -> dict[str, Any]:
        """UserPromptSubmit."""
        return self._make("UserPromptSubmit", prompt=text)

    def tool(self, event: str, name: str, tool_input: dict[str, Any], **fields: Any) -> dict[str, Any]:
        """A tool event; the id is new for every PreToolUse."""
        if event == "PreToolUse":
            self._calls += 1
        use = f"toolu_sample{self._calls:04d}"
        return self._make(event, tool_name=name, tool_input=tool_input, tool_use_id=use, **fields)

    def bash(self, command: str, description: str = "") -> dict[str, Any]:
        """PreToolUse of Bash."""
        given = {"command": command, **({"description": description} if description else {})}
        return self.tool("PreToolUse", "Bash", given)

    def edit(self, path: str) -> dict[str, Any]:
        """PreToolUse of Edit."""
        return self.tool("PreToolUse", "Edit", {"file_path": path, "old_string": "a", "new_string": "b"})

    def task(self, prompt: str, agent_type: str = "general-purpose") -> dict[str, Any]:
        """PreToolUse of Task."""
        given = {"prompt": prompt, "description": "sample", "subagent_type": agent_type}
        return self.tool("PreToolUse", "Task", given)

    def subagent(self, agent_id: str, agent_type: str = "general-purpose") -> dict[str, Any]:
        """SubagentStart."""
        return self._make("SubagentStart", agent_id=agent_id, agent_type=agent_type)

    def all(self) -> list[dict[str, Any]]:
        """One payload for every event that ways wires, harmless ones: what doctor sends."""
        bash = {"command": "true"}
        return [
            self.start(),
            self.prompt("hello"),
            self.bash("true"),
            self.edit(os.path.join(self.project, "notes.txt")),
            self.task("say hello"),
            self.tool("PreToolUse", "TaskCreate", {"subject": "sample"}),
            self.subagent("sample-agent"),
            self.tool("PostToolUse", "Bash", bash, tool_response={"stdout": "", "stderr": ""}),
            self.tool("PostToolUseFailure", "Bash", bash, error="exit 1", is_interrupt=False),
            self._make("Stop", last_assistant_message="Done.", stop_hook_active=False),
            self._make("TaskCreated", task_id="1", task_subject="sample"),
        ]


def assistant_row(tokens: int, text: str = "Looking at it.") -> bytes:
    """One transcript row of Claude's with `tokens` of context in use, as Claude Code writes it."""
    row = {
        "type": "assistant",
        "isSidechain": False,
        "uuid": f"row-{tokens}",
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": {
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": text}],
            "usage": {
                "input_tokens": 5,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": max(0, tokens - 5),
                "output_tokens": 40,
            },
        },
    }
    return json.dumps(row).encode("ascii") + b"\n"
