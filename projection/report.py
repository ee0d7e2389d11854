"""What plans and outcomes look like: as lines for people and as data for `--json`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from projection.file_plan import COPIED, LINKED, shown
from projection.reconcile import Outcome, TargetPlan, state_of
from ways.core.errors import DONE
from ways.core.text import printable

NEXT = "  Next: "
_KEPT = (LINKED, COPIED)
_SETTINGS = ("kept", "added", "replaced", "healed", "collapsed", "removed")


def plan_lines(plan: TargetPlan) -> list[str]:
    """The plan of one target: every root with what happens to it, then the settings merge."""
    target = plan.target
    lines = [f"{printable(target.path)} ({target.key}), {'enabled' if target.enabled else 'disabled'}"]
    if plan.error:
        return [*lines, f"  cannot   {printable(plan.error)}"]
    lines += [f"  {verb:<8} {printable(root)}" for root, verb in sorted(plan.files.roots.items())]
    lines += [f"  refused  {printable(why)}" for why in plan.refusals]
    lines += [f"  move     {_at(plan, c.path)}, which {c.why}, into the backups" for c in plan.files.aside]
    for placement in plan.files.placements:
        lines += [f"  keep     your edited {_at(plan, plan.ground.at(path))}" for path in placement.edited]
    for removal in plan.files.removals:
        lines.append(f"  {'keep' if removal.edited else 'remove':<8} {printable(removal.inside)}")
    lines += [f"  sweep    {_at(plan, path)}" for path in plan.files.scraps]
    lines += [f"  remove   {_at(plan, folder)} (empty)" for folder in plan.files.empty]
    lines += [f"  restore  {_at(plan, row.origin)}" for row in plan.restores]
    return [*lines, *_settings_lines(plan)]


def _settings_lines(plan: TargetPlan) -> list[str]:
    settings = plan.settings
    if settings is None or settings.refusal is not None:
        return []
    report = settings.report.to_json()
    counts = ", ".join(f"{len(report[name])} {name}" for name in _SETTINGS if report[name])
    lines = [f"  settings.json: {settings.action}" + (f" ({counts})" if counts else "")]
    lines += [f"    {line}" for line in settings.report.lines()]
    return lines + [f"    warning: {warning}" for warning in settings.warnings]


def _at(plan: TargetPlan, path: str) -> str:
    return printable(shown(plan.ground, path))


def outcome_lines(outcome: Outcome) -> list[str]:
    """What was done to one target, in one line and its notes; empty when there was nothing to do."""
    plan = outcome.plan
    lines = [f"{printable(plan.target.path)}: {_summary(outcome)}"] if outcome.changed else []
    return lines + [f"  {printable(note)}" for note in outcome.notes]


def _summary(outcome: Outcome) -> str:
    plan = outcome.plan
    if outcome.exit_code != DONE:
        return "interrupted"
    verbs = Counter(verb for verb in plan.files.roots.values() if verb not in _KEPT)
    parts = [f"{verb} {count}" for verb, count in sorted(verbs.items())]
    if plan.files.removals:
        parts.append(f"remove {len(plan.files.removals)}")
    if plan.settings is not None and plan.settings.changes_something:
        report = plan.settings.report.to_json()
        merged = [f"{len(report[name])} {name}" for name in _SETTINGS[1:] if report[name]]
        parts.append(f"settings.json {', '.join(merged) or plan.settings.action}")
    if not plan.target.enabled:
        parts.insert(0, "withdrawn")
    return "; ".join(parts) or "mended"


def fault_lines(plan: TargetPlan, error: str) -> list[str]:
    """What stopped one target: a line a path, the last one with what to do next."""
    where = printable(plan.target.path)
    lines = [f"{where}: refused: {printable(why)}" for why in plan.refusals]
    if error:
        # An error of the target's settings.json begins with its path, which holds the target's.
        text = printable(error)
        lines.append(text if text.startswith(where) else f"{where}: {text}")
    if lines and NEXT not in lines[-1]:
        lines[-1] += NEXT + _next(plan)
    return lines


def _next(plan: TargetPlan) -> str:
    """What helps: a path of the user's can be moved aside, anything else is theirs to put right."""
    if plan.files.conflicts and len(plan.files.conflicts) == len(plan.refusals):
        return "ways reconcile --force moves that into the backups (withdrawing puts it back)"
    return "put that right, then ways reconcile"


def nothing_to_do(count: int) -> str:
    """The one line of a run that has nothing to do."""
    if count == 1:
        return "Nothing to do: the target is as it should be."
    return f"Nothing to do: {count} targets are as they should be."


def plan_json(plan: TargetPlan) -> dict[str, Any]:
    """One target's plan as data."""
    files = plan.files
    return {
        **target_json(plan),
        "mode": plan.final.mode,
        "changes": plan.changes,
        "roots": dict(sorted(files.roots.items())),
        "refused": list(plan.refusals),
        "conflicts": [
            {"path": shown(plan.ground, c.path), "why": c.why} for c in (*files.conflicts, *files.aside)
        ],
        "remove": [{"path": r.inside, "edited": r.edited} for r in files.removals],
        "keep_edited": [path for placement in files.placements for path in placement.edited],
        "restore": [shown(plan.ground, row.origin) for row in plan.restores],
        "settings": plan.settings.to_json() if plan.settings is not None else None,
        "error": plan.error,
    }


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """One target's outcome as data."""
    return {
        **plan_json(outcome.plan),
        "state": outcome.state,
        "changed": outcome.changed,
        "notes": list(outcome.notes),
        "error": outcome.error,
        "exit_code": outcome.exit_code,
    }


def target_json(plan: TargetPlan) -> dict[str, Any]:
    """One row of `ways target list`."""
    target = plan.target
    return {
        "path": target.path,
        "key": target.key,
        "enabled": target.enabled,
        "observe": target.observe,
        "state": state_of(plan),
        "config": target.config or None,
    }
