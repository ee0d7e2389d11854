"""`ways target add|enable|disable|remove`: the list of targets, and what follows from changing it.

Each writes the list down (the first of them with the implicit default in it) and applies at once. A
target of the user's is never half changed: `add` stops before anything is written when something of
the user's would be refused or removed, and `remove` keeps the entry when withdrawing fails.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from projection import records
from projection.reconcile import Options, Outcome, TargetPlan, apply_target, plan_targets, run_lock
from projection.report import target_json
from projection.system import System
from projection.target_store import load_targets, save_targets
from projection.targets import STALE, Target, find, make_target, placement_fault
from projection.wants import App
from ways.core.errors import DONE, REFUSED, WRONG, UserError
from ways.core.record import record, replace
from ways.core.roots import Roots

Prepare = Callable[[], App]


@record
class Changed:
    """What a command did: the target as it is listed now (None when removed), and the outcome of
    applying it (None with `--no-apply`)."""

    target: Target | None
    plan: TargetPlan | None = None
    outcome: Outcome | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return self.outcome.exit_code if self.outcome else DONE


def plan_target(system: System, roots: Roots, app: App, options: Options, wanted: str) -> TargetPlan:
    """The plan of one target, listed or not. Raises UserError when it cannot be a target."""
    listed = load_targets(system, roots)
    target = find(listed, wanted, system, roots.home) or make_target(system, wanted, roots.home)
    return _plan_one(system, roots, app, options, listed, target)


def rows(system: System, roots: Roots, app: App, options: Options) -> list[dict[str, Any]]:
    """The rows of `ways target list`: the listed targets, and those that are served still although
    they are no longer in the list (state `stale`)."""
    plans = plan_targets(system, roots, app, options, load_targets(system, roots))
    found = [target_json(plan) for plan in plans]
    keys = {plan.target.key for plan in plans}
    for key, known in records.load_all(system, roots).items():
        if key not in keys:
            row = {"path": known.path, "key": key, "enabled": False, "observe": False}
            found.append({**row, "state": STALE, "config": None})
    return found


def add(
    system: System,
    roots: Roots,
    prepare: Prepare,
    options: Options,
    spelling: str,
    *,
    observe: bool = True,
    config: str = "",
    apply: bool = True,
    tell: Callable[[TargetPlan], None] = lambda plan: None,
) -> Changed:
    """List a folder as a target. `tell` gets the plan before anything is written.

    Raises UserError (exit 3) when something of the user's is in the way, or the folder cannot be one.
    """
    with run_lock(system, roots):
        listed = load_targets(system, roots)
        target = make_target(system, spelling, roots.home, enabled=True, observe=observe, config=config)
        _check_place(target, listed, roots)
        known = next((other for other in listed if other.key == target.key), None)
        if known is not None:
            target = replace(known, enabled=True, observe=observe, config=config or known.config)
        plan = _plan_one(system, roots, prepare(), options, listed, target)
        tell(plan)
        _stop_when_refused(plan)
        save_targets(system, roots, _with(listed, target))
        return _finish(system, roots, target, plan, apply)


def enable(
    system: System, roots: Roots, prepare: Prepare, options: Options, wanted: str, *, apply: bool = True
) -> Changed:
    """Enable a listed target. Raises UserError as `add` does, or when it is not listed."""
    with run_lock(system, roots):
        listed = load_targets(system, roots)
        target = replace(_listed(system, roots, listed, wanted), enabled=True)
        _check_place(target, [other for other in listed if other.enabled], roots)
        plan = _plan_one(system, roots, prepare(), options, listed, target)
        _stop_when_refused(plan)
        save_targets(system, roots, _with(listed, target))
        return _finish(system, roots, target, plan, apply)


def disable(
    system: System, roots: Roots, prepare: Prepare, options: Options, wanted: str, *, apply: bool = True
) -> Changed:
    """Disable a listed target and withdraw from it. Raises UserError when it is not listed."""
    with run_lock(system, roots):
        listed = load_targets(system, roots)
        target = replace(_listed(system, roots, listed, wanted), enabled=False)
        plan = _plan_one(system, roots, prepare(), options, listed, target)
        save_targets(system, roots, _with(listed, target))
        return _finish(system, roots, target, plan, apply)


def remove(
    system: System, roots: Roots, prepare: Prepare, options: Options, wanted: str, *, apply: bool = True
) -> Changed:
    """Withdraw from a listed target, then take it off the list; a failure keeps the entry.

    With `apply` off only the list changes, and what is in the folder stays. Raises UserError when it is
    not listed.
    """
    with run_lock(system, roots):
        listed = load_targets(system, roots)
        target = replace(_listed(system, roots, listed, wanted), enabled=False)
        rest = tuple(other for other in listed if other.key != target.key)
        if not apply:
            save_targets(system, roots, rest)
            return Changed(None)
        plan = _plan_one(system, roots, prepare(), options, listed, target)
        outcome = apply_target(system, roots, plan)
        if outcome.exit_code == DONE:
            save_targets(system, roots, rest)
            return Changed(None, plan, outcome)
        return Changed(target, plan, outcome)


def _plan_one(
    system: System, roots: Roots, app: App, options: Options, listed: tuple[Target, ...], target: Target
) -> TargetPlan:
    plans = plan_targets(system, roots, app, options, _with(listed, target))
    return next(plan for plan in plans if plan.target.key == target.key)


def _finish(system: System, roots: Roots, target: Target, plan: TargetPlan, apply: bool) -> Changed:
    return Changed(target, plan, apply_target(system, roots, plan) if apply else None)


def _with(listed: tuple[Target, ...], target: Target) -> tuple[Target, ...]:
    """The list with this target in its place, or at the end."""
    if any(other.key == target.key for other in listed):
        return tuple(target if other.key == target.key else other for other in listed)
    return (*listed, target)


def _listed(system: System, roots: Roots, listed: tuple[Target, ...], wanted: str) -> Target:
    target = find(listed, wanted, system, roots.home)
    if target is None:
        raise UserError(f"{wanted} is not in the list of targets", "ways target list", WRONG)
    return target


def _check_place(target: Target, listed: tuple[Target, ...] | list[Target], roots: Roots) -> None:
    fault = placement_fault(target, listed, roots)
    for other in listed:
        fault = fault or (other.key != target.key and placement_fault(other, [target], roots)) or ""
    if fault:
        raise UserError(fault, "ways target list", REFUSED)


def _stop_when_refused(plan: TargetPlan) -> None:
    if plan.refused:
        import shlex

        paths = "; ".join(plan.refusals)
        again = f"put that right, then ways target add {shlex.quote(plan.target.path)}"
        raise UserError(f"nothing was changed: {paths}", again, REFUSED)
