"""One judgement: what must hold before a call, the call, and the reply (spec: judge and agent)."""

from __future__ import annotations

import asyncio
from typing import Any

from ways.agent import keycheck, keys
from ways.agent.call import Called, call, event_fields
from ways.agent.keys import Key, KeyProblem, NoKey
from ways.agent.providers.base import NO_CREDIT
from ways.agent.request import JudgeRequest
from ways.agent.slots import Busy
from ways.agent.state import AgentState
from ways.core import clock
from ways.gate import fallback
from ways.gate.fallback import Fallback
from ways.gate.settings import ConfigError, GateSettings, Profile
from ways.gate.types import OFF

# A call is begun only while at least this share of the request's time is left for it.
LEAST_SHARE = 0.2


async def judge(state: AgentState, request: JudgeRequest) -> dict[str, Any]:
    """The reply to one request, within the profile's deadline. Never raises Fallback: it is the reply."""
    loop = asyncio.get_running_loop()
    state.stats.requests += 1
    started = loop.time()
    called: Called | None = None
    try:
        settings, profile = _settings(state, request)
        deadline = started + profile.timeout_ms / 1000
        key = _key(state, profile)
        await _require_checked(state, profile, key, deadline)
        await _take_slot(state, settings, deadline - profile.timeout_ms / 1000 * LEAST_SHARE)
        try:
            called = await call(state.transport, profile, key, request, deadline)
        finally:
            state.slots.release(settings.concurrency)
        _learn(state, profile, key, called)
        reply = _reply(request, profile, called)
    except Fallback as failure:
        reply = {"ok": False, "reason": failure.reason}
    if reply["ok"]:
        state.stats.verdicts += 1
    else:
        state.stats.count_fallback(str(reply["reason"]))
    if called is not None:
        state.stats.calls += 1
        state.stats.latencies.append(called.milliseconds)
    return reply


def _settings(state: AgentState, request: JudgeRequest) -> tuple[GateSettings, Profile]:
    if state.stopping:
        raise Fallback(fallback.AGENT_STOPPING)
    if request.config != state.roots.config:
        # One folder's keys never travel by another folder's settings.
        raise Fallback(fallback.CONFIG, "the running agent serves another config folder")
    try:
        settings = state.settings.current()
    except ConfigError as error:
        raise Fallback(fallback.CONFIG, str(error)) from error
    if settings.mode == OFF:
        raise Fallback(fallback.OFF)
    profile = settings.profiles.get(request.engine)
    if profile is None:
        raise Fallback(fallback.CONFIG, f"no profile has the name {request.engine!r}")
    return settings, profile


def _key(state: AgentState, profile: Profile) -> Key:
    try:
        return keys.read(state.roots, profile.provider)
    except NoKey as error:
        raise Fallback(fallback.NO_KEY) from error
    except KeyProblem as error:
        raise Fallback(fallback.KEY, str(error)) from error


async def _require_checked(state: AgentState, profile: Profile, key: Key, deadline: float) -> None:
    """Raise Fallback(key_unverified) unless a check has found the key valid for this profile.

    A check that is due runs now, once for all requests that wait for it; it goes on when the requests
    have given up.
    """
    record = keycheck.load(state.roots, profile.provider)
    if record is None or not record.concerns(key.identity, profile) or record.due(clock.now()):
        try:
            async with asyncio.timeout_at(deadline):
                record = await asyncio.shield(_running_check(state, profile, key))
        except TimeoutError as error:
            raise Fallback(fallback.KEY_UNVERIFIED, "the check is still running") from error
    if not record.usable():
        raise Fallback(fallback.KEY_UNVERIFIED, record.state)


def _running_check(state: AgentState, profile: Profile, key: Key) -> asyncio.Task[keycheck.Record]:
    name = repr((profile.provider, profile.model, profile.base_url, key.identity))
    running = state.checks.get(name)
    if running is None:
        running = asyncio.create_task(_check_and_store(state, profile, key))
        state.checks[name] = running
        running.add_done_callback(lambda _: state.checks.pop(name, None))
    return running


async def _check_and_store(state: AgentState, profile: Profile, key: Key) -> keycheck.Record:
    record = await keycheck.check(state.transport, profile, key)
    keycheck.store(state.roots, profile.provider, record)
    return record


async def _take_slot(state: AgentState, settings: GateSettings, deadline: float) -> None:
    """A slot before `deadline`, after which a call would be paid for and come too late."""
    try:
        async with asyncio.timeout_at(deadline):
            await state.slots.acquire(settings.concurrency)
    except Busy as error:
        raise Fallback(fallback.BUSY, f"{state.slots.queue} requests are waiting") from error
    except TimeoutError as error:
        raise Fallback(fallback.DEADLINE, "before call") from error
    if asyncio.get_running_loop().time() >= deadline:
        state.slots.release(settings.concurrency)
        raise Fallback(fallback.DEADLINE, "before call")


def _learn(state: AgentState, profile: Profile, key: Key, called: Called) -> None:
    """A refusal that is about the key ends its verified state: after a 401 it is checked again before
    its next use, an account without credit is left alone for an hour."""
    if called.status == 401:
        keycheck.forget(state.roots, profile.provider)
    elif called.no_credit:
        record = keycheck.record_now(NO_CREDIT, f"HTTP {called.status}", profile, key)
        keycheck.store(state.roots, profile.provider, record)


def _reply(request: JudgeRequest, profile: Profile, called: Called) -> dict[str, Any]:
    reply: dict[str, Any] = {
        "ok": called.p_yes is not None,
        "engine": profile.name,
        "judge_ms": round(called.milliseconds),
        "call": event_fields(profile, called, len(request.candidates)),
    }
    if called.p_yes is None:
        reply["reason"] = called.reason
    else:
        reply["verdicts"] = [
            {"id": candidate.id, "p_yes": p_yes}
            for candidate, p_yes in zip(request.candidates, called.p_yes, strict=True)
        ]
    return reply
