"""What every provider can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ways.agent.answer import Usage
from ways.agent.prompt import Candidate, Turn
from ways.gate.settings import Profile

# The states of a key (spec: judge and agent, Keys).
VALID = "valid"
INVALID = "invalid"
NO_CREDIT = "no_credit"
RATE_LIMITED = "rate_limited"
MODEL_UNAVAILABLE = "model_unavailable"
UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class HttpRequest:
    """`headers` hold the key, so `repr` leaves them out. `body` None is a GET."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Answer:
    """P(yes) per candidate, in the order they were asked about."""

    p_yes: list[float]


@dataclass(frozen=True)
class Finding:
    """What one check request says of a key: a state, None to go on to the next request; and why."""

    state: str | None
    detail: str = ""


@dataclass(frozen=True)
class Model:
    """A model that a provider offers; prices in USD for a million tokens, None when it does not say."""

    id: str
    name: str
    price_input: float | None = None
    price_output: float | None = None


class Provider(Protocol):
    """One provider's formats. Methods that read raise `ways.agent.answer.AnswerError`."""

    name: str

    def judge_request(
        self, profile: Profile, key: str, turns: Sequence[Turn], candidates: Sequence[Candidate]
    ) -> HttpRequest:
        """The one call of a judgement."""

    def read_answer(self, document: Mapping[str, Any], count: int) -> Answer:
        """The judgements in a 200 response."""

    def read_usage(self, document: Mapping[str, Any]) -> Usage:
        """The usage in a 200 response, whatever else it holds. Never raises."""

    def error_in_answer(self, document: Mapping[str, Any]) -> int | None:
        """The status of an error that came inside a 200 response, None without one."""

    def check_requests(self, profile: Profile, key: str) -> Sequence[HttpRequest]:
        """The free requests that check a key against the profile's model, in order."""

    def read_check(self, index: int, status: int, body: bytes) -> Finding:
        """What the response to check request `index` says."""

    def models_request(self, profile: Profile, key: str) -> HttpRequest:
        """The list of models."""

    def read_models(self, document: Mapping[str, Any]) -> Sequence[Model]:
        """The models in a 200 response."""


def common_finding(status: int, body: bytes) -> Finding | None:
    """What a status says of a key at either provider; None for 200 and for what the caller knows better."""
    if status in {401, 403}:
        return Finding(INVALID, f"HTTP {status}")
    if status == 402 or (status == 400 and says_no_credit(body)):
        return Finding(NO_CREDIT, f"HTTP {status}")
    if status == 429:
        return Finding(RATE_LIMITED, "HTTP 429")
    if status == 404:
        return Finding(MODEL_UNAVAILABLE, "HTTP 404")
    if status != 200:
        return Finding(UNREACHABLE, f"HTTP {status}")
    return None


def says_no_credit(body: bytes) -> bool:
    """True for the 400 with which Anthropic refuses an account without credit."""
    return b"credit balance is too low" in body
