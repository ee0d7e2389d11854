"""Which events a reader gets: all, those of one session, those since a moment; with progress."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from ways.core import clock
from ways.session.stamps import seconds_of
from ways.telemetry import reading

Progress = Callable[[int], None]
_STEP = 1 << 20
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
    needle = session.encode("utf-8")
    wanted = _naming((needle,))
    if progress is not None:
        wanted = _counting(progress, wanted)
    found = [event for event in reading.read(events_path, wanted) if event.get("session") == session]
    return in_order(found)


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
