"""Small logs for the tests of readers: events by what matters of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ways.core.clock import utc_iso

START = 1_790_000_000.0


def event(name: str, at: float = 0.0, **fields: str) -> dict[str, str]:
    """An event `at` seconds after the start, of session `s1`, project /p and the main agent."""
    common = {"session": "s1", "project": "/p", "agent_id": "main", "hook": "UserPromptSubmit"}
    return {"ts": utc_iso(START + at), "event": name, **common, **fields}


def fire(way: str, at: float, position: int = 0, **fields: str) -> dict[str, str]:
    """A way shown for the first time."""
    shared = {"way": way, "domain": way.partition("/")[0], "trigger": "keyword", "matched_span": "x"}
    return event("way_fired", at, **{**shared, "token_position": str(position), **fields})


def write_log(path: Path, events: list[dict[str, str]], *raw: bytes) -> Path:
    """A log of these events, then raw bytes as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = b"".join(json.dumps(line).encode() + b"\n" for line in events)
    path.write_bytes(lines + b"".join(raw))
    return path


def row(kind: str, at: float, **fields: Any) -> dict[str, Any]:
    """A transcript row."""
    return {"type": kind, "isSidechain": False, "timestamp": utc_iso(START + at), "uuid": str(at), **fields}


def said(at: float, tokens: int, *tools: str, **fields: Any) -> dict[str, Any]:
    """An answer of Claude after which `tokens` are in use, calling tools by name."""
    usage = {"input_tokens": 4, "cache_read_input_tokens": tokens - 4, "output_tokens": 9}
    content = [{"type": "text", "text": "Done."}]
    content += [{"type": "tool_use", "name": name, "id": f"t{at}{place}"} for place, name in enumerate(tools)]
    message = {"role": "assistant", "model": "claude-haiku-4-5", "content": content, "usage": usage}
    return row("assistant", at, message=message, **fields)


def typed(at: float, text: str = "hello") -> dict[str, Any]:
    """A prompt."""
    return row("user", at, message={"role": "user", "content": text})


def write_transcript(path: Path, rows: list[dict[str, Any]], *raw: bytes) -> Path:
    """A transcript of these rows, then raw bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in rows) + b"".join(raw))
    return path
