"""OpenRouter's chat completions, key and model endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ways.agent import prompt
from ways.agent.answer import AnswerError, Usage, document, money, probabilities, token_count
from ways.agent.prompt import Candidate, Turn
from ways.agent.providers.base import (
    MODEL_UNAVAILABLE,
    NO_CREDIT,
    UNREACHABLE,
    VALID,
    Answer,
    Finding,
    HttpRequest,
    Model,
    common_finding,
)
from ways.gate import settings
from ways.gate.settings import Profile

_PER_MILLION = 1_000_000


class OpenRouter:
    """`POST /api/v1/chat/completions`, `GET /api/v1/key`, `/models` and `/models/{model}/endpoints`."""

    name = settings.OPENROUTER

    def judge_request(
        self, profile: Profile, key: str, turns: Sequence[Turn], candidates: Sequence[Candidate]
    ) -> HttpRequest:
        """One completion with a forced call, routed only to endpoints that know the parameters."""
        function = {
            "name": prompt.TOOL_NAME,
            "description": prompt.TOOL_DESCRIPTION,
            "parameters": prompt.schema(len(candidates)),
        }
        body: dict[str, Any] = {
            "provider": {"require_parameters": True},
            **profile.extra_body,
            "model": profile.model,
            "max_tokens": prompt.answer_tokens(len(candidates)),
            "messages": [
                {"role": "system", "content": prompt.INSTRUCTION},
                {"role": "user", "content": prompt.render(turns, candidates)},
            ],
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": prompt.TOOL_NAME}},
        }
        if profile.temperature is not None:
            body["temperature"] = profile.temperature
        return HttpRequest(f"{profile.base_url}/api/v1/chat/completions", _headers(key), body)

    def read_answer(self, document: Mapping[str, Any], count: int) -> Answer:
        """The one function call's arguments, which are JSON in a string."""
        calls = [
            call["function"]
            for call in _tool_calls(document)
            if isinstance(call, dict)
            and isinstance(call.get("function"), dict)
            and call["function"].get("name") == prompt.TOOL_NAME
        ]
        if len(calls) != 1:
            raise AnswerError("no tool call" if not calls else f"{len(calls)} tool calls")
        arguments = calls[0].get("arguments")
        if not isinstance(arguments, str):
            raise AnswerError("arguments are not text")
        try:
            tool_input = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            raise AnswerError("arguments are not JSON") from error
        return Answer(probabilities(tool_input, count))

    def read_usage(self, document: Mapping[str, Any]) -> Usage:
        """`prompt_tokens` includes cached ones; `cost` is in US dollars (credits)."""
        usage = document.get("usage")
        if not isinstance(usage, dict):
            return Usage()
        details = usage.get("prompt_tokens_details")
        details = details if isinstance(details, dict) else {}
        read, written = (
            token_count(details.get("cached_tokens")),
            token_count(details.get("cache_write_tokens")),
        )
        total = token_count(usage.get("prompt_tokens"))
        return Usage(
            input_tokens=None if total is None else max(0, total - (read or 0) - (written or 0)),
            output_tokens=token_count(usage.get("completion_tokens")),
            cache_read_tokens=read,
            cache_write_tokens=written,
            cost_usd=money(usage.get("cost")),
        )

    def error_in_answer(self, document: Mapping[str, Any]) -> int | None:
        """An error after the model has begun comes in a 200, at the top or in the choice."""
        choices = document.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        for holder in (document, first):
            error = holder.get("error") if isinstance(holder, dict) else None
            if isinstance(error, dict):
                code = error.get("code")
                return code if isinstance(code, int) and 100 <= code <= 599 else 500
        return None

    def check_requests(self, profile: Profile, key: str) -> Sequence[HttpRequest]:
        """The key's own limits, then the endpoints that serve the model."""
        model = "/".join(quote(part, safe="") for part in profile.model.split("/"))
        base = f"{profile.base_url}/api/v1"
        return [
            HttpRequest(f"{base}/key", _headers(key)),
            HttpRequest(f"{base}/models/{model}/endpoints", _headers(key)),
        ]

    def read_check(self, index: int, status: int, body: bytes) -> Finding:
        """A key whose limit is used up has no credit; a model without an endpoint is unavailable."""
        if index == 0 and status == 404:
            return Finding(UNREACHABLE, "HTTP 404 for the key")
        finding = common_finding(status, body)
        if finding is not None:
            return finding
        try:
            data = document(body).get("data")
        except AnswerError:
            return Finding(UNREACHABLE, "the answer is not JSON")
        if not isinstance(data, dict):
            return Finding(UNREACHABLE, "the answer has no data")
        return _read_key(data) if index == 0 else _read_endpoints(data)

    def models_request(self, profile: Profile, key: str) -> HttpRequest:
        """Only the models that can call tools."""
        return HttpRequest(f"{profile.base_url}/api/v1/models?supported_parameters=tools", _headers(key))

    def read_models(self, document: Mapping[str, Any]) -> Sequence[Model]:
        """Prices are given for one token, as text."""
        data = document.get("data")
        rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
        models = []
        for row in rows:
            pricing = row.get("pricing")
            pricing = pricing if isinstance(pricing, dict) else {}
            models.append(
                Model(
                    str(row.get("id", "")),
                    str(row.get("name", "")),
                    _price(pricing.get("prompt")),
                    _price(pricing.get("completion")),
                )
            )
        return models


def _headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def _tool_calls(document: Mapping[str, Any]) -> list[Any]:
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and len(choices) == 1 else None
    if not isinstance(first, dict):
        raise AnswerError("not exactly one choice")
    if first.get("finish_reason") == "length":
        raise AnswerError("cut at max_tokens")
    message = first.get("message")
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return calls if isinstance(calls, list) else []


def _read_key(data: Mapping[str, Any]) -> Finding:
    left = data.get("limit_remaining")
    if isinstance(left, (int, float)) and not isinstance(left, bool) and left <= 0:
        return Finding(NO_CREDIT, "the key's limit is used up")
    return Finding(None)


def _read_endpoints(data: Mapping[str, Any]) -> Finding:
    endpoints = data.get("endpoints")
    rows = [row for row in endpoints if isinstance(row, dict)] if isinstance(endpoints, list) else []
    if not rows:
        return Finding(MODEL_UNAVAILABLE, "no endpoint serves the model")
    for row in rows:
        parameters = row.get("supported_parameters")
        if not isinstance(parameters, list) or {"tools", "tool_choice"} <= set(map(str, parameters)):
            return Finding(VALID)
    return Finding(MODEL_UNAVAILABLE, "no endpoint of the model can be forced to call a tool")


def _price(value: object) -> float | None:
    try:
        price = money(float(value)) if isinstance(value, str) else money(value)
    except ValueError:
        return None
    return None if price is None else price * _PER_MILLION
