"""Anthropic's Messages and Models APIs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ways.agent import prompt
from ways.agent.answer import AnswerError, Usage, probabilities, token_count
from ways.agent.prompt import Candidate, Turn
from ways.agent.providers.base import VALID, Answer, Finding, HttpRequest, Model, common_finding
from ways.gate import settings
from ways.gate.settings import Profile

API_VERSION = "2023-06-01"


class Anthropic:
    """`POST /v1/messages`, `GET /v1/models[/{model}]`."""

    name = settings.ANTHROPIC

    def judge_request(
        self, profile: Profile, key: str, turns: Sequence[Turn], candidates: Sequence[Candidate]
    ) -> HttpRequest:
        """One message with a forced call of `record_judgements`."""
        tool = {
            "name": prompt.TOOL_NAME,
            "description": prompt.TOOL_DESCRIPTION,
            "input_schema": prompt.schema(len(candidates)),
        }
        body: dict[str, Any] = {
            **profile.extra_body,
            "model": profile.model,
            "max_tokens": prompt.answer_tokens(len(candidates)),
            "system": prompt.INSTRUCTION,
            "messages": [{"role": "user", "content": prompt.render(turns, candidates)}],
            "tools": [tool],
            "tool_choice": {"type": "tool", "name": prompt.TOOL_NAME, "disable_parallel_tool_use": True},
        }
        if profile.temperature is not None:
            body["temperature"] = profile.temperature
        return HttpRequest(f"{profile.base_url}/v1/messages", _headers(key), body)

    def read_answer(self, document: Mapping[str, Any], count: int) -> Answer:
        """The one `tool_use` block's input."""
        content = document.get("content")
        blocks = content if isinstance(content, list) else []
        calls = [
            block
            for block in blocks
            if isinstance(block, dict)
            and block.get("type") == "tool_use"
            and block.get("name") == prompt.TOOL_NAME
        ]
        if len(calls) != 1:
            raise AnswerError("no tool call" if not calls else f"{len(calls)} tool calls")
        if document.get("stop_reason") == "max_tokens":
            raise AnswerError("cut at max_tokens")
        return Answer(probabilities(calls[0].get("input"), count))

    def read_usage(self, document: Mapping[str, Any]) -> Usage:
        """`usage` names every kind of token apart."""
        usage = document.get("usage")
        if not isinstance(usage, dict):
            return Usage()
        return Usage(
            input_tokens=token_count(usage.get("input_tokens")),
            output_tokens=token_count(usage.get("output_tokens")),
            cache_read_tokens=token_count(usage.get("cache_read_input_tokens")),
            cache_write_tokens=token_count(usage.get("cache_creation_input_tokens")),
        )

    def error_in_answer(self, document: Mapping[str, Any]) -> int | None:
        """Errors come with their status here."""
        return None

    def check_requests(self, profile: Profile, key: str) -> Sequence[HttpRequest]:
        """Getting the model is free, needs the key and tells whether the model exists for it."""
        model = quote(profile.model, safe="")
        return [HttpRequest(f"{profile.base_url}/v1/models/{model}", _headers(key))]

    def read_check(self, index: int, status: int, body: bytes) -> Finding:
        """200 is a valid key with access to the model."""
        return common_finding(status, body) or Finding(VALID)

    def models_request(self, profile: Profile, key: str) -> HttpRequest:
        """All models, newest first."""
        return HttpRequest(f"{profile.base_url}/v1/models?limit=1000", _headers(key))

    def read_models(self, document: Mapping[str, Any]) -> Sequence[Model]:
        """Prices are not part of the list."""
        data = document.get("data")
        rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
        return [Model(str(row.get("id", "")), str(row.get("display_name", ""))) for row in rows]


def _headers(key: str) -> dict[str, str]:
    return {"x-api-key": key, "anthropic-version": API_VERSION}
