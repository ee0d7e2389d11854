"""Transcript rows in the shapes that Claude Code writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def stamp(second: float) -> str:
    """A timestamp so many seconds after the start of the scratch session."""
    minutes, whole = divmod(int(second), 60)
    return f"2026-11-30T{minutes // 60:02d}:{minutes % 60:02d}:{whole:02d}.{int(second * 1000) % 1000:03d}Z"


def user(content: Any, at: float = 0, **more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": content}
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": "user",
        "message": message,
        **more,
        "timestamp": stamp(at),
    }


def result(text: str = "ok", at: float = 0, **more: Any) -> dict[str, Any]:
    return user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": text}], at, **more)


def assistant(
    text: str = "", tokens: int = 0, model: str = "claude-sonnet-5", at: float = 0, **more: Any
) -> dict[str, Any]:
    usage = {
        "input_tokens": min(3, tokens),
        "cache_creation_input_tokens": max(0, min(tokens - 3, 10)),
        "cache_read_input_tokens": max(0, tokens - 13),
        "output_tokens": 999,
    }
    block = (
        {"type": "text", "text": text}
        if text
        else {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    )
    message = {"role": "assistant", "model": model, "content": [block], "usage": usage}
    return {"isSidechain": False, "type": "assistant", "message": message, **more, "timestamp": stamp(at)}


def enqueue(content: Any, at: float, **more: Any) -> dict[str, Any]:
    return {
        "type": "queue-operation",
        "operation": "enqueue",
        "timestamp": stamp(at),
        "content": content,
        **more,
    }


def boundary(post: int | None, at: float = 0) -> dict[str, Any]:
    data = {"trigger": "auto", "preTokens": 9} | ({} if post is None else {"postTokens": post})
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "isSidechain": False,
        "compactMetadata": data,
        "timestamp": stamp(at),
    }


def attachment(at: float = 0) -> dict[str, Any]:
    return {
        "type": "attachment",
        "isSidechain": False,
        "attachment": {"type": "todo"},
        "timestamp": stamp(at),
    }


def encode(*rows: Any) -> bytes:
    return b"".join(
        json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for row in rows
    )


def write(path: Path, *rows: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(*rows))
    return str(path)
