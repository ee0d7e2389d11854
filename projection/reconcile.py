"""`ways reconcile`: converge every enabled target, withdraw from every disabled one (spec: projection).

Plan everything, refuse or back up, add files, merge settings, remove old files, record. Everything is
planned before anything is touched; each target is then applied for itself, so that what stops one
leaves the others going. Every command that settings.json registers resolves at every moment, because
files come before the merge and go after it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from projection import backups, records
from projection.claude_settings.plan import SettingsPlan
from projection.file_apply import (
    Done,
    apply_additions,
    apply_removals,
    drop_empty,
    intended,
    put_aside,
    verify,
)
from projection.file_plan import FilePlan, Ground, plan_files, real_places, shown
from projection.records import Record
from projection.scraps import sweep
from projection.settings_slice import SETTINGS, plan_target_settings
from projection.system import System
from projection.target_store import load_targets
from projection.targets import (
    ACTIVE,
    PARTIAL,
    PENDING,
    REFUSED_STATE,
    STALE,
    WITHDRAWN,
    Target,
    make_target,
    placement_fault,
)
from projection.wants import App, Mode, wanted
from ways.core import debuglog
from ways.core.environment import platform_name
from ways.core.errors import DONE, REFUSED, WRITE_FAILED, WRONG, UserError
from ways.core.locking import Lock, LockTimeout
from ways.core.record import record, replace
from ways.core.roots import Roots
from windows.junctions import NoJunctions

LOCK_SECONDS = 120.0


@dataclass(frozen=True)
class Options:
    """How to reconcile. `mode` None keeps each target's own (`default_mode` for a new one); `deny` are
    entries for `permissions.deny` that the user asked for."""

    mode: Mode | None = None
    default_mode: Mode = "link"
    force: bool = False
    deny: tuple[str, ...] = ()
    platform: str = field(default_factory=platform_name)


@record
class Scene:
    """All that the plans of one run have in common. `listed` are the targets of this run, `known` the
    records of all targets by key."""

    system: System
    roots: Roots
    app: App
    options: Options
    listed: tuple[Target, ...]
    known: dict[str, Record]


@record
class TargetPlan:
    """What would happen to one target. `refusals` are full sentences, each naming a path; `error` says
    why the target cannot be written."""

    target: Target
    ground: Ground
    files: FilePlan
    settings: SettingsPlan | None
    final: Record
    restores: tuple[backups.PutAside, ...] = ()
    refusals: tuple[str, ...] = ()
    error: str = ""

    @property
    def refused(self) -> bool:
        """True when something of the user's is in the way: nothing will be touched."""
        return bool(self.refusals)

    @property
    def changes(self) -> bool:
        """True when something in the target would be changed."""
        merge = self.settings is not None and self.settings.changes_something
        return self.files.changes or bool(self.restores) or merge


@record
class Outcome:
    """What happened to one target: its state now, whether anything changed, and what to tell."""

    plan: TargetPlan
    state: str
    changed: bool = False
    notes: tuple[str, ...] = ()
    error: str = ""
    exit_code: int = DONE


def reconcile(system: System, roots: Roots, prepare: Callable[[], App], options: Options) -> list[Outcome]:
    """Plan and apply everything under the lock; `prepare` brings the app up to date first.

    Raises UserError when the lock, the app or the list of targets is not to be had.
    """
    with run_lock(system, roots):
        app = prepare()
        plans = plan_targets(system, roots, app, options, load_targets(system, roots))
        return apply_plans(system, roots, app, options, plans)


def apply_plans(
    system: System, roots: Roots, app: App, options: Options, plans: list[TargetPlan]
) -> list[Outcome]:
    """Apply the plans of one run in turn. A target is looked at once more when one before it changed
    something: two targets may share a folder through a link of the user's."""
    outcomes: list[Outcome] = []
    for plan in plans:
        if any(outcome.changed for outcome in outcomes) and not plan.refused:
            listed = [other.target for other in plans]
            plan = _of(plan.target, plan_targets(system, roots, app, options, listed))
        outcomes.append(_linked_or_copied(system, roots, app, options, plan, plans))
    return outcomes


