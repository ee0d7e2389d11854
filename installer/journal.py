"""The journal of an update, a rollback or a removal: `{state}/update-journal.json` (spec: installer).

It names the step that is being done, and is written before the step begins. So a run that died is known to
the next one, which finishes or undoes it (installer/recovery.py). No journal: nothing is under way.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace

from projection.system import System
from ways.core import clock
from ways.core.roots import Roots

NAME = "update-journal.json"
SCHEMA = 1

UPDATE, ROLLBACK, UNINSTALL = "update", "rollback", "uninstall"
# The steps in their order. Up to PLACE the running version has not been touched; a run that died there
# is undone. From CONFIRM on the new one is active; such a run is finished.
STAGE, PROBE, PLACE, SWITCH, CONFIRM, RECONCILE, CLEAN = (
    "stage",
    "probe",
    "place",
    "switch",
    "confirm",
    "reconcile",
    "clean",
)


@dataclass(frozen=True)
class Journal:
    """What is under way: from which version to which, what `previous` was ("" for nothing), the step."""

    operation: str
    step: str
    before: str
    after: str
    previous: str
    started: str


def begin(operation: str, before: str, after: str, previous: str) -> Journal:
    """A new journal, not yet written."""
    return Journal(operation, STAGE, before, after, previous, clock.utc_iso())


def path(roots: Roots) -> str:
    """Where the journal lies while something is under way."""
    return os.path.join(roots.state, NAME)


def write(system: System, roots: Roots, journal: Journal, step: str) -> Journal:
    """Write that `step` begins; the journal as it is now. Raises OSError."""
    entered = replace(journal, step=step)
    system.make_folders(roots.state, 0o700)
    data = json.dumps({"schema": SCHEMA, **asdict(entered)}, indent=1) + "\n"
    system.write_atomic(path(roots), data.encode(), 0o600, durable=True)
    return entered


def load(system: System, roots: Roots) -> Journal | None:
    """The journal, None when nothing is under way or it cannot be understood (then nothing is known to
    be under way, and the links in the app root say what is installed)."""
    try:
        found = json.loads(system.read_bytes(path(roots), 1 << 16))
        if found["schema"] != SCHEMA:
            return None
        names = ("operation", "step", "before", "after", "previous", "started")
        return Journal(*(str(found[name]) for name in names))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def clear(system: System, roots: Roots) -> None:
    """Nothing is under way any more. Raises OSError."""
    if system.kind(path(roots)):
        system.remove(path(roots))
