"""What the judge has cost, from the event log (spec: judge and agent, Cost)."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from ways.core import clock
from ways.core.errors import USAGE, UserError
from ways.telemetry import reading

DAY, MONTH, SESSION, PROJECT = "day", "month", "session", "project"
GROUPS = (DAY, MONTH, SESSION, PROJECT)
_UNITS = {"h": 3600, "d": 86400, "w": 7 * 86400}


@dataclass(frozen=True)
class Row:
    """One group of calls. `cost_usd` sums the known costs; `unknown_cost` counts the other calls."""

    group: str
    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unknown_cost: int = 0


@dataclass(frozen=True)
class Report:
    """The rows, in the order of their names (time for days and months), and their sum."""

    by: str
    rows: tuple[Row, ...]
    total: Row

    def as_data(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {"by": self.by, "rows": [asdict(row) for row in self.rows], "total": asdict(self.total)}


def report(events_path: str, by: str, since: str = "", project: str = "") -> Report:
    """The calls since a moment (UTC; "" for all), of one project ("" for all), grouped. Raises UserError."""
    first = since_text(since)
    wanted = {project, os.path.abspath(project)} if project else set()
    rows: dict[str, Row] = {}
    total = Row("total")
    for event in reading.read(events_path):
        if event["event"] != "judge_call" or event.get("ts", "") < first:
            continue
        if wanted and event.get("project", "") not in wanted:
            continue
        name = _group(event, by)
        rows[name] = _with(rows.get(name, Row(name)), event)
        total = _with(total, event)
    return Report(by, tuple(rows[name] for name in sorted(rows)), total)


def since_text(since: str) -> str:
    """The first moment that counts, in the form of `ts`: `7d`, `12h`, `2w`, a date or a date and time
    (UTC). Raises UserError."""
    if not since:
        return ""
    span = re.fullmatch(r"(\d{1,6})([hdw])", since.strip())
    if span:
        moment = datetime.fromtimestamp(clock.now(), UTC) - timedelta(seconds=int(span[1]) * _UNITS[span[2]])
        return moment.strftime("%Y-%m-%dT%H:%M:%S")
    try:
        moment = datetime.fromisoformat(since.strip())
    except ValueError as error:
        message = f"{since!r} is not a time"
        raise UserError(message, "ways agent cost --since 7d (or 2026-11-01)", USAGE) from error
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _group(event: Mapping[str, str], by: str) -> str:
    if by in {DAY, MONTH}:
        return event.get("ts", "")[: 10 if by == DAY else 7]
    return event.get(by, "") or f"(no {by})"


def _with(row: Row, event: Mapping[str, str]) -> Row:
    cost = _money(event.get("cost_usd"))
    return Row(
        row.group,
        row.calls + 1,
        row.failed + (event.get("outcome") != "ok"),
        row.input_tokens + _tokens(event, "input_tokens", "cache_read_tokens", "cache_write_tokens"),
        row.output_tokens + _tokens(event, "output_tokens"),
        row.cost_usd + (cost or 0.0),
        row.unknown_cost + (cost is None),
    )


def _tokens(event: Mapping[str, str], *names: str) -> int:
    values = (event.get(name, "") for name in names)
    return sum(int(value) for value in values if value.isascii() and value.isdigit() and len(value) < 12)


def _money(value: str | None) -> float | None:
    try:
        amount = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return amount if math.isfinite(amount) and amount >= 0 else None


def recent_gate_events(events_path: str, seconds: float) -> dict[str, Any]:
    """Verdicts and fallbacks of the last `seconds`, counted: what hooks met, agent or no agent."""
    moment = datetime.fromtimestamp(clock.now() - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return _count(event for event in reading.read(events_path) if event.get("ts", "") >= moment)


def _count(events: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    verdicts: dict[str, int] = {}
    fallbacks: dict[str, int] = {}
    for event in events:
        if event["event"] == "way_judged":
            verdict = event.get("verdict", "")
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
        elif event["event"] == "gate_fallback":
            word = event.get("reason", "").split(":", 1)[0]
            fallbacks[word] = fallbacks.get(word, 0) + 1
    return {"verdicts": verdicts, "fallbacks": fallbacks}
