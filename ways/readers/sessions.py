"""The sessions that the log or the sessions root knows, one summary each."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ways.core.clock import utc_iso
from ways.core.ids import is_session_id
from ways.readers.numbers import real

_COUNTERS = {
    "way_fired": "fired",
    "way_redisclosed": "again",
    "check_fired": "checks",
    "way_suppressed": "held",
    "way_nearmiss": "near",
    "way_keyword_gated": "gated",
    "judge_call": "calls",
}
_VERDICTS = {"block": "blocked", "would_block": "would_block", "pass": "passed"}


@dataclass
class Summary:
    """One session. `first` and `last` are the `ts` of its events ("" without events); `touched` is the
    time of its session directory ("" without one). Costs are US dollars, as far as they are known."""

    session: str
    first: str = ""
    last: str = ""
    touched: str = ""
    project: str = ""
    model: str = ""
    config_dir: str = ""
    events: int = 0
    fired: int = 0
    again: int = 0
    checks: int = 0
    held: int = 0
    near: int = 0
    gated: int = 0
    passed: int = 0
    blocked: int = 0
    would_block: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    agents: set[str] = field(default_factory=set)

    @property
    def newest(self) -> str:
        """The last sign of life: an event or a change of the directory."""
        return max(self.last, self.touched)

    @property
    def shown(self) -> int:
        """Ways that were shown, first times and repeats."""
        return self.fired + self.again

    def as_data(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {**asdict(self), "agents": sorted(self.agents), "cost_usd": round(self.cost_usd, 6)}


def summaries(events: Iterable[dict[str, str]], state: Iterable[tuple[str, float]] = ()) -> list[Summary]:
    """One summary a session, the one with the newest sign of life first.

    `state` are (session id, seconds of the last change) of the session directories (`directories`).
    """
    found: dict[str, Summary] = {}
    for event in events:
        name = event.get("session")
        if not name:
            continue
        summary = found.get(name)
        if summary is None:
            summary = found[name] = Summary(name)
        _add(summary, event)
    for name, touched in state:
        found.setdefault(name, Summary(name)).touched = utc_iso(touched)
    return sorted(found.values(), key=lambda summary: (summary.newest, summary.session), reverse=True)


def _add(summary: Summary, event: dict[str, str]) -> None:
    kind = event["event"]
    summary.events += 1
    stamp = event.get("ts", "")
    if stamp and (not summary.first or stamp < summary.first):
        summary.first = stamp
    summary.last = max(summary.last, stamp)
    summary.project = event.get("project") or summary.project
    summary.config_dir = event.get("config_dir") or summary.config_dir
    agent = event.get("agent_id")
    if agent:
        summary.agents.add(agent)
    # A subagent's model is not the session's, unless nothing else is known.
    if not summary.model or agent is None or agent == "main":
        summary.model = event.get("model") or summary.model
    counter = _COUNTERS.get(kind)
    if kind == "way_judged":
        counter = _VERDICTS.get(event.get("verdict", ""))
    elif kind == "judge_call":
        summary.cost_usd += max(0.0, real(event, "cost_usd") or 0.0)
    if counter is not None:
        setattr(summary, counter, getattr(summary, counter) + 1)


def directories(sessions_root: str) -> list[tuple[str, float]]:
    """(session id, seconds of its last change) of each session directory, newest first."""
    try:
        with os.scandir(sessions_root) as entries:
            rows = []
            for entry in entries:
                try:
                    if is_session_id(entry.name) and entry.is_dir(follow_symlinks=False):
                        rows.append((entry.name, entry.stat(follow_symlinks=False).st_mtime))
                except OSError:
                    continue  # removed at this moment
    except OSError:
        return []
    return sorted(rows, key=lambda row: (-row[1], row[0]))
