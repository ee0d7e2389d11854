"""The payloads that Claude Code sends to the measured hooks, and what it writes beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import texts
from ways.cli.sample_payloads import Samples

MODEL = "claude-haiku-4-5"
MIB = 1 << 20


@dataclass(frozen=True)
class Talk:
    """One session in a project. `transcript` is a path; the file need not exist."""

    project: str
    session: str
    transcript: str

    @property
    def samples(self) -> Samples:
        """Payloads in the shapes of the host."""
        return Samples(self.project, self.transcript, self.session)

    def prompt(self, number: int, sentences: int) -> bytes:
        """UserPromptSubmit with so many sentences about nothing."""
        return data(self.samples.prompt(texts.sentences(number, sentences)))

    def long_prompt(self, number: int, characters: int) -> bytes:
        """UserPromptSubmit with a prompt of this length."""
        return data(self.samples.prompt(texts.of_length(number, characters)))

    def start(self, source: str) -> bytes:
        """SessionStart."""
        return data(self.samples.start(source))

    def bash(self, number: int, command: str = "") -> bytes:
        """PreToolUse of Bash: a command that no way is about."""
        words = texts.sentences(number, 1).rstrip(".").split()
        return data(self.samples.bash(command or f"rearrange --{words[1]} {words[2]} {words[4]}-{words[5]}"))

    def edit(self, number: int, name: str = "") -> bytes:
        """PreToolUse of Edit: a path that no way is about."""
        path = name or f"shelf/{texts.sentences(number, 1).split()[2]}-{number}.zzz"
        return data(self.samples.edit(os.path.join(self.project, path)))

    def task(self, number: int) -> bytes:
        """PreToolUse of Task."""
        return data(self.samples.task(texts.sentences(number, 2)))

    def task_create(self) -> bytes:
        """PreToolUse of TaskCreate."""
        return data(self.samples.tool("PreToolUse", "TaskCreate", {"subject": "shelves"}))

    def subagent(self, agent: str) -> bytes:
        """SubagentStart."""
        return data(self.samples.subagent(agent))

    def after_edit(self, number: int) -> bytes:
        """PostToolUse of Edit."""
        given = {"file_path": os.path.join(self.project, f"shelf/{number}.zzz")}
        return data(self.samples.tool("PostToolUse", "Edit", given, tool_response={"ok": True}))

    def stop(self, number: int) -> bytes:
        """Stop, with an answer of eight sentences."""
        return data(self._event("Stop", last_assistant_message=texts.sentences(number, 8)))

    def task_created(self) -> bytes:
        """TaskCreated."""
        return data(self._event("TaskCreated", task_id="1", task_subject="shelves", team_name=""))

    def _event(self, event: str, **fields: Any) -> dict[str, Any]:
        payload = self.samples.prompt("")
        payload.pop("prompt")
        return {**payload, "hook_event_name": event, **fields}


def data(payload: Mapping[str, Any]) -> bytes:
    """The payload as it comes on standard input."""
    return json.dumps(payload).encode("utf-8")


def write_transcript(path: str, size: int) -> None:
    """A transcript of at least `size` bytes in the rows that Claude Code writes: turns of a prompt, a tool
    call, its result of 2 KB, and an answer. The newest rows are an answer's."""
    turn = _turn(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    block = turn * max(1, MIB // len(turn))
    with open(path, "wb") as file:
        written = 0
        while written < size:
            part = block if size - written >= len(block) else turn
            file.write(part)
            written += len(part)


def _turn(path: str) -> bytes:
    session = os.path.splitext(os.path.basename(path))[0]
    usage = {"input_tokens": 4, "cache_creation_input_tokens": 1_000, "cache_read_input_tokens": 11_000}
    call = {"type": "tool_use", "id": "toolu_0", "name": "Read", "input": {"file_path": "/shelf/a.zzz"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_0", "content": texts.of_length(3, 2_000)}
    said = {"type": "text", "text": texts.sentences(2, 4)}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("user", {"role": "user", "content": texts.sentences(1, 2)}),
        ("assistant", {"role": "assistant", "model": MODEL, "content": [call], "usage": usage}),
        ("user", {"role": "user", "content": [result]}),
        ("assistant", {"role": "assistant", "model": MODEL, "content": [said], "usage": usage}),
    ]
    common = {"isSidechain": False, "sessionId": session, "version": "2.1.206"}
    lines = [
        json.dumps({**common, "type": kind, "timestamp": "2026-11-30T08:00:00.000Z", "message": message})
        for kind, message in rows
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def write_event_log(path: str, size: int) -> None:
    """An event log of at most `size` bytes (0: none at all)."""
    if os.path.exists(path):
        os.unlink(path)
    if not size:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    event = {
        "ts": "2026-11-30T08:00:00.000Z",
        "event": "way_fired",
        "way": "benchmark/shown",
        "trigger": "file",
        "session": "benchmark",
        "project": "/home/somebody/project",
        "token_position": "12004",
    }
    line = json.dumps(event).encode() + b"\n"
    with open(path, "wb") as file:
        file.write(line * (size // len(line)))
    os.chmod(path, 0o600)
