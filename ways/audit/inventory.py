"""Every way of a place with its sidecar, and how often it was shown."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from ways.audit.sidecar import MAX_BYTES, NAME, Fault, Sidecar, parse
from ways.catalogue.body import body
from ways.catalogue.way import PROJECT, Catalogue, Way
from ways.core import clock, files
from ways.telemetry import reading

FIRES = ("way_fired", "way_redisclosed", "way_pulled")
_FIRE_MARKS = tuple(name.encode("ascii") for name in FIRES)


@dataclass(frozen=True)
class Entry:
    """One way: its sidecar (None when it has none), what is wrong with that, and the way's digest now."""

    way: Way
    sidecar: Sidecar | None
    faults: tuple[Fault, ...]
    digest: str


@dataclass(frozen=True)
class Use:
    """How often a way was shown or read in a time, and when last ("" for never)."""

    fires: int = 0
    sessions: int = 0
    last: str = ""


def collect(catalogue: Catalogue) -> list[Entry]:
    """Every way in tree order."""
    return [_entry(way) for way in catalogue.ways]


def _entry(way: Way) -> Entry:
    path = os.path.join(way.directory, NAME)
    if not os.path.lexists(path):
        return Entry(way, None, (), digest_of(way.path))
    if os.path.islink(path) and way.root_kind == PROJECT:
        # A cloned project must not read the user's other files through a link.
        return Entry(way, None, (Fault(path, 0, "", "is a link; it is not followed"),), digest_of(way.path))
    try:
        data = files.read_bytes(path, MAX_BYTES + 1)
    except OSError as error:
        fault = Fault(path, 0, "", f"cannot be read: {error.strerror or error}")
        return Entry(way, None, (fault,), digest_of(way.path))
    sidecar, faults = parse(data, path)
    return Entry(way, sidecar, faults, digest_of(way.path))


def digest_of(path: str) -> str:
    """16 hexadecimal digits of a way's body, without the white space around it; "" when it cannot be read.

    Of the body alone: a trigger may be tuned without a new review of what the way says.
    """
    try:
        text = body(path)
    except OSError:
        return ""
    return sha256(text.strip().encode("utf-8")).hexdigest()[:16]


def uses(events_path: str, days: float) -> dict[str, Use]:
    """Per way id how often it was shown or read in the last so many days."""
    since = clock.utc_iso(max(0.0, clock.now() - days * 86_400.0))
    counts: dict[str, int] = {}
    sessions: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for event in reading.read(events_path, lambda line: any(mark in line for mark in _FIRE_MARKS)):
        way, at = event.get("way"), event.get("ts", "")
        if event["event"] not in FIRES or not way or at < since:
            continue
        counts[way] = counts.get(way, 0) + 1
        sessions.setdefault(way, set()).add(event.get("session", ""))
        last[way] = max(last.get(way, ""), at)
    return {way: Use(count, len(sessions[way] - {""}), last[way]) for way, count in counts.items()}


def with_sidecar(entries: Iterable[Entry]) -> list[tuple[Entry, Sidecar]]:
    """The entries that have one."""
    return [(entry, entry.sidecar) for entry in entries if entry.sidecar is not None]
