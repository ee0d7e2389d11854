"""The agent's pure pieces: prompt, answers, cost, slots, percentiles, when a check is due."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.agent import answer, cost, keycheck, prompt, stats
from ways.agent.answer import AnswerError, Usage
from ways.agent.prompt import Candidate, Turn
from ways.agent.providers import provider
from ways.agent.providers.base import HttpRequest
from ways.agent.request import BadRequest, parse_request
from ways.agent.slots import QUEUE_PER_SLOT, Busy, Slots
from ways.core.record import replace
from ways.gate import settings

PROFILE = settings.parse({}).profile


# What is sent


@given(st.text(max_size=3000), st.text(max_size=800), st.text(max_size=50))
def test_no_text_can_leave_its_line_or_its_tag(spoken: str, description: str, path: str) -> None:
    rendered = prompt.render([Turn("user", spoken)], [Candidate("id", path, description)])
    rendered.encode("utf-8")
    lines = rendered.split("\n")
    assert len(lines) == 6
    assert lines[0] == "<conversation>"
    assert lines[1].startswith("<user>")
    assert lines[1].endswith("</user>")
    assert lines[2:4] == ["</conversation>", "<candidates>"]
    assert lines[5] == "</candidates>"
    assert rendered.count("<") == 6
    assert len(lines[1]) <= prompt.TURN_CHARACTERS + len("<user></user>")


@pytest.mark.parametrize("name", settings.PROVIDERS)
def test_a_profile_adds_to_a_request_and_never_replaces_it(name: str) -> None:
    profile = settings.parse({"engine": name}).profile
    more = replace(profile, extra_body={"thinking": {"type": "disabled"}}, temperature=None)
    request = provider(name).judge_request(more, "k" * 20, [Turn("user", "t")], [Candidate("i", "p", "d")])
    assert request.body is not None
    assert request.body["thinking"] == {"type": "disabled"}
    assert "temperature" not in request.body
    assert request.body["tool_choice"]
    usual = provider(name).judge_request(profile, "k" * 20, [], [Candidate("i", "p", "d")])
    assert usual.body is not None
    assert usual.body["temperature"] == 0


def test_a_request_does_not_print_its_key() -> None:
    request = HttpRequest("https://x/y", {"x-api-key": "secret-key-value"}, {"a": 1})
    assert "secret" not in repr(request)


# What comes back

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
KNOWN = st.sampled_from(
    [
        "content",
        "choices",
        "message",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "input",
        "judgements",
        "candidate",
        "relevant",
        "confidence",
        "usage",
        "error",
        "code",
        "stop_reason",
        "type",
        "data",
        "endpoints",
        "limit_remaining",
    ]
)
SHAPED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["record_judgements", "tool_use", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KNOWN, inner, max_size=6),
    max_leaves=25,
)


@pytest.mark.parametrize("name", settings.PROVIDERS)
@given(
    document=st.dictionaries(KNOWN, JSON | SHAPED, max_size=6),
    status=st.integers(100, 599),
    index=st.integers(0, 1),
)
def test_a_hostile_answer_is_none_and_nothing_worse(
    name: str, document: dict[str, Any], status: int, index: int
) -> None:
    reader = provider(name)
    reader.read_usage(document)
    reader.error_in_answer(document)
    reader.read_check(index, status, json.dumps(document).encode())
    reader.read_models(document)
    with pytest.raises(AnswerError):
        reader.read_answer(document, 2)


@given(st.binary(max_size=200))
def test_any_body_is_an_object_or_an_answer_error(body: bytes) -> None:
    try:
        assert isinstance(answer.document(body), dict)
    except AnswerError as error:
        assert str(error) in {"not JSON", "not a JSON object"}


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=8), st.randoms())
def test_judgements_are_read_in_the_candidates_order(given_: list[tuple[bool, float]], random: Any) -> None:
    judgements = [
        {"candidate": number, "relevant": relevant, "confidence": confidence}
        for number, (relevant, confidence) in enumerate(given_, 1)
    ]
    random.shuffle(judgements)
    found = answer.probabilities({"judgements": judgements}, len(given_))
    expected = [confidence if relevant else 1 - confidence for relevant, confidence in given_]
    assert found == pytest.approx(expected, abs=1e-9)
    assert all(0 <= p <= 1 for p in found)


# Requests to the agent


@given(st.dictionaries(st.sampled_from(["config", "engine", "turns", "candidates", "x"]), JSON, max_size=5))
def test_any_message_is_a_request_or_a_bad_one(message: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        parse_request(message)


# Cost


@pytest.mark.parametrize(
    "status, usage, prices, expected",
    [
        (200, Usage(1_000_000, 100_000), (1.0, 5.0), (1.5, "price")),
        (200, Usage(100, 10, 50, 50), (1.0, 5.0), (0.00025, "price")),
        (200, Usage(100, 10, cost_usd=0.5), (1.0, 5.0), (0.5, "provider")),
        (200, Usage(100, 10, cost_usd=0.0), (1.0, 5.0), (0.0, "provider")),
        (200, Usage(100, 10), (None, None), (None, "unknown")),
        (200, Usage(100, None), (1.0, 5.0), (None, "unknown")),
        (200, Usage(), (1.0, 5.0), (None, "unknown")),
        (400, Usage(), (1.0, 5.0), (0.0, "none")),
        (429, Usage(), (None, None), (0.0, "none")),
        (408, Usage(), (1.0, 5.0), (None, "unknown")),
        (500, Usage(), (1.0, 5.0), (None, "unknown")),
        (529, Usage(), (1.0, 5.0), (None, "unknown")),
        (None, Usage(), (1.0, 5.0), (None, "unknown")),
    ],
)
def test_cost(status: int | None, usage: Usage, prices: tuple[Any, Any], expected: tuple[Any, str]) -> None:
    profile = replace(PROFILE, price_input=prices[0], price_output=prices[1])
    found = cost.cost_of(status, usage, profile)
    assert (found.usd, found.source) == (pytest.approx(expected[0]), expected[1])


@pytest.mark.parametrize(
    "usd, text", [(0.0, "0"), (0.0007, "0.0007"), (1e-7, "0.0000001"), (12.5, "12.5"), (100.0, "100")]
)
def test_dollars_are_plain_decimals(usd: float, text: str) -> None:
    assert cost.usd_text(usd) == text


# When a key is checked again


@pytest.mark.parametrize(
    "state, after, due",
    [
        ("valid", 10**9, False),
        ("invalid", 10**9, False),
        ("model_unavailable", 10**9, False),
        ("unreachable", 299, False),
        ("unreachable", 301, True),
        ("rate_limited", 299, False),
        ("rate_limited", 301, True),
        ("no_credit", 3599, False),
        ("no_credit", 3601, True),
        ("unreachable", -60, True),
    ],
)
def test_when_a_check_is_due(state: str, after: float, due: bool) -> None:
    record = keycheck.Record(state, "", 1_000_000.0, (1,), "m", "u")
    assert record.due(1_000_000.0 + after) is due
    assert record.usable() is (state == "valid")


def test_a_record_concerns_one_key_one_model_and_one_endpoint() -> None:
    record = keycheck.Record("valid", "", 0.0, (1, 2), PROFILE.model, PROFILE.base_url)
    assert record.concerns((1, 2), PROFILE)
    assert not record.concerns((1, 3), PROFILE)
    assert not record.concerns(None, PROFILE)
    assert not record.concerns((1, 2), replace(PROFILE, model="other"))
    assert not record.concerns((1, 2), replace(PROFILE, base_url="https://elsewhere.example"))


# Slots


def run(coroutine: Any) -> Any:
    """One loop for one test; a hang fails."""
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def test_slots_are_capped_and_first_come_first_served() -> None:
    async def scenario() -> None:
        slots, order, most = Slots(), [], 0

        async def work(number: int) -> None:
            nonlocal most
            await slots.acquire(2)
            most = max(most, slots.in_flight)
            order.append(number)
            await asyncio.sleep(0.001)
            slots.release(2)

        await asyncio.gather(*(work(number) for number in range(20)))
        assert most == 2
        assert order == list(range(20))
        assert (slots.in_flight, slots.queue) == (0, 0)

    run(scenario())


def test_too_many_waiting_is_busy_at_once() -> None:
    async def scenario() -> None:
        slots = Slots()
        await slots.acquire(1)
        waiting = [asyncio.create_task(slots.acquire(1)) for _ in range(QUEUE_PER_SLOT)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await slots.acquire(1)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert slots.queue == 0
        slots.release(1)
        await slots.acquire(1)

    run(scenario())


def test_a_wait_that_is_given_up_loses_no_slot() -> None:
    async def scenario() -> None:
        slots = Slots()
        await slots.acquire(1)
        first, second = (asyncio.create_task(slots.acquire(1)) for _ in range(2))
        await asyncio.sleep(0)
        # Given up before, at the same moment as, and after the slot is handed over.
        first.cancel()
        slots.release(1)
        await asyncio.gather(first, return_exceptions=True)
        await second
        third = asyncio.create_task(slots.acquire(1))
        await asyncio.sleep(0)
        slots.release(1)
        third.cancel()
        await asyncio.gather(third, return_exceptions=True)
        assert slots.in_flight == 0
        await slots.acquire(1)
        assert slots.in_flight == 1

    run(scenario())


# Status


def test_percentiles() -> None:
    assert stats.percentiles([]) == {}
    assert stats.percentiles([5.0]) == {"p50": 5, "p90": 5, "p99": 5}
    assert stats.percentiles(range(1, 101)) == {"p50": 50, "p90": 90, "p99": 99}


def test_fallbacks_are_counted_by_their_word() -> None:
    counted = stats.Stats()
    for reason in ("answer: not JSON", "answer: no tool call", "off"):
        counted.count_fallback(reason)
    assert counted.as_data()["fallbacks"] == {"answer": 2, "off": 1}
