"""The gate as the prompt and queued lanes call it (spec: judge and agent, Gate)."""

from __future__ import annotations

import os
import time

from ways.core import debuglog
from ways.gate import fallback, hook_settings, paths
from ways.gate.fallback import Fallback
from ways.gate.plan import Plan, Ruling, plan, rule, verdict_word
from ways.gate.types import NOTHING, OFF, SHADOW, GateHit, GateOutcome, GateRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ways.gate.hook_settings import HookSettings

# What travels to the agent, which cuts a turn to its last 1,200 characters once whitespace is
# collapsed. With these a frame stays below its limit whatever a way or a prompt holds.
MAX_TURN = 16_000
MAX_DESCRIPTION = 1_500


def judge(request: GateRequest) -> GateOutcome:
    """Which hits must not be shown, and the events that say why. Never raises.

    Without a key file nothing is sent, read or logged: one look into the keys folder is all.
    """
    started = time.monotonic()
    try:
        return _judge(request, started)
    except Exception as error:  # noqa: BLE001 - the gate must never cost the user a hook
        debuglog.note(request.roots.state, "gate", f"{type(error).__name__}: {error}")
        return NOTHING


def _judge(request: GateRequest, started: float) -> GateOutcome:
    present = _key_names(request)
    if not present:
        return NOTHING
    settings = hook_settings.load(request.roots)
    if settings.error:
        planned = plan(request.hits, len(request.hits))
        reason = fallback.reason(fallback.CONFIG, settings.error)
        return _fallback(request, planned, reason, started) if planned.judged else NOTHING
    if settings.mode == OFF or settings.provider not in present:
        return NOTHING
    planned = plan(request.hits, settings.max_candidates)
    if not planned.judged:
        return NOTHING
    return _ask(request, settings, planned, started)


def _key_names(request: GateRequest) -> list[str]:
    try:
        return os.listdir(paths.keys_folder(request.roots))
    except OSError:
        return []


def _ask(request: GateRequest, settings: HookSettings, planned: Plan, started: float) -> GateOutcome:
    from ways.gate import link

    reply: dict[str, Any] = {}
    try:
        timeout = settings.timeout_ms / 1000 + link.GRACE_SECONDS
        reply = link.ask(request.roots, _message(request, settings, planned), timeout)
        p_yes = _verdicts(reply, planned)
    except Fallback as failure:
        calls = _call_event(request, reply)
        return _fallback(request, planned, failure.reason, started, calls)
    rulings = rule(planned, p_yes, settings.threshold)
    stopped = frozenset(ruling.hit.id for ruling in rulings if not ruling.passed)
    shadow = settings.mode == SHADOW
    shared = {
        "mode": settings.mode,
        "engine": settings.engine,
        "threshold": f"{settings.threshold:g}",
        "gate_ms": _milliseconds(started),
        "candidates": str(len(planned.judged)),
    }
    judge_ms = _text(reply.get("judge_ms"))
    events = [
        *(_judged_event(request, ruling, shared, judge_ms) for ruling in rulings),
        *_call_event(request, reply),
        *_capped_event(request, planned),
    ]
    return GateOutcome(
        blocked=frozenset() if shadow else stopped,
        would_block=stopped if shadow else frozenset(),
        events=tuple(events),
    )


def _message(request: GateRequest, settings: HookSettings, planned: Plan) -> dict[str, Any]:
    """What the agent is told. `log` stays on this machine: it is for the `judge_call` event that the
    agent writes itself when this hook is gone before the provider has answered."""
    turns = [{"role": "user", "text": request.prompt.rstrip()[-MAX_TURN:]}]
    if settings.turns > 1 and request.last_reply:
        turns.insert(0, {"role": "assistant", "text": request.last_reply.rstrip()[-MAX_TURN:]})
    return {
        "op": "judge",
        "config": request.roots.config,
        "engine": settings.engine,
        "timeout_ms": settings.timeout_ms,
        "turns": turns,
        "candidates": [_candidate(hit) for hit in planned.judged],
        "log": _common(request),
    }