def _linked_or_copied(
    system: System, roots: Roots, app: App, options: Options, plan: TargetPlan, plans: list[TargetPlan]
) -> Outcome:
    """Apply a plan; on a Windows volume that takes no junctions the target is served by copies from then on,
    and says so. A mode that was asked for is not changed."""
    try:
        return apply_target(system, roots, plan)
    except NoJunctions as error:
        if options.mode is not None:
            why = f"{_explain(error)}; without --mode link it is served by copies"
            return Outcome(plan, PARTIAL, True, (), why, WRITE_FAILED)
    copies = replace(options, mode="copy")
    listed = [other.target for other in plans]
    copied = _of(plan.target, plan_targets(system, roots, app, copies, listed))
    outcome = apply_target(system, roots, copied)
    note = f"{plan.target.path} is served by copies, because its volume takes no junctions"
    return replace(outcome, changed=True, notes=(note, *outcome.notes))


def _of(target: Target, plans: Iterable[TargetPlan]) -> TargetPlan:
    return next(plan for plan in plans if plan.target.key == target.key)


def plan_targets(
    system: System, roots: Roots, app: App, options: Options, targets: Iterable[Target]
) -> list[TargetPlan]:
    """The plans of these targets, each seen beside the others. Changes nothing."""
    known = records.load_all(system, roots)
    listed = tuple(_with_recorded_spelling(system, roots, target, known) for target in targets)
    scene = Scene(system, roots, app, options, listed, known)
    return [_plan_target(scene, target) for target in listed]


def withdraw_all(system: System, roots: Roots, app: App, options: Options) -> list[Outcome]:
    """Withdraw from every target that is listed or was ever recorded, for `ways uninstall`.

    Nothing is touched when any of them is refused; the first failure stops the rest. Whoever calls
    deletes nothing unless every outcome's exit code is 0.
    """
    with run_lock(system, roots):
        targets = {target.key: replace(target, enabled=False) for target in load_targets(system, roots)}
        for key, record in records.load_all(system, roots).items():
            # A link on the way may lead elsewhere by now: then the folder itself is the target.
            for spelling in (record.path, record.folder):
                found = make_target(system, spelling, roots.home, enabled=False)
                if found.key == key:
                    targets.setdefault(key, found)
        plans = plan_targets(system, roots, app, options, targets.values())
        if any(plan.refused or plan.error for plan in plans):
            return [not_applied(plan) for plan in plans]
        outcomes: list[Outcome] = []
        for plan in plans:
            outcomes.append(apply_target(system, roots, plan))
            if outcomes[-1].exit_code != DONE:
                break
        return outcomes


def check(plans: Iterable[TargetPlan]) -> int:
    """The exit code of `--check`: 3 when something would be refused, 1 when something would change."""
    return worst(_check_one(plan) for plan in plans)


def _check_one(plan: TargetPlan) -> int:
    if plan.refused:
        return REFUSED
    if plan.error:
        return WRITE_FAILED
    return WRONG if plan.changes else DONE


def worst(codes: Iterable[int]) -> int:
    """The exit code of several outcomes: 3 wins over 5 over 1."""
    order = (REFUSED, WRITE_FAILED, WRONG, DONE)
    return min(codes, key=order.index, default=DONE)


@contextmanager
def run_lock(system: System, roots: Roots) -> Iterator[None]:
    """One reconcile at a time. A dry run takes no lock, since it writes nothing.

    Raises UserError (exit 5) when another run does not finish in time.
    """
    if not system.changes_disk:
        yield
        return
    lock = Lock(os.path.join(roots.state, "locks", "reconcile.lock"), LOCK_SECONDS)
    try:
        lock.acquire()
    except LockTimeout as error:
        if error.held:
            why = f"another ways run has not finished: {error}"
            raise UserError(why, "ways reconcile", WRITE_FAILED) from error
        # A file system that cannot lock (case u10): a run that never happens helps nobody.
        debuglog.note(roots.state, "reconcile", f"goes on without a lock: {error}")
    try:
        yield
    finally:
        lock.release()


