"""From one version to another that is there: switch, confirm, reconcile, clean up (spec: installer).

Update and rollback share this, and so does the recovery of either. The link is switched by one rename. The
switch counts only once the program that is launched reports the new version; before that it is undone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from installer import journal, programs, receipt, registration, safety_net, versions
from installer.journal import Journal
from installer.served import is_in_use
from installer.stage import CURRENT, PREVIOUS, carry_adapters
from projection import payload_manifest
from projection.system import System
from ways.core import active, files
from ways.core.errors import DONE, OVERRIDDEN, WRITE_FAILED, WRONG, UserError
from ways.core.roots import Roots

NOTICE = "update-notice.json"


@dataclass(frozen=True)
class Finished:
    """What came of it: the version that is launched now, notes for people, the exit code. `problems` are
    faults after the switch, which do not undo it."""

    version: str
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    exit_code: int = DONE


def switch(system: System, roots: Roots, entry: Journal, environ: Mapping[str, str]) -> Finished:
    """Make `entry.after`, which is in place, the active version, and everything that follows.

    Raises UserError when the new program does not start by its launched path: the old one is active again.
    """
    entry = journal.write(system, roots, entry, journal.SWITCH)
    make_active(system, roots, entry)
    entry = journal.write(system, roots, entry, journal.CONFIRM)
    confirm(system, roots, entry)
    return finish(system, roots, entry, environ)


def make_active(system: System, roots: Roots, entry: Journal) -> None:
    """The switch itself: stand-ins for adapters that are registered now, `previous`, `current`."""
    versions.check_places(system, roots)
    content = versions.folder(roots, entry.after)
    path = os.path.join(content, payload_manifest.NAME)
    shipped = payload_manifest.from_json(system.read_bytes(path), path)
    carry_adapters(system, active.folder(roots.app), content, shipped)
    if entry.before and entry.before != entry.after:
        versions.point(system, roots, PREVIOUS, entry.before)
    versions.point(system, roots, CURRENT, entry.after)
    versions.place_stable_names(system, roots)


def confirm(system: System, roots: Roots, entry: Journal) -> None:
    """Ask the launched program for its version. Raises UserError, after switching back, when it is not
    the new one (case u01)."""
    reported, why = programs.reported_version(versions.program(roots.app))
    if reported == entry.after:
        return
    undo(system, roots, entry)
    journal.clear(system, roots)
    fault = why or f"it reports the version {reported}"
    raise UserError(
        f"version {entry.after} was put in place and did not work: {fault}; {entry.before or 'nothing'} is "
        "active again",
        "ways doctor",
        WRONG,
    )


def undo(system: System, roots: Roots, entry: Journal) -> None:
    """Back to what was before the switch, wherever in it a run died."""
    if entry.before:
        versions.point(system, roots, CURRENT, entry.before)
    versions.point(system, roots, PREVIOUS, entry.previous)


def finish(system: System, roots: Roots, entry: Journal, environ: Mapping[str, str]) -> Finished:
    """What comes after a confirmed switch: reconcile and corpus by the new program, then clean-up.

    Faults here are told as their own and undo nothing.
    """
    entry = journal.write(system, roots, entry, journal.RECONCILE)
    problems, code = _reconcile(system, roots)
    entry = journal.write(system, roots, entry, journal.CLEAN)
    notes = clean_up(system, roots)
    receipt.note(system, roots, entry.operation, entry.before, entry.after)
    unlisted = registration.register(system, roots, entry.after)
    notes = (*notes, unlisted) if unlisted else notes
    journal.clear(system, roots)
    other = other_launched(roots, entry.after, environ)
    if other:
        problems.append(other)
        code = code or OVERRIDDEN
    return Finished(entry.after, notes, tuple(problems), code)


def _reconcile(system: System, roots: Roots) -> tuple[list[str], int]:
    """Run the new program's own reconcile and corpus; what went wrong, and the exit code of the first.

    Where no config directory was ever named, none is served now: an update activates nothing.
    """
    if not is_in_use(system, roots):
        return [], DONE
    program = versions.program(roots.app)
    ran = programs.run(program, ["reconcile", "--json"], programs.RECONCILE_SECONDS)
    problems = []
    if ran.code != DONE:
        problems.append(f"the targets were not all brought up to date: {_faults(ran)}  Next: ways reconcile")
    corpus = programs.run(program, ["corpus", "--if-stale", "--quiet"], programs.RECONCILE_SECONDS)
    if corpus.code != DONE:
        # Told, and no reason to call the update a failure: each session start tries it again, and without an
        # engine there is none to build.
        why = corpus.complaint or f"exit code {corpus.code}"
        problems.append(f"the corpus was not rebuilt: {why}  Next: ways corpus")
    return problems, WRITE_FAILED if ran.code is None else ran.code


def _faults(ran: programs.Ran) -> str:
    """The refusals and errors in what `reconcile --json` printed, else its complaint."""
    try:
        rows = json.loads(ran.output)["targets"]
        found = [
            str(fault) for row in rows for fault in (*row.get("refusals", ()), row.get("error", "")) if fault
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        found = []
    return "; ".join(found) or ran.complaint or f"exit code {ran.code}"


def clean_up(system: System, roots: Roots) -> tuple[str, ...]:
    """Remove what nobody needs any more; notes on what had to stay. Faults are notes too: what is left
    is swept the next time."""
    try:
        safety_net.place(system, roots)
        kept = versions.prune(system, roots)
        if system.changes_disk:
            files.remove_if_there(os.path.join(roots.state, NOTICE))
    except OSError as error:
        return (f"not everything could be cleaned up: {error.filename}: {error.strerror or error}",)
    return tuple(f"version {name} stays as long as a process runs from it" for name in kept)


def other_launched(roots: Roots, version: str, environ: Mapping[str, str]) -> str:
    """The complaint when another `ways` than ours comes first on the PATH and is of another version."""
    found = programs.launched_path(environ)
    if not found or os.path.realpath(found) == os.path.realpath(versions.program(roots.app)):
        return ""
    reported, _ = programs.reported_version(found, environ)
    if reported == version:
        return ""
    return (
        f"{versions.program(roots.app)} is {version}, but `ways` starts {found}, which "
        f"{'reports ' + reported if reported else 'does not tell its version'}  Next: remove it from the PATH"
    )
