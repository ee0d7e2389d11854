"""What a transcript says: turns, models, tokens, what was asked first; and where a text occurs in it.

A transcript may be torn, foreign or hundreds of megabytes long, so it is read line by line, and a line
that cannot matter is not parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ways.core import jsontext
from ways.core.text import snippet

MAX_LINE = 64 << 20
USER, ASSISTANT = "user", "assistant"
_COUNTED = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass
class Facts:
    """One transcript. `lines` counts all, `broken` those that are no JSON object; `torn` says that the last
    one is not finished. `tokens` by kind, over the main agent and the subagents in this file; `first` and
    `last` are timestamps as written."""

    lines: int = 0
    broken: int = 0
    torn: bool = False
    human_turns: int = 0
    answers: int = 0
    models: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    first: str = ""
    last: str = ""
    first_prompt: str = ""
    title: str = ""

    @property
    def is_empty(self) -> bool:
        """True when nobody has said anything."""
        return not self.human_turns and not self.answers


@dataclass(frozen=True)
class Hit:
    """One message that holds the text: when, who, and the words around it."""

    session: str
    slug: str
    at: str
    role: str
    text: str


def of(path: str, advance: Callable[[int], None] = lambda _bytes: None) -> Facts:
    """The facts of a transcript; `advance` is told the bytes read so far in steps. Raises OSError."""
    facts = Facts()
    seen: set[str] = set()
    for line in _lines(path, advance):
        facts.lines += 1
        facts.torn = not line.endswith(b"\n")
        row = jsontext.loads_or_none(line)
        if isinstance(row, dict):
            _take(facts, row, seen)
        elif not facts.torn:  # an unfinished last line is no damage
            facts.broken += 1
    return facts


def _take(facts: Facts, row: dict[str, Any], seen: set[str]) -> None:
    at = row.get("timestamp")
    if isinstance(at, str) and at:
        facts.first = facts.first or at
        facts.last = max(facts.last, at)
    kind = row.get("type")
    if kind in ("summary", "ai-title", "custom-title"):
        title = row.get("summary") or row.get("aiTitle") or row.get("customTitle")
        facts.title = snippet(title) if isinstance(title, str) else facts.title
    elif kind == USER and is_human(row):
        facts.human_turns += 1
        facts.first_prompt = facts.first_prompt or snippet(text_of(row), 200)
    elif kind == ASSISTANT:
        _take_answer(facts, row, seen)


def _take_answer(facts: Facts, row: dict[str, Any], seen: set[str]) -> None:
    message = row.get("message")
    if not isinstance(message, dict):
        return
    model = message.get("model")
    if model == "<synthetic>" or row.get("isApiErrorMessage"):
        return
    # One answer is written as a row for each block, each with the usage of the whole.
    key = message.get("id")
    if isinstance(key, str):
        if key in seen:
            return
        seen.add(key)
    facts.answers += 1
    if isinstance(model, str) and model:
        facts.models[model] = facts.models.get(model, 0) + 1
    found = message.get("usage")
    usage = found if isinstance(found, dict) else {}
    for name in _COUNTED:
        value = usage.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            facts.tokens[name] = facts.tokens.get(name, 0) + value


def is_human(row: dict[str, Any]) -> bool:
    """True for a row that a person typed: no tool result, no meta row, no compact summary, main chain."""
    if row.get("isMeta") or row.get("isCompactSummary") or row.get("isSidechain"):
        return False
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return any(isinstance(part, dict) and part.get("type") == "text" for part in content) and not any(
            isinstance(part, dict) and part.get("type") == "tool_result" for part in content
        )
    return isinstance(content, str) and bool(content.strip())


def text_of(row: dict[str, Any]) -> str:
    """The text blocks of a row's message, joined."""
    message = row.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))


def search(
    path: str, session: str, slug: str, wanted: str, advance: Callable[[int], None] = lambda _bytes: None
) -> Iterator[Hit]:
    """The messages, of people and of Claude, that hold `wanted` in any case. Raises OSError."""
    pattern = re.compile(re.escape(wanted), re.IGNORECASE)
    # A plain word stands in the file as it is; anything else may be escaped there.
    plain = wanted.lower().encode("ascii") if wanted.isascii() and wanted.isalnum() else b""
    for line in _lines(path, advance):
        if (plain and plain not in line.lower()) or (b'"user"' not in line and b'"assistant"' not in line):
            continue
        row = jsontext.loads_or_none(line)
        if not isinstance(row, dict) or row.get("type") not in (USER, ASSISTANT):
            continue
        if row["type"] == USER and not is_human(row):
            continue
        text = text_of(row)
        match = pattern.search(text)
        if match is not None:
            begin = max(0, match.start() - 60)
            at = row.get("timestamp")
            around = ("…" if begin else "") + text[begin : match.end() + 100]
            yield Hit(
                session, slug, at if isinstance(at, str) else "", str(row["type"]), snippet(around, 200)
            )


def _lines(path: str, advance: Callable[[int], None]) -> Iterator[bytes]:
    """The lines of a file, one over 64 MiB cut there; tells `advance` how much was read."""
    with open(path, "rb") as file:
        pending = 0
        while line := file.readline(MAX_LINE):
            pending += len(line)
            if pending > 1 << 20:
                advance(pending)
                pending = 0
            yield line
        advance(pending)
