"""Which events a reader gets: all, those of one session, those since a moment; with progress."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta

from ways.core import clock
from ways.session.stamps import seconds_of
from ways.telemetry import reading

Progress = Callable[[int], None]
_STEP = 1 << 20
_SESSION = re.compile(rb'"session":"([^"]*)"')
# A longer time than any log holds, and still a date.
MAX_DAYS = 36_500


def log_size(events_path: str) -> int:
    """Bytes of the log, 0 when there is none."""
    try:
        return os.stat(events_path).st_size
    except OSError:
        return 0


def all_events(
    events_path: str, progress: Progress | None = None, kinds: tuple[str, ...] = ()
) -> Iterator[dict[str, str]]:
    """Every event, or those of these kinds. `progress` is called about once a MiB with the bytes read
    since its last call."""
    wanted = None if not kinds else _naming(tuple(kind.encode("ascii") for kind in kinds))
    lines = reading.read(events_path, wanted if progress is None else _counting(progress, wanted))
    return (event for event in lines if event["event"] in kinds) if kinds else lines


def _naming(names: tuple[bytes, ...]) -> Callable[[bytes], bool]:
    return lambda line: any(name in line for name in names)


def session_events(events_path: str, session: str, progress: Progress | None = None) -> list[dict[str, str]]:
    """The events of one session by their time; those without a readable time stay where they stand."""
    return events_by_session(events_path, [session], progress)[session]


def events_by_session(
    events_path: str, sessions: Iterable[str], progress: Progress | None = None
) -> dict[str, list[dict[str, str]]]:
    """The events of each of these sessions, in one pass over the log, each list by time."""
    found: dict[str, list[dict[str, str]]] = {session: [] for session in sessions}
    ids = frozenset(session.encode("utf-8") for session in found)

    def wanted(line: bytes) -> bool:
        match = _SESSION.search(line)
        # Where the id does not stand as this program writes it, the parser decides.
        return match is None or match[1] in ids or b"\\" in match[1]

    for event in reading.read(events_path, wanted if progress is None else _counting(progress, wanted)):
        mine = found.get(event.get("session", ""))
        if mine is not None:
            mine.append(event)
    return {session: in_order(events) for session, events in found.items()}


def session_ids(events_path: str, begun: str = "") -> list[str]:
    """The ids of the sessions in the log that begin so, the one with the newest line first. The log is
    searched as it lies, without parsing it."""
    pattern = re.compile(rb'"session": ?"(' + re.escape(begun.encode("utf-8")) + rb'[A-Za-z0-9._-]{0,128})"')
    last: dict[bytes, int] = {}
    try:
        with open(events_path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            for match in pattern.finditer(log):
                last[match[1]] = match.start()
    except (OSError, ValueError):
        return []  # no log, or an empty one
    return [name.decode("ascii") for name in sorted(last, key=lambda name: -last[name]) if name]


def in_order(events: list[dict[str, str]]) -> list[dict[str, str]]:
    """The events by time: parallel hooks append a little out of order, and what was put aside comes last."""
    keyed = []
    last = 0.0
    for event in events:
        moment = seconds_of(event.get("ts"))
        last = last if moment is None else moment
        keyed.append((last, event))
    keyed.sort(key=lambda pair: pair[0])
    return [event for _moment, event in keyed]


def since_days(days: int | None) -> str:
    """The first `ts` that counts when only the last `days` are wanted; "" for all."""
    if days is None:
        return ""
    moment = datetime.fromtimestamp(clock.now(), UTC) - timedelta(days=min(days, MAX_DAYS))
    return moment.strftime("%Y-%m-%dT%H:%M:%S")


def _counting(progress: Progress, wants: Callable[[bytes], bool] | None) -> Callable[[bytes], bool]:
    waiting = 0

    def wanted(line: bytes) -> bool:
        nonlocal waiting
        waiting += len(line)
        if waiting >= _STEP:
            progress(waiting)
            waiting = 0
        return wants is None or wants(line)

    return wanted
