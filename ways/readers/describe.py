"""One event as a person reads it: a mark, what happened, and each number against its gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ways.readers.numbers import real

FIRED, AGAIN, PULLED, CHECK, BLOCKED, WOULD_BLOCK, PASSED, HELD, NEAR, START, CALL, TROUBLE, OTHER = (
    "fired",
    "again",
    "pulled",
    "check",
    "blocked",
    "would block",
    "passed",
    "held",
    "near",
    "start",
    "call",
    "trouble",
    "other",
)
MARKS = {
    FIRED: "●",
    AGAIN: "↻",
    PULLED: "◆",
    CHECK: "✓",
    BLOCKED: "⊘",
    WOULD_BLOCK: "◌",
    PASSED: "○",
    HELD: "·",
    NEAR: "~",
    START: "▸",
    CALL: "$",
    TROUBLE: "!",
    OTHER: "?",
}
_KINDS = {
    "way_fired": FIRED,
    "way_redisclosed": AGAIN,
    "way_pulled": PULLED,
    "check_fired": CHECK,
    "way_suppressed": HELD,
    "way_nearmiss": NEAR,
    "way_keyword_gated": NEAR,
    "session_start": START,
    "judge_call": CALL,
    "gate_fallback": TROUBLE,
    "gate_capped": TROUBLE,
    "injection_suppressed": HELD,
}
_VERDICTS = {"block": BLOCKED, "would_block": WOULD_BLOCK, "pass": PASSED}


@dataclass(frozen=True)
class Line:
    """`kind` is one of the words above and decides the mark; `detail` is one line without a final stop."""

    kind: str
    way: str
    trigger: str
    detail: str

    @property
    def mark(self) -> str:
        """One character."""
        return MARKS[self.kind]


def kind_of(event: Mapping[str, str]) -> str:
    """Which kind of line an event is; `other` for an event that this version does not know."""
    if event["event"] == "way_judged":
        return _VERDICTS.get(event.get("verdict", ""), OTHER)
    return _KINDS.get(event["event"], OTHER)


def describe(event: Mapping[str, str]) -> Line:
    """The event in words."""
    kind = kind_of(event)
    return Line(kind, event.get("way", ""), event.get("trigger", ""), _detail(event, kind))


def gate(name: str, value: float | None, threshold: float | None) -> str:
    """`p(en) 0.31 ≥ 0.15`, or what is known of it; "" when there is no value."""
    if value is None:
        return ""
    if threshold is None:
        return f"{name} {value:.2f}"
    # Three digits where two would make unequal numbers look equal.
    digits = 2 if round(value, 2) != round(threshold, 2) or value == threshold else 3
    sign = "≥" if value >= threshold else "<"
    return f"{name} {value:.{digits}f} {sign} {threshold:.2f}"


def _detail(event: Mapping[str, str], kind: str) -> str:
    if kind in {FIRED, AGAIN}:
        return _fired(event)
    if kind in {BLOCKED, WOULD_BLOCK, PASSED}:
        return _judged(event)
    if event["event"] == "way_suppressed":
        reasons = {"refire": "inside its refire window", "context_cap": "did not fit into the answer"}
        what = "check " if event.get("kind") == "check" else ""
        return what + reasons.get(event.get("reason", ""), event.get("reason", ""))
    if event["event"] == "way_nearmiss":
        return f"just below: {_probabilities(event, 'tau_s')}"
    if event["event"] == "way_keyword_gated":
        return f"matched {_quoted(event)}, below the keyword floor: {_probabilities(event, 'floor')}"
    if kind == CHECK:
        score, distance = event.get("effective_score", "?"), event.get("distance", "?")
        since = f"{distance} epochs after its way" if "way_epoch" in event else "its way was not shown before"
        return f"check shown, score {score}, {since}"
    if kind == PULLED:
        return "looked up by the agent"
    if kind == START:
        return f"session state cleared ({event.get('source') or 'unknown source'})"
    if kind == CALL:
        return _call(event)
    if event["event"] == "gate_fallback":
        return f"no verdict: {event.get('reason') or 'no reason given'}"
    if event["event"] == "gate_capped":
        return f"{event.get('unjudged', '?')} more ways passed unjudged: {event.get('ways', '')}"
    if event["event"] == "injection_suppressed":
        who = event.get("agent") or "a subagent"
        return f"nothing shown to {who}: switched off by {event.get('switch', '?')}"
    return event["event"]


def _fired(event: Mapping[str, str]) -> str:
    parts = []
    if "matched_span" in event:
        parts.append(f"matched {_quoted(event)}")
    if event.get("fire_score"):
        parts.append(f"score {event['fire_score']}")
    if event.get("surface"):
        parts.append(f"“{event['surface']}”")
    if event.get("parent"):
        since = event.get("epoch_distance")
        parts.append(f"below {event['parent']}" + (f" ({since} epochs ago)" if since else ""))
    if event.get("team"):
        parts.append(f"team {event['team']}")
    return ", ".join(parts)


def _judged(event: Mapping[str, str]) -> str:
    if event.get("reason") == "ancestor":
        return f"held with its ancestor {event.get('ancestor', '?')}"
    return gate("p(yes)", real(event, "p_yes"), real(event, "threshold")) or "judged"


def _probabilities(event: Mapping[str, str], threshold: str) -> str:
    needed = real(event, threshold)
    found = [gate(name, real(event, f"prob_{name[2:-1]}"), needed) for name in ("p(en)", "p(multi)")]
    return ", ".join(text for text in found if text) or "no probability on record"


def _quoted(event: Mapping[str, str]) -> str:
    return f"“{event.get('matched_span', '')}”"


def _call(event: Mapping[str, str]) -> str:
    if event.get("outcome", "ok") != "ok":
        return f"judge call {event['outcome']}: {event.get('reason', '')}".rstrip(": ")
    tokens = f"{event.get('input_tokens', '?')} tokens in, {event.get('output_tokens', '?')} out"
    cost = real(event, "cost_usd")
    return f"judge call, {tokens}" + (f", ${cost:.5f}" if cost is not None else "")
