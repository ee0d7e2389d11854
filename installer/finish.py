"""The end of a first install, done by the version that was put in place (spec: installer, "First install").

`install.sh` and `install.ps1` fetch, check, unpack and probe; then they call `ways finish-install` of the
new version, which makes itself the current one, makes `ways` callable, and writes the receipt. Every step can
be done again, so a run that is killed is finished by the next one.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace

from installer import (
    discovery,
    journal,
    path_edit,
    programs,
    receipt,
    registration,
    switching,
    versions,
)
from installer.receipt import FOLDER, Edit, Event, Receipt
from installer.served import is_in_use
from installer.update_lock import update_lock
from installer.versions import Installed
from projection.system import System
from ways.core import clock
from ways.core.environment import version_folder
from ways.core.errors import DONE, REFUSED, WRONG, UserError
from ways.core.roots import Roots

INSTALL = "install"


@dataclass(frozen=True)
class Choices:
    """What the person asked for: `method` is the script's name, `base` the release base without credentials
    or "" for an archive; `made_folders` were made by the script and were not there before."""

    method: str
    base: str = ""
    edit_path: bool = True
    allow_downgrade: bool = False
    made_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What was done: the version, what people should know, and the exit code of bringing the targets that
    were there before up to date."""

    version: str
    notes: tuple[str, ...]
    exit_code: int = DONE


def placed_version(roots: Roots) -> str:
    """The version whose program this is. Raises UserError when it is not one in the app root."""
    folder = version_folder()
    name = os.path.basename(folder)
    expected = os.path.realpath(versions.folder(roots, name)) if folder else ""
    if not folder or os.path.realpath(folder) != expected:
        what = f"this program is not a version below {os.path.join(roots.app, 'versions')}"
        raise UserError(what, "run the installer", WRONG)
    return versions.checked_name(name)


def check(system: System) -> None:
    """Raises UserError when a file of the version that runs is missing or not as it was shipped."""
    folder = version_folder()
    if not folder:
        raise UserError("this program runs from its source; there is nothing to check", "", WRONG)
    fault = versions.damage(system, folder)
    if fault:
        raise UserError(fault, "run the installer again", WRONG)


def finish(system: System, roots: Roots, choices: Choices, environ: Mapping[str, str]) -> Outcome:
    """Make the version that runs the current one, and everything that belongs to an installation.

    Raises UserError (exit 3 when it would be a downgrade or something of the user's is in the way), OSError.
    """
    version = placed_version(roots)
    # Seen before the lock, whose file is the first thing in the state root.
    choices = replace(choices, made_folders=(*choices.made_folders, *_missing_parents(system, roots)))
    with update_lock(roots, f"ways {choices.method}"):
        before = versions.look(system, roots)
        _refuse_downgrade(before.current, version, choices)
        path = _planned_path(system, roots, choices, environ)
        # Before anything outside the roots is made, so that a removal knows of it after a kill.
        _write_receipt(system, roots, choices, version, before.current, path)
        _make_current(system, roots, before, version)
        failed = [*path_edit.apply(system, path), registration.register(system, roots, version)]
        failed = [one for one in failed if one]
        notes = [
            *_elsewhere(system, environ),
            *path.warnings,
            *failed,
            *path_edit.news(path, tuple(failed)),
            *switching.clean_up(system, roots),
        ]
        code = DONE
        if is_in_use(system, roots):
            problem, code = _reconcile(roots)
            notes += [problem] if problem else []
        return Outcome(version, tuple(notes), code)


def _refuse_downgrade(current: str, version: str, choices: Choices) -> None:
    then, now = versions.order(version), versions.order(current)
    if then is not None and now is not None and then < now and not choices.allow_downgrade:
        what = f"version {current} is installed and is newer than {version}"
        raise UserError(what, "run the installer with --allow-downgrade", REFUSED)


def _make_current(system: System, roots: Roots, before: Installed, version: str) -> None:
    """Switch, and make sure that what is launched now is this version; else switch back.

    An update that died half-way is closed with it: its new version is not the one that was asked for now.
    """
    entry = journal.begin(INSTALL, before.current, version, before.previous)
    switching.make_active(system, roots, entry)
    reported, why = programs.reported_version(versions.program(roots.app))
    if reported != version:
        if before.current:
            switching.undo(system, roots, entry)
        fault = why or f"it reports the version {reported}"
        raise UserError(f"version {version} was put in place and did not work: {fault}", "", WRONG)
    versions.sweep(system, roots)
    journal.clear(system, roots)


