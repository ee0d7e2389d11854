"""Which ways fire where their subject is not at hand (`ways tune precision`; docs/decisions/precision.md).

A way's fire is apart when no other fire of its session is of the way's domain. A way whose fires are
mostly apart either has triggers that belong to another subject, or is of use everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

KINDS = ("way_fired", "way_redisclosed")
MIN_SESSIONS = 5
FLAG_THRESHOLD = 0.5
# From this share of the sessions on, one other domain is what the way fires for.
DOMINANT = 0.5
MIS_TARGETED, CROSS_CUTTING = "mis-targeted", "cross-cutting"


@dataclass(frozen=True)
class Row:
    """One way. `share` is `apart` / `fires`; `alone` counts the fires of sessions in which nothing else
    fired at all; `elsewhere` is the domain that most of the other sessions are about and `focus` its share
    of them. `flag` is "" or one of the two words."""

    way: str
    fires: int
    sessions: int
    apart: int
    alone: int
    share: float
    elsewhere: str
    focus: float
    flag: str

    def as_data(self) -> dict[str, Any]:
        """Plain data for `--json`."""
        return {**asdict(self), "share": round(self.share, 4), "focus": round(self.focus, 4)}


def collect(
    events: Iterable[Mapping[str, str]],
    *,
    since: str = "",
    project: str = "",
    min_sessions: int = MIN_SESSIONS,
    flag_threshold: float = FLAG_THRESHOLD,
) -> list[Row]:
    """One row for each way that fired in at least `min_sessions` sessions, the largest share first."""
    sessions: dict[str, Counter[str]] = {}
    for event in events:
        if event["event"] not in KINDS:
            continue
        if event.get("ts", "") < since or (project and event.get("project") != project):
            continue
        way, session = event.get("way", ""), event.get("session", "")
        if way and session:
            sessions.setdefault(session, Counter())[way] += 1
    rows = [
        _row(way, held, flag_threshold)
        for way, held in _by_way(sessions).items()
        if len(held) >= min_sessions
    ]
    return sorted(rows, key=lambda row: (-row.share, -row.fires, row.way))


def _by_way(sessions: Mapping[str, Counter[str]]) -> dict[str, list[tuple[int, Counter[str]]]]:
    """For each way, per session: its fires there and the fires of the other ways by domain."""
    found: dict[str, list[tuple[int, Counter[str]]]] = {}
    for ways in sessions.values():
        domains: Counter[str] = Counter()
        for way, fires in ways.items():
            domains[domain_of(way)] += fires
        for way, fires in ways.items():
            others = Counter(domains)
            others[domain_of(way)] -= fires
            found.setdefault(way, []).append((fires, +others))
    return found


def _row(way: str, held: list[tuple[int, Counter[str]]], flag_threshold: float) -> Row:
    domain = domain_of(way)
    fires = sum(count for count, _others in held)
    apart = [(count, others) for count, others in held if domain not in others]
    lonely = sum(count for count, _others in apart)
    about = Counter(min(others, key=lambda name: (-others[name], name)) for _count, others in apart if others)
    elsewhere, count = about.most_common(1)[0] if about else ("", 0)
    focus = count / sum(about.values()) if about else 0.0
    share = lonely / fires
    flag = ""
    if share >= flag_threshold:
        flag = CROSS_CUTTING if about and focus < DOMINANT else MIS_TARGETED
    alone = sum(count for count, others in apart if not others)
    return Row(way, fires, len(held), lonely, alone, share, elsewhere, focus, flag)


def domain_of(way: str) -> str:
    """The first segment of a way's id."""
    return way.split("/", 1)[0]
