"""`ways uninstall`: take ways out of every target, then off the machine (spec: installer).

Planned first. Nothing is deleted unless every target could be withdrawn from. Each step can be done again,
so a removal that was killed is finished by asking for it once more, and the program goes last of all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from installer import journal, path_edit, project_files, receipt, removal, safety_net, update, versions
from installer.stage import CURRENT, PREVIOUS, STABLE_NAMES, VERSIONS
from installer.update_lock import record_path
from projection import payload_manifest
from projection.payload_manifest import PayloadManifest
from projection.reconcile import Options, Outcome, TargetPlan, withdraw_all, worst
from projection.scraps import is_scrap
from projection.system import System
from projection.wants import App
from ways.core import active
from ways.core.environment import version_folder
from ways.core.errors import DONE, REFUSED, WRITE_FAILED, UserError
from ways.core.files import TEMPORARY_MARK
from ways.core.roots import Roots

LOCKS = "locks"
_APP_FILES = (safety_net.ROLLBACK, "rollback.ps1", *versions.NAME_FILES)


@dataclass(frozen=True)
class Deletion:
    """One root that would be deleted: its path and what it is."""

    path: str
    what: str


@dataclass(frozen=True)
class UninstallPlan:
    """Everything that would go, and what stays. `refusals` are sentences; with any, nothing is done.
    `owner` is the package manager that the program belongs to. `project_files` were put into projects;
    `runtime` is what running sessions use: the sessions root, sockets."""

    targets: tuple[TargetPlan, ...]
    edits: tuple[receipt.Edit, ...]
    deletions: tuple[Deletion, ...]
    kept: tuple[str, ...]
    purge: bool
    refusals: tuple[str, ...]
    owner: update.Manager | None = None
    project_files: tuple[str, ...] = ()
    runtime: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """True when there is anything to do."""
        return any(plan.changes for plan in self.targets) or bool(
            self.edits or self.deletions or self.project_files
        )

    def lines(self) -> list[str]:
        """What happens besides the targets, for people."""
        found = [f"Take back {path}" for path in self.project_files]
        found += [f"Take back {edit.path}" for edit in self.edits if edit.kind != receipt.FOLDER]
        found += [f"Delete {one.path} ({one.what})" for one in self.deletions]
        found += [f"Delete {path} (what running sessions use)" for path in self.runtime]
        folders = [edit.path for edit in self.edits if edit.kind == receipt.FOLDER]
        found += [f"Remove {path} when it is empty" for path in reversed(folders)]
        found += [f"Keep {path}" for path in self.kept]
        if self.owner is not None:
            found.append(
                f"The program is {self.owner.name}'s to remove: {self.owner.uninstall or 'see there'}"
            )
        return [*found, *self.refusals]


@dataclass(frozen=True)
class Removed:
    """What came of it: the targets' outcomes, what was left and why, and the exit code."""

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    exit_code: int = DONE


def plan(
    system: System, roots: Roots, options: Options, purge: bool = False, sockets: Iterable[str] = ()
) -> UninstallPlan:
    """What a removal would do. `system` is a dry one: nothing is changed. `sockets` are the sockets of our
    background processes, their locks and their own folders. Raises UserError."""
    targets = tuple(
        outcome.plan for outcome in withdraw_all(system, roots, app_or_empty(system, roots), options)
    )
    deletions = [Deletion(roots.cache, "models, corpus, downloads; all of it can be made again")]
    kept = [roots.config, roots.state]
    if purge:
        kept = []
        deletions.append(Deletion(roots.config, "your settings, keys and your own ways"))
        deletions.append(Deletion(roots.state, "event log, backups and merge bases"))
    owner = update.managed_by(system, roots)
    if owner is None:
        deletions.append(Deletion(roots.app, "the program"))
    there = tuple(one for one in deletions if system.kind(one.path) is not None)
    stays = [*kept, *(target.target.path for target in targets)]
    refusals = _refusals(system, roots, there, stays)
    for target in targets:
        refusals += [*target.refusals, *([target.error] if target.error else [])]
    edits = receipt.load(system, roots).edits
    runtime = tuple(
        path
        for path in (*sockets, roots.sessions)
        if system.kind(path) is not None and not removal.runtime_fault(system, roots, path, stays)
    )
    in_projects = tuple(one.path for one in project_files.ours(system, roots))
    left = tuple(path for path in kept if system.kind(path) is not None)
    return UninstallPlan(targets, edits, there, left, purge, tuple(refusals), owner, in_projects, runtime)


def refuse(what: UninstallPlan) -> None:
    """Raises UserError (exit 3) when the plan has a refusal."""
    if what.refusals:
        raise UserError(what.refusals[0], "nothing was changed; ways uninstall shows the plan", REFUSED)


def _refusals(system: System, roots: Roots, deletions: Iterable[Deletion], kept: list[str]) -> list[str]:
    named = ("app", "config", "state", "cache")
    found = [removal.coinciding(system, {name: getattr(roots, name) for name in named})]
    found += [removal.fault(system, roots, one.path, kept) for one in deletions]
    return list(dict.fromkeys(sentence for sentence in found if sentence))


