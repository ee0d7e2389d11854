"""Finishing or undoing what a killed update or rollback began (spec: installer; cases u02, u04).

Before the switch nothing of the running version has changed, so the leftovers go. After it the new version
is finished when it works, and the old one comes back when it does not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from installer import journal, programs, switching, versions
from installer.stage import CURRENT, PREVIOUS
from projection.system import System
from ways.core.errors import UserError
from ways.core.roots import Roots


def is_needed(roots: Roots) -> bool:
    """True when a run died with its journal open (or is under way just now)."""
    return os.path.lexists(journal.path(roots))


def recover(system: System, roots: Roots, environ: Mapping[str, str]) -> str:
    """Bring the installation to rest and say what was done, "" for nothing. Call it under the update lock.

    Raises OSError when even that cannot be written.
    """
    entry = journal.load(system, roots)
    versions.sweep(system, roots)
    if entry is None:
        journal.clear(system, roots)
        return ""
    if entry.operation == journal.UNINSTALL:
        return ""  # every step of a removal can be done again; it is finished by asking for it again
    active = versions.look(system, roots).current
    if entry.step in {journal.STAGE, journal.PROBE, journal.PLACE}:
        return _undone(system, roots, entry)
    if active != entry.after:
        if active == entry.before:
            versions.point(system, roots, PREVIOUS, entry.previous)
        # else: somebody has chosen a version since, by the rollback script.
        return _undone(system, roots, entry)
    return _finished(system, roots, entry, environ)


def _undone(system: System, roots: Roots, entry: journal.Journal) -> str:
    versions.prune(system, roots)
    journal.clear(system, roots)
    return f"an interrupted {entry.operation} to {entry.after} was undone"


def _finished(system: System, roots: Roots, entry: journal.Journal, environ: Mapping[str, str]) -> str:
    """The new version is active: confirm it, or go back."""
    versions.point(system, roots, CURRENT, entry.after)
    versions.place_stable_names(system, roots)
    reported, why = programs.reported_version(versions.program(roots.app))
    if reported != entry.after and entry.before and entry.before != entry.after:
        switching.undo(system, roots, entry)
        _undone(system, roots, entry)
        return (
            f"an interrupted {entry.operation} to {entry.after} was undone, because it does not work: {why}"
        )
    try:
        done = switching.finish(system, roots, entry, environ)
    except UserError as error:
        return f"an interrupted {entry.operation} to {entry.after} was finished, but: {error}"
    told = "; ".join(done.problems)
    return f"an interrupted {entry.operation} to {entry.after} was finished" + (
        f", but: {told}" if told else ""
    )
