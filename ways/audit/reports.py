"""The views over an inventory: pure functions from entries to rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from typing import Any

from ways.audit.inventory import Entry, Use, with_sidecar
from ways.audit.sidecar import Control, Policy, Sidecar

ERROR, WARNING, NOTE = "error", "warning", "note"


@dataclass(frozen=True)
class Stale:
    """A sidecar that needs a review, with the reason."""

    way: str
    path: str
    why: str


@dataclass(frozen=True)
class Finding:
    """Something to do: error, warning or note; `kind` is lint, stale, gap or unused."""

    level: str
    kind: str
    way: str
    where: str
    message: str


def summary(entries: Sequence[Entry], today: date) -> dict[str, Any]:
    """Counts over all, and per domain how many ways have a sidecar."""
    domains: dict[str, list[int]] = {}
    for entry in entries:
        row = domains.setdefault(entry.way.domain, [0, 0])
        row[0] += 1
        row[1] += entry.sidecar is not None
    have = with_sidecar(entries)
    return {
        "ways": len(entries),
        "with_provenance": len(have),
        "policies": len({policy.name for _, sidecar in have for policy in sidecar.policies}),
        "controls": len({control.key for _, sidecar in have for control in sidecar.controls}),
        "claims": sum(len(sidecar.controls) for _, sidecar in have),
        "stale": len(stale(entries, today)),
        "faults": sum(len(entry.faults) for entry in entries),
        "domains": [
            {"domain": name, "ways": total, "with_provenance": known}
            for name, (total, known) in sorted(domains.items())
        ],
    }


def gaps(entries: Iterable[Entry], required: Sequence[str]) -> dict[str, list[str]]:
    """Ways without provenance, ways that name a policy and no control, and the required controls
    (`framework:id`) that no way claims."""
    entries = list(entries)
    claimed = {control.key.lower() for _, sidecar in with_sidecar(entries) for control in sidecar.controls}
    return {
        "without_provenance": [entry.way.id for entry in entries if entry.sidecar is None],
        "without_control": [entry.way.id for entry, one in with_sidecar(entries) if not one.controls],
        "unclaimed": [key for key in required if key.lower() not in claimed],
    }


def stale(entries: Iterable[Entry], today: date) -> list[Stale]:
    """Sidecars that were never reviewed, whose review is overdue, or whose way has changed since."""
    found = []
    for entry, sidecar in with_sidecar(entries):
        why = why_stale(entry, sidecar, today)
        if why:
            found.append(Stale(entry.way.id, sidecar.path, why))
    return found


def why_stale(entry: Entry, sidecar: Sidecar, today: date) -> str:
    """Why a sidecar needs a review, "" when it does not."""
    if sidecar.reviewed is None:
        return "has never been reviewed"
    if sidecar.reviewed > today:
        return f"was reviewed on {sidecar.reviewed}, which is still to come"
    due = sidecar.reviewed + timedelta(days=sidecar.review_days)
    if due < today:
        return f"was due for review on {due}"
    if sidecar.digest and entry.digest and sidecar.digest != entry.digest:
        return f"the way has changed since its review on {sidecar.reviewed}"
    return ""


def matrix(entries: Iterable[Entry]) -> list[tuple[Control, tuple[tuple[str, Control], ...]]]:
    """Every control that is claimed, by its key, with the ways and their own claims."""
    found: dict[str, list[tuple[str, Control]]] = {}
    for entry, sidecar in with_sidecar(entries):
        for control in sidecar.controls:
            found.setdefault(control.key.lower(), []).append((entry.way.id, control))
    rows = []
    for claims in found.values():
        titled = next((control for _, control in claims if control.title), claims[0][1])
        rows.append((titled, tuple(claims)))
    return sorted(rows, key=lambda row: _natural(row[0].key))


def _natural(key: str) -> list[tuple[int, int, str]]:
    """Numbers in order of their value: AC-2 before AC-10."""
    import re

    parts = re.split(r"(\d{1,9})", key.lower())
    return [(0, int(part), "") if part.isascii() and part.isdigit() else (1, 0, part) for part in parts]


def of_control(entries: Iterable[Entry], key: str) -> list[tuple[str, Control]]:
    """The ways that claim a control, named `framework:id` or by its id alone."""
    wanted = key.lower()
    return [
        (entry.way.id, control)
        for entry, sidecar in with_sidecar(entries)
        for control in sidecar.controls
        if wanted in (control.key.lower(), control.id.lower())
    ]


def of_policy(entries: Iterable[Entry], name: str) -> list[tuple[str, Policy]]:
    """The ways that rest on a policy, by its name, its source or a part of either."""
    wanted = name.lower()
    return [
        (entry.way.id, policy)
        for entry, sidecar in with_sidecar(entries)
        for policy in sidecar.policies
        if wanted in policy.name.lower() or wanted in policy.source.lower()
    ]


def active(entries: Iterable[Entry], used: Mapping[str, Use]) -> list[dict[str, Any]]:
    """The ways with provenance, how often each was shown, and the controls that this exercised."""
    rows = [
        {
            "way": entry.way.id,
            **asdict(used.get(entry.way.id, Use())),
            "controls": [control.key for control in sidecar.controls],
        }
        for entry, sidecar in with_sidecar(entries)
    ]
    return sorted(rows, key=lambda row: (-int(str(row["fires"])), str(row["way"])))


def findings(
    entries: Sequence[Entry], used: Mapping[str, Use], required: Sequence[str], today: date, days: int
) -> list[Finding]:
    """Everything to do, errors first: faults, overdue reviews, unclaimed controls, ways never shown."""
    found = [
        Finding(ERROR, "lint", entry.way.id, fault.path, f"{fault.key}: {fault.message}".removeprefix(": "))
        for entry in entries
        for fault in entry.faults
    ]
    found += [
        Finding(ERROR, "gap", "", key, "no way claims this control")
        for key in gaps(entries, required)["unclaimed"]
    ]
    found += [Finding(WARNING, "stale", one.way, one.path, one.why) for one in stale(entries, today)]
    found += [
        Finding(NOTE, "unused", entry.way.id, sidecar.path, f"was not shown in {days} days")
        for entry, sidecar in with_sidecar(entries)
        if entry.way.id not in used
    ]
    order = {ERROR: 0, WARNING: 1, NOTE: 2}
    return sorted(found, key=lambda one: (order[one.level], one.kind, one.way, one.where))


def assembled(entries: Iterable[Entry], used: Mapping[str, Use], today: date) -> dict[str, Any]:
    """Everything an auditor needs in one document, in a fixed order and without a machine's paths."""
    return {
        "format": 1,
        "made": today.isoformat(),
        "ways": [
            {
                "way": entry.way.id,
                "root": entry.way.root_kind,
                "description": entry.way.description,
                "digest": entry.digest,
                "policies": [asdict(policy) for policy in sidecar.policies],
                "controls": [asdict(control) for control in sidecar.controls],
                "rationale": sidecar.rationale,
                "owner": sidecar.owner,
                "reviewed": sidecar.reviewed.isoformat() if sidecar.reviewed else "",
                "review_days": sidecar.review_days,
                "stale": why_stale(entry, sidecar, today),
                "use": asdict(used.get(entry.way.id, Use())),
            }
            for entry, sidecar in with_sidecar(entries)
        ],
    }