# Planning one target


def _plan_target(scene: Scene, target: Target) -> TargetPlan:
    system, app, options = scene.system, scene.app, scene.options
    record = scene.known.get(target.key) or Record(
        target.key, target.path, target.folder, options.default_mode
    )
    copies = record.mode == "copy" or not app.linked
    mode: Mode = options.mode or ("copy" if copies else "link")
    ground = Ground(system, target, app, record, options.platform, options.force, _shared(scene, target))
    blank = TargetPlan(target, ground, FilePlan(), None, record)
    fault = _placement_fault(scene, target)
    if fault:
        return replace(blank, refusals=(fault,))
    try:
        settings = plan_target_settings(ground, scene.roots, _others(scene, target), options.deny)
        wants = wanted(app, mode, options.platform) if target.enabled else {}
        files = plan_files(ground, wants, _removed_by(ground, settings))
        restores = () if target.enabled else tuple(_restorable(system, scene.roots, files, target))
    except OSError as error:
        return replace(blank, error=_explain(error))
    refusals = [f"{shown(ground, conflict.path)} {conflict.why}" for conflict in files.conflicts]
    fault = ""
    never_served = not target.enabled and target.key not in scene.known
    if settings.refusal is not None and never_served and not files.changes:
        # A file that we cannot read in a folder that we never touched: there is nothing to withdraw.
        return replace(blank, files=files)
    if settings.refusal is not None:
        if settings.refusal.exit_code == REFUSED:
            refusals.append(settings.refusal.message)
        else:
            fault = settings.refusal.message
    final = Record(
        target.key,
        target.path,
        target.folder,
        mode,
        app.version if target.enabled else record.version,
        "done",
        files.entries,
        tuple(files.made),
    )
    return TargetPlan(target, ground, files, settings, final, restores, tuple(refusals), fault)


def _removed_by(ground: Ground, settings: SettingsPlan) -> frozenset[str]:
    """The settings file, when the merge will remove it: its folder may then go too."""
    return frozenset({ground.at(SETTINGS)} if settings.action == "remove" else ())


def _placement_fault(scene: Scene, target: Target) -> str:
    if not target.enabled:
        return ""
    return placement_fault(target, [other for other in scene.listed if other.enabled], scene.roots)


def _others(scene: Scene, target: Target) -> tuple[str, ...]:
    """The paths of all other targets that are listed or recorded: their hook entries are theirs."""
    paths = {other.path for other in scene.listed if other.key != target.key}
    paths |= {record.path for key, record in scene.known.items() if key != target.key}
    return tuple(sorted(paths))


def _with_recorded_spelling(system: System, roots: Roots, target: Target, known: dict[str, Record]) -> Target:
    """The target under the spelling it was first written with, while that still names the same folder:
    another spelling of it is no reason to write every hook command anew."""
    record = known.get(target.key)
    if record is None or record.path == target.path:
        return target
    before = make_target(system, record.path, roots.home)
    return replace(target, path=record.path) if before.key == target.key else target


def _shared(scene: Scene, target: Target) -> frozenset[str]:
    """Real places that other enabled targets count on (case s07: `skills` linked to one shared folder)."""
    places: set[str] = set()
    for other in scene.listed:
        if other.key != target.key and other.enabled and other.key in scene.known:
            places |= real_places(scene.system, other, scene.known[other.key])
    return frozenset(places)


def _restorable(system: System, roots: Roots, files: FilePlan, target: Target) -> Iterator[backups.PutAside]:
    """What `--force` once moved away and whose place will be free: the newest of each place."""
    going = {removal.path for removal in files.removals} | set(files.empty)
    seen: set[str] = set()
    for row in backups.forced(system, roots, target.key):
        free = system.info(row.origin) is None or row.origin in going
        if free and row.origin not in seen:
            seen.add(row.origin)
            yield row


# Applying one target


