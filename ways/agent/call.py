"""One provider call: made, read and accounted for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from ways.agent import answer, cost
from ways.agent.answer import AnswerError, Usage
from ways.agent.keys import Key
from ways.agent.providers import provider as provider_named
from ways.agent.providers.base import says_no_credit
from ways.agent.request import JudgeRequest
from ways.agent.transport import DeadlinePassed, Response, TooLarge, Transport, TransportError
from ways.gate import fallback
from ways.gate.fallback import Fallback
from ways.gate.settings import Profile


@dataclass(frozen=True)
class Called:
    """A call that was made: P(yes) in the candidates' order, or the reason why there is none.

    `status` is the provider's, None when no response came; `no_credit`: it refused for want of credit.
    """

    p_yes: list[float] | None
    reason: str = ""
    usage: Usage = field(default_factory=Usage)
    status: int | None = None
    no_credit: bool = False
    milliseconds: float = 0.0


async def call(
    transport: Transport, profile: Profile, key: Key, request: JudgeRequest, deadline: float
) -> Called:
    """Ask the provider. Raises Fallback when nothing was sent: then there was no call."""
    loop = asyncio.get_running_loop()
    provider = provider_named(profile.provider)
    turns = request.turns[-profile.turns :]
    outgoing = provider.judge_request(profile, key.value, turns, request.candidates)
    started = loop.time()
    try:
        response = await transport.send(outgoing, deadline)
        called = read(profile, response, len(request.candidates))
    except TransportError as error:
        word, detail = _transport_reason(error)
        if not error.sent:
            raise Fallback(word, detail) from error
        called = Called(None, fallback.reason(word, detail))
    return replace(called, milliseconds=(loop.time() - started) * 1000)


def _transport_reason(error: TransportError) -> tuple[str, str]:
    if isinstance(error, DeadlinePassed):
        return fallback.DEADLINE, ""
    if isinstance(error, TooLarge):
        return fallback.ANSWER, error.detail
    return fallback.TRANSPORT, error.detail


def read(profile: Profile, response: Response, count: int) -> Called:
    """What a response says: P(yes) or a reason, and the usage, billed even when the answer is useless."""
    if response.status != 200:
        no_credit = response.status == 402 or (response.status == 400 and says_no_credit(response.body))
        return Called(
            None, fallback.provider_status(response.status), status=response.status, no_credit=no_credit
        )
    provider = provider_named(profile.provider)
    usage = Usage()
    try:
        document = answer.document(response.body)
        usage = provider.read_usage(document)
        status = provider.error_in_answer(document)
        if status is not None:
            return Called(None, fallback.provider_status(status), usage, status, status == 402)
        return Called(provider.read_answer(document, count).p_yes, "", usage, 200)
    except AnswerError as error:
        return Called(None, fallback.reason(fallback.ANSWER, str(error)), usage, 200)


def event_fields(profile: Profile, called: Called, count: int) -> dict[str, str]:
    """The fields of the `judge_call` event; what is not known is left out, the cost never a zero."""
    usage = called.usage
    price = cost.cost_of(called.status, usage, profile)
    fields: dict[str, object] = {
        "outcome": "failed" if called.p_yes is None else "ok",
        "reason": called.reason or None,
        "engine": profile.name,
        "provider": profile.provider,
        "candidates": count,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost_usd": None if price.usd is None else cost.usd_text(price.usd),
        "cost_source": price.source,
    }
    return {name: str(value) for name, value in fields.items() if value is not None}
