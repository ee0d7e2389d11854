"""Reading a provider's answer strictly: what is not exactly a judgement of every candidate is none."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any


class AnswerError(Exception):
    """The answer cannot be used (fallback reason `answer: …`). The message holds none of its text."""


@dataclass(frozen=True)
class Usage:
    """Tokens as billed; None where the provider did not say. `input_tokens` excludes cached ones.
    `cost_usd` is the provider's own figure."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    cost_usd: float | None = None


def document(body: bytes) -> dict[str, Any]:
    """A response body as a JSON object. Raises AnswerError."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise AnswerError("not JSON") from error
    if not isinstance(value, dict):
        raise AnswerError("not a JSON object")
    return value


def probabilities(tool_input: object, count: int) -> list[float]:
    """P(yes) of the candidates 1 to `count`: the confidence for yes, one minus it for no.

    Raises AnswerError for a missing, doubled or extra candidate and for a value of the wrong kind or
    out of range.
    """
    judgements = tool_input.get("judgements") if isinstance(tool_input, dict) else None
    if not isinstance(judgements, list):
        raise AnswerError("no list of judgements")
    found: dict[int, float] = {}
    for judgement in judgements:
        number, p_yes = _judgement(judgement)
        if not 1 <= number <= count:
            raise AnswerError("a candidate that was not asked about")
        if number in found:
            raise AnswerError("a candidate judged twice")
        found[number] = p_yes
    if len(found) != count:
        raise AnswerError(f"{count - len(found)} of {count} candidates are missing")
    return [found[number] for number in range(1, count + 1)]


def _judgement(value: object) -> tuple[int, float]:
    if not isinstance(value, dict):
        raise AnswerError("a judgement that is not an object")
    number, relevant, confidence = value.get("candidate"), value.get("relevant"), value.get("confidence")
    if isinstance(number, bool) or not isinstance(number, int):
        raise AnswerError("a judgement without a candidate's number")
    if not isinstance(relevant, bool):
        raise AnswerError("relevant is not a boolean")
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)):
        raise AnswerError("confidence is not a number")
    if not math.isfinite(confidence) or not 0 <= confidence <= 1:
        raise AnswerError("confidence is out of range")
    # 1 − 0.9 is 0.1 to a person who compares it with a threshold of 0.1.
    return number, float(confidence) if relevant else round(1.0 - float(confidence), 9)


def token_count(value: object) -> int | None:
    """A count as a provider gives it, None for anything that is not one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def money(value: object) -> float | None:
    """A cost as a provider gives it, None for anything that is not one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and value >= 0 else None