def apply(
    system: System,
    roots: Roots,
    options: Options,
    what: UninstallPlan,
    stop_agents: Callable[[], Iterable[str]],
) -> Removed:
    """Carry a plan out. Call it under the update lock.

    `stop_agents` ends the processes that run from the app, and says in sentences what it could not end. What
    the caller's lock lies in is for `finish`, after it was given back. Raises UserError.
    """
    refuse(what)
    entry = journal.begin(journal.UNINSTALL, versions.look(system, roots).current, "", "")
    try:
        entry = journal.write(system, roots, entry, "withdraw")
        outcomes = tuple(withdraw_all(system, roots, app_or_empty(system, roots), options))
        code = worst(outcome.exit_code for outcome in outcomes)
        if code != DONE:
            # Targets that are out already stay so; nothing is deleted, and hooks of the others still work.
            journal.clear(system, roots)
            return Removed(outcomes, exit_code=code)
        entry = journal.write(system, roots, entry, "agents")
        notes = list(stop_agents())
        entry = journal.write(system, roots, entry, "path")
        for edit in what.edits:
            if edit.kind == receipt.LINES:
                _sweep_beside(system, edit.path)
        notes += project_files.take_back(system, roots)
        notes += path_edit.withdraw(system, [edit for edit in what.edits if edit.kind != receipt.FOLDER])
        entry = journal.write(system, roots, entry, "cache")
        for path in what.runtime:
            _remove_runtime(system, path)
        for one in what.deletions:
            if one.path not in {roots.app, roots.state}:
                remove_root(system, one.path)
        entry = journal.write(system, roots, entry, "app")
        if what.purge:
            _purge_state(system, roots)
        if what.owner is None:
            notes += remove_app(system, roots)
        if system.kind(roots.state) == "folder" and not what.purge:
            _forget_installation(system, roots)
        journal.clear(system, roots)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        next_command = "ways uninstall --yes, once that is mended"
        raise UserError(f"{where}{error.strerror or error}", next_command, WRITE_FAILED) from error
    return Removed(outcomes, tuple(notes))


def _remove_runtime(system: System, path: str) -> None:
    """Delete the sessions root or a socket; a hook of an open session may be at work in it just now."""
    for _ in range(3):
        try:
            _remove(system, path)
            break
        except OSError:
            if system.kind(path) is None:
                break
    above = os.path.dirname(path)
    if (
        os.path.basename(above) in removal.NAMES
        and system.kind(above) == "folder"
        and not system.names(above)
    ):
        system.rmdir(above)


def _sweep_beside(system: System, path: str) -> None:
    """Remove what a killed removal left beside a file that it was writing."""
    real = system.real_path(path)
    folder, name = os.path.split(real)
    for found in system.names(folder) if system.kind(folder) == "folder" else []:
        if found.startswith(f".{name[:40]}{TEMPORARY_MARK}") and is_scrap(found):
            system.remove(os.path.join(folder, found))


def remove_root(system: System, path: str) -> None:
    """Delete a root that the rules allow, and the folder above it when that is ours and empty."""
    if system.kind(path) == "folder":
        system.remove_tree(path)
    above = os.path.dirname(path)
    if (
        os.path.basename(above) in removal.NAMES
        and system.kind(above) == "folder"
        and not system.names(above)
    ):
        system.rmdir(above)


def remove_app(system: System, roots: Roots) -> list[str]:
    """Delete what is ours in the app root, the launched program last; sentences on what stays there."""
    app = roots.app
    if system.kind(app) != "folder":
        return []
    current = versions.look(system, roots).current
    folder = os.path.join(app, VERSIONS)
    if os.name == "nt" and version_folder() and system.changes_disk:
        from windows import after_exit

        # A running executable cannot be deleted.
        after_exit.remove_folder(app)
        return [f"{app} goes when this program has ended"]
    for name in system.names(folder) if system.kind(folder) == "folder" else []:
        if name != current:
            _remove(system, os.path.join(folder, name))
    for name in (*_APP_FILES, PREVIOUS, *(name for name in STABLE_NAMES if name != "bin")):
        _remove(system, os.path.join(app, name))
    for name in system.names(app):
        if TEMPORARY_MARK in name and name.startswith("."):
            _remove(system, os.path.join(app, name))
    for name in ("bin", CURRENT, VERSIONS):
        _remove(system, os.path.join(app, name))
    left = system.names(app)
    if left:
        return [f"{app} stays, because it holds what is not ours: {', '.join(left[:5])}"]
    remove_root(system, app)
    return []


def _remove(system: System, path: str) -> None:
    kind = system.kind(path)
    if kind == "folder":
        system.remove_tree(path)
    elif kind is not None:
        system.remove(path)


def _forget_installation(system: System, roots: Roots) -> None:
    """State that means something only while the program is there. The receipt's edits are undone."""
    for name in (receipt.NAME, "update-notice.json", "update-check.json", safety_net.WITHDRAW, "tuf"):
        _remove(system, os.path.join(roots.state, name))


def _purge_state(system: System, roots: Roots) -> None:
    """Everything in the state root but the locks and the journal, which this run needs to its end."""
    for name in system.names(roots.state):
        if name not in {LOCKS, journal.NAME, safety_net.WITHDRAW}:
            _remove(system, os.path.join(roots.state, name))


def finish(system: System, roots: Roots, what: UninstallPlan) -> None:
    """What is left when the update lock has been given back: the last of a purged state root, and folders
    that the installer made and nothing is in now. Raises OSError."""
    if what.purge and not os.path.exists(record_path(roots)):
        remove_root(system, roots.state)
    path_edit.withdraw(system, [edit for edit in what.edits if edit.kind == receipt.FOLDER])


def app_or_empty(system: System, roots: Roots) -> App:
    """The installed app, or one without files when it has been deleted by hand: what we put into
    the targets is known from the records as well."""
    content = active.folder(roots.app)
    path = os.path.join(content, payload_manifest.NAME)
    if system.exists(path):
        shipped = payload_manifest.from_json(system.read_bytes(path), path)
        return App(roots.app, content, shipped, os.path.basename(system.real_path(content)))
    return App(roots.app, content, PayloadManifest(()), "")