def _elsewhere(system: System, environ: Mapping[str, str]) -> list[str]:
    """Windows: what is odd about the place, and about the variables that the roots are computed from."""
    if os.name != "nt":
        return []
    from windows import known_folders, long_paths

    content = version_folder()
    too_long = long_paths.complaint(content, versions.longest_path(system, content), long_paths.allowed())
    found = [too_long] if too_long else []
    try:
        return found + known_folders.disagreements(environ, known_folders.known_folders())
    except OSError as error:
        return [*found, f"Windows does not tell where the user's folders are: {error}"]


def _planned_path(
    system: System, roots: Roots, choices: Choices, environ: Mapping[str, str]
) -> path_edit.PathPlan:
    known = _known_receipt(system, roots).edits
    if not choices.edit_path:
        return path_edit.PathPlan(known, (), ())
    return path_edit.plan(system, roots, environ, known)


def _known_receipt(system: System, roots: Roots) -> Receipt:
    """The receipt that is there; a damaged one is kept aside, because a new one has to be written."""
    try:
        return receipt.load(system, roots)
    except UserError:
        aside = f"{receipt.path(roots)}.damaged"
        system.rename(receipt.path(roots), aside)
        return Receipt()


def _write_receipt(
    system: System, roots: Roots, choices: Choices, version: str, before: str, path: path_edit.PathPlan
) -> None:
    old = _known_receipt(system, roots)
    made = (Edit(FOLDER, folder) for folder in choices.made_folders)
    known = [edit for edit in made if edit not in path.edits]
    event = Event(clock.utc_iso(), INSTALL, "" if before == version else before, version)
    same = bool(old.history) and old.version == version and old.history[-1].after == version
    new = Receipt(
        version=version,
        method=choices.method,
        installed=old.installed if same and old.installed else event.at,
        base=choices.base or old.base,
        edits=(*known, *path.edits, *(one for one in registration.edit(roots) if one not in path.edits)),
        history=old.history if same else (*old.history, event)[-receipt.MOST_HISTORY :],
    )
    if new != old:
        receipt.save(system, roots, new)


def _missing_parents(system: System, roots: Roots) -> list[str]:
    """Folders above our roots that are not there yet, outermost first: whoever writes first makes them."""
    found: list[str] = []
    for root in (roots.config, roots.state, roots.cache):
        above: list[str] = []
        folder = os.path.dirname(root)
        while system.kind(folder) is None:
            above.insert(0, folder)
            folder = os.path.dirname(folder)
        found += [one for one in above if one not in found]
    return found


def _reconcile(roots: Roots) -> tuple[str, int]:
    """Bring the targets that are served to this version; a complaint ("" for none), and the exit code."""
    ran = programs.run(versions.program(roots.app), ["reconcile", "--quiet"], programs.RECONCILE_SECONDS)
    if ran.code == DONE:
        return "", DONE
    why = ran.complaint or f"exit code {ran.code}"
    what = f"the config directories were not all brought up to date: {why}  Next: ways reconcile"
    return what, ran.code or WRONG


# What comes after an installation


def what_next(system: System, roots: Roots, environ: Mapping[str, str]) -> list[str]:
    """What a person types next, literally: one command, or one for each config directory that there is."""
    if is_in_use(system, roots):
        return ["The config directories that ways serves: ways target list"]
    program = _callable_as(roots, environ)
    found = discovery.candidates(environ, roots.home)
    present = [candidate for candidate in found if candidate.exists] or found[:1]
    commands = [f"  {program} init --yes --target {_quoted(candidate.path)}" for candidate in present]
    if len(commands) == 1:
        return ["No hooks are in place yet. To put them into Claude Code's config directory:", *commands]
    return [
        "No hooks are in place yet. There are several Claude Code config directories; choose:",
        *commands,
        f"or answer questions: {program} init",
    ]


def _callable_as(roots: Roots, environ: Mapping[str, str]) -> str:
    """`ways` when the shell finds ours by that name, else the program's path."""
    program = versions.program(roots.app)
    found = programs.launched_path(environ)
    return "ways" if found and os.path.realpath(found) == os.path.realpath(program) else _quoted(program)


def _quoted(path: str) -> str:
    """A path as one word of the shell that people use here: a POSIX one, or PowerShell."""
    if os.name == "nt":
        return path if path.isalnum() else "'" + path.replace("'", "''") + "'"
    return shlex.quote(path)
