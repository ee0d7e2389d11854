"""What fired, how and for whom, counted over the log (`ways tune stats`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ways.readers.numbers import Moments

# Fires of one hook call lie closer together than this, in seconds.
GAP = 0.5
NONE = "(none)"


@dataclass
class WayCount:
    """One way. `sessions` are those in which it was shown."""

    way: str
    fired: int = 0
    again: int = 0
    checks: int = 0
    held: int = 0
    near: int = 0
    gated: int = 0
    blocked: int = 0
    would_block: int = 0
    sessions: set[str] = field(default_factory=set)

    @property
    def shown(self) -> int:
        """First showings and repeats."""
        return self.fired + self.again


@dataclass
class Stats:
    """Counts over the events that were asked for. `per_call` maps a number of ways to how many hook calls
    showed just as many; `first` and `last` are the `ts` of the events."""

    events: int = 0
    first: str = ""
    last: str = ""
    sessions: set[str] = field(default_factory=set)
    ways: dict[str, WayCount] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    triggers: Counter[str] = field(default_factory=Counter)
    scopes: Counter[str] = field(default_factory=Counter)
    projects: Counter[str] = field(default_factory=Counter)
    models: Counter[str] = field(default_factory=Counter)
    teams: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    per_call: Counter[int] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)

    @property
    def shown(self) -> int:
        """Ways shown, first times and repeats."""
        return self.kinds["way_fired"] + self.kinds["way_redisclosed"]

    def top(self, count: int) -> list[WayCount]:
        """The ways that were shown most, then those that only nearly were."""
        order = sorted(self.ways.values(), key=lambda way: (-way.shown, -way.near - way.gated, way.way))
        return order[:count]

    def as_data(self) -> dict[str, Any]:
        """Plain data for `--json`: every way, counts in descending order."""
        tables = ("kinds", "triggers", "scopes", "projects", "models", "teams", "verdicts", "checks")
        return {
            "events": self.events,
            "first": self.first,
            "last": self.last,
            "sessions": len(self.sessions),
            "shown": self.shown,
            "ways": [{**vars(way), "sessions": len(way.sessions)} for way in self.top(len(self.ways))],
            **{name: dict(getattr(self, name).most_common()) for name in tables},
            "ways_per_hook_call": {str(count): calls for count, calls in sorted(self.per_call.items())},
        }


_JUDGED = {"block": "blocked", "would_block": "would_block"}
_SHOWN = frozenset({"way_fired", "way_redisclosed"})
_COLUMN = {
    "way_fired": "fired",
    "way_redisclosed": "again",
    "check_fired": "checks",
    "way_suppressed": "held",
    "way_nearmiss": "near",
    "way_keyword_gated": "gated",
}


def collect(events: Iterable[Mapping[str, str]], *, since: str = "", project: str = "") -> Stats:
    """Count the events from `since` on (a `ts`; "" for all), of one project ("" for all)."""
    stats = Stats()
    calls = _Calls()
    for event in events:
        stamp = event.get("ts", "")
        if stamp < since or (project and event.get("project") != project):
            continue
        stats.events += 1
        if stamp:
            stats.first = stamp if not stats.first or stamp < stats.first else stats.first
            stats.last = max(stats.last, stamp)
        _count(stats, event)
        if event["event"] in _SHOWN:
            calls.add(event)
    stats.per_call = calls.sizes()
    return stats


def _count(stats: Stats, event: Mapping[str, str]) -> None:
    kind = event["event"]
    stats.kinds[kind] += 1
    session = event.get("session", "")
    if session:
        stats.sessions.add(session)
    way_id = event.get("way", "")
    column = _COLUMN.get(kind)
    if kind == "way_judged":
        verdict = event.get("verdict", "") or NONE
        stats.verdicts[verdict] += 1
        column = _JUDGED.get(verdict)
    if way_id and column:
        way = stats.ways.get(way_id)
        if way is None:
            way = stats.ways[way_id] = WayCount(way_id)
        setattr(way, column, getattr(way, column) + 1)
        if kind in _SHOWN:
            way.sessions.add(session)
    if kind == "check_fired":
        stats.checks[event.get("check", "") or way_id] += 1
    elif kind in _SHOWN:
        stats.triggers[event.get("trigger", "") or "unknown"] += 1
        stats.scopes[event.get("scope", "") or NONE] += 1
        stats.projects[event.get("project", "") or NONE] += 1
        stats.models[event.get("model", "") or NONE] += 1
        if event.get("team"):
            stats.teams[event["team"]] += 1


class _Calls:
    """How many ways each hook call showed; calls of one agent are told apart by hook and time."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str, str], tuple[float, int]] = {}
        self._sizes: Counter[int] = Counter()
        self._clock = Moments()

    def add(self, event: Mapping[str, str]) -> None:
        key = (event.get("session", ""), event.get("agent_id", ""), event.get("hook", ""))
        moment = self._clock.seconds(event.get("ts", ""))
        last, count = self._open.get(key, (0.0, 0))
        if count and abs(moment - last) > GAP:
            self._sizes[count] += 1
            count = 0
        self._open[key] = (moment, count + 1)

    def sizes(self) -> Counter[int]:
        for _moment, count in self._open.values():
            self._sizes[count] += 1
        self._open.clear()
        return self._sizes