def apply_target(system: System, roots: Roots, plan: TargetPlan) -> Outcome:
    """Carry one plan out. Failures become part of the outcome; a crash leaves what the next run mends.

    Raises NoJunctions, with nothing yet in the place where one was to be.
    """
    if plan.refused or plan.error:
        return not_applied(plan)
    done = Done()
    restored: list[str] = []
    try:
        _sweep(system, roots, plan.target.key)
        if plan.changes:
            put_aside(plan.ground, roots, plan.files, done)
            records.save(system, roots, intended(plan.ground.record, plan.files))
            if plan.target.enabled:
                apply_additions(plan.ground, roots, plan.files, done)
        warnings = _merge_settings(system, plan)
        if plan.changes:
            apply_removals(plan.ground, roots, plan.files, done)
            drop_empty(system, plan.files)
        # The record goes first: with it, what is put back would count as an edited copy of ours.
        _record(system, roots, plan, done)
        verify(plan.ground, done.entries if plan.target.enabled else {})
        restored += [_put_back(system, roots, row) for row in plan.restores]
    except NoJunctions:
        raise
    except OSError as error:
        return Outcome(plan, PARTIAL, plan.changes, _notes(done), _explain(error), WRITE_FAILED)
    except UserError as error:
        return Outcome(plan, PARTIAL, plan.changes, _notes(done), str(error), error.exit_code)
    state = ACTIVE if plan.target.enabled else WITHDRAWN
    return Outcome(plan, state, plan.changes, (*_notes(done), *restored, *warnings))


def _sweep(system: System, roots: Roots, key: str) -> None:
    """Clear what a killed run left in the target's part of the state root."""
    sweep(system, records.target_state(roots, key))
    for kind in (backups.FORCED, backups.EDITED):
        sweep(system, os.path.join(roots.state, kind, key))


def _merge_settings(system: System, plan: TargetPlan) -> tuple[str, ...]:
    """Carry the settings plan out when there is anything to it. Returns its warnings."""
    settings = plan.settings
    if settings is None or (not settings.changes_something and settings.base_is_tidy):
        return ()
    # The lock library that it needs costs more to load than a run that has nothing to do.
    from projection.claude_settings.apply import apply_settings

    return apply_settings(system, settings).warnings


def _record(system: System, roots: Roots, plan: TargetPlan, done: Done) -> None:
    """Write what is there now. Without changes this only mends the record of a run that died late."""
    if not plan.target.enabled:
        records.forget(system, roots, plan.target.key)
    elif plan.changes:
        records.save(system, roots, replace(plan.final, entries=done.entries))
    else:
        records.save(system, roots, plan.final)


def not_applied(plan: TargetPlan) -> Outcome:
    """The outcome of a plan that was made and not carried out."""
    if plan.refused:
        return Outcome(plan, REFUSED_STATE, exit_code=REFUSED)
    if plan.error:
        return Outcome(plan, PARTIAL, error=plan.error, exit_code=WRITE_FAILED)
    return Outcome(plan, state_of(plan))


def state_of(plan: TargetPlan) -> str:
    """The state of a target as the plan finds it, before anything is done."""
    if plan.refused:
        return REFUSED_STATE
    record = plan.ground.record
    if plan.error or record.phase == "applying":
        return PARTIAL
    if not plan.changes:
        return ACTIVE if plan.target.enabled else WITHDRAWN
    return STALE if record.entries and plan.target.enabled else PENDING


def _put_back(system: System, roots: Roots, row: backups.PutAside) -> str:
    damaged = "" if backups.tree_hash(system, row.place) == row.sha256 else ", changed since it was put aside"
    backups.put_back(system, roots, row)
    return f"put back {row.origin}{damaged}"


def _notes(done: Done) -> tuple[str, ...]:
    forced = (f"moved {row.origin} to {row.place}" for row in done.forced)
    kept = (f"kept your edited copy of {row.origin} as {row.place}" for row in done.kept)
    return (*forced, *kept)


def _explain(error: OSError) -> str:
    where = error.filename or ""
    return f"{where}: {error.strerror or error}" if where else str(error)