def _candidate(hit: GateHit) -> dict[str, str]:
    return {
        "id": hit.id,
        "path": " › ".join(hit.id.split("/")),
        "description": hit.description[:MAX_DESCRIPTION],
    }


def _verdicts(reply: dict[str, Any], planned: Plan) -> dict[str, float]:
    """P(yes) by id, for exactly the candidates that were asked about. Raises Fallback."""
    if reply.get("ok") is not True:
        reason = reply.get("reason")
        if not isinstance(reason, str) or not reason:
            raise Fallback(fallback.UNEXPECTED_REPLY, "neither a verdict nor a reason")
        raise Fallback(*reason.split(": ", 1))
    found: dict[str, float] = {}
    verdicts = reply.get("verdicts")
    for verdict in verdicts if isinstance(verdicts, list) else []:
        p_yes = verdict.get("p_yes") if isinstance(verdict, dict) else None
        if isinstance(p_yes, bool) or not isinstance(p_yes, (int, float)) or not 0 <= p_yes <= 1:
            raise Fallback(fallback.UNEXPECTED_REPLY, "a verdict without a probability")
        found[str(verdict.get("id"))] = float(p_yes)
    if found.keys() != {hit.id for hit in planned.judged}:
        raise Fallback(fallback.UNEXPECTED_REPLY, "verdicts on other candidates")
    return found


def _fallback(
    request: GateRequest,
    planned: Plan,
    reason: str,
    started: float,
    calls: list[dict[str, str]] | None = None,
) -> GateOutcome:
    event = _event(
        request,
        "gate_fallback",
        reason=reason,
        gate_ms=_milliseconds(started),
        candidates=str(len(planned.judged)),
    )
    return GateOutcome(events=(*(calls or ()), event))


def _judged_event(
    request: GateRequest, ruling: Ruling, shared: Mapping[str, str], judge_ms: str
) -> dict[str, str]:
    fields = {
        "way": ruling.hit.id,
        "domain": ruling.hit.id.split("/", 1)[0],
        "verdict": verdict_word(ruling, shared["mode"]),
        **shared,
    }
    if ruling.hit.trigger:
        fields["trigger"] = ruling.hit.trigger
    if ruling.p_yes is not None:
        fields["p_yes"] = f"{ruling.p_yes:.4g}"
        fields["judge_ms"] = judge_ms
    else:
        fields["reason"] = "ancestor"
        fields["ancestor"] = ruling.ancestor
    return _event(request, "way_judged", **fields)


def _call_event(request: GateRequest, reply: dict[str, Any]) -> list[dict[str, str]]:
    call = reply.get("call")
    if not isinstance(call, dict):
        return []
    return [_event(request, "judge_call", **{str(name): _text(value) for name, value in call.items()})]


def _capped_event(request: GateRequest, planned: Plan) -> list[dict[str, str]]:
    if not planned.unjudged:
        return []
    return [
        _event(
            request,
            "gate_capped",
            judged=str(len(planned.judged)),
            unjudged=str(len(planned.unjudged)),
            ways=",".join(hit.id for hit in planned.unjudged),
        )
    ]


def _common(request: GateRequest) -> dict[str, str]:
    fields = {
        "session": request.session,
        "project": request.project,
        "agent_id": request.agent_id,
        "model": request.model,
        "scope": request.scope,
        "hook": request.hook,
        "config_dir": request.config_dir,
    }
    return {name: value for name, value in fields.items() if value}


def _event(request: GateRequest, name: str, **fields: str) -> dict[str, str]:
    from ways.telemetry import log

    return log.event(name, **{**_common(request), **fields})


def _milliseconds(started: float) -> str:
    return str(round((time.monotonic() - started) * 1000))


def _text(value: object) -> str:
    return value if isinstance(value, str) else f"{value}"
