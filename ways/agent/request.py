"""A `judge` message as the agent trusts it: everything a judgement needs is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ways.agent.prompt import Candidate, Turn

MAX_CANDIDATES = 64


@dataclass(frozen=True)
class JudgeRequest:
    """A parsed `judge` message."""

    config: str
    engine: str
    turns: tuple[Turn, ...]
    candidates: tuple[Candidate, ...]


class BadRequest(Exception):
    """A message that is not a judge request."""


def parse_request(message: Mapping[str, Any]) -> JudgeRequest:
    """A `judge` message. Raises BadRequest."""
    turns, candidates = message.get("turns"), message.get("candidates")
    if not isinstance(turns, list) or not isinstance(candidates, list):
        raise BadRequest("turns and candidates are lists")
    if not 1 <= len(candidates) <= MAX_CANDIDATES:
        raise BadRequest(f"1 to {MAX_CANDIDATES} candidates are judged at once")
    parsed = tuple(
        Candidate(_text(row, "id"), _text(row, "path"), _text(row, "description")) for row in candidates
    )
    if len({candidate.id for candidate in parsed}) != len(parsed):
        raise BadRequest("a candidate is named twice")
    spoken = tuple(Turn(_role(row), _text(row, "text")) for row in turns)
    return JudgeRequest(_text(message, "config"), _text(message, "engine"), spoken, parsed)


def _text(row: object, name: str) -> str:
    value = row.get(name) if isinstance(row, Mapping) else None
    if not isinstance(value, str):
        raise BadRequest(f"{name} is not text")
    return value


def _role(row: object) -> str:
    role = _text(row, "role")
    if role not in {"user", "assistant"}:
        raise BadRequest("a turn's role is user or assistant")
    return role
