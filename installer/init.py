"""What `ways init` does with a person's answers: plan it, show it, apply it.

The questions are in `installer/questions.py`; the engine's part (corpus, judge key, doctor) is called
by the command, because the installer never imports the engine.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from projection import records
from projection.reconcile import Options, Outcome, TargetPlan, apply_plans, plan_targets, run_lock
from projection.report import plan_lines
from projection.system import System
from projection.target_store import default_target, listed_targets, save_targets
from projection.targets import Target, make_target, placement_fault
from projection.wants import App
from ways.core.errors import REFUSED, USAGE, UserError
from ways.core.roots import Roots
from ways.core.text import printable

JUDGES = ("none", "anthropic", "openrouter")


@dataclass(frozen=True)
class Answers:
    """A person's answers. `targets` are folders as they were spelt; `judge` is one of JUDGES. Keys are
    never part of it."""

    targets: tuple[str, ...] = ()
    language: str = "en"
    without_domains: tuple[str, ...] = ()
    secret_path_deny: bool = False
    judge: str = "none"

    def to_json(self) -> str:
        """The answers as a file for `--answers`."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class InitPlan:
    """All that would change: settings (key, value), targets, and the steps that bring up the app."""

    answers: Answers
    settings: tuple[tuple[str, object], ...]
    listed: tuple[Target, ...]
    targets: tuple[TargetPlan, ...]
    app_lines: tuple[str, ...]
    config_file: str

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why targets would be refused or could not be written, each a sentence."""
        found: list[str] = []
        for plan in self.targets:
            found.extend(plan.refusals)
            if plan.error:
                found.append(plan.error)
        return tuple(found)

    def lines(self) -> list[str]:
        """The plan for people: app, settings, then each target with the diff of its settings.json."""
        found = [f"App: {line}" for line in self.app_lines[:1]]
        if len(self.app_lines) > 1:
            found.append(f"     and {len(self.app_lines) - 1} more steps below it")
        for key, value in self.settings:
            found.append(f"Set {key}: {json.dumps(value, ensure_ascii=False)}  ({self.config_file})")
        for plan in self.targets:
            found += plan_lines(plan)
            if plan.settings is not None:
                found += ["  " + printable(line) for line in plan.settings.diff().splitlines()]
        return found


def parse_answers(data: bytes, where: str) -> Answers:
    """Answers from a file. Raises UserError with the place and the field that is wrong."""
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UserError(f"{where}: {error}", "ways init", USAGE) from error
    if not isinstance(document, dict):
        raise UserError(f"{where}: the answers must be one JSON object", "ways init", USAGE)
    known = {field.name for field in fields(Answers)}
    for name in document:
        if name not in known:
            raise UserError(
                f"{where}: {name} is not an answer; known are {', '.join(sorted(known))}", "ways init", USAGE
            )
    return Answers(
        targets=_strings(document, "targets", where),
        language=_text(document, "language", "en", where),
        without_domains=_strings(document, "without_domains", where),
        secret_path_deny=_flag(document, "secret_path_deny", where),
        judge=_choice(document, "judge", JUDGES, where),
    )


def _strings(document: Mapping[str, Any], name: str, where: str) -> tuple[str, ...]:
    value = document.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UserError(f"{where}: {name} must be a list of strings", "ways init", USAGE)
    return tuple(value)


def _text(document: Mapping[str, Any], name: str, default: str, where: str) -> str:
    value = document.get(name, default)
    if not isinstance(value, str) or not value:
        raise UserError(f"{where}: {name} must be a string", "ways init", USAGE)
    return value


def _flag(document: Mapping[str, Any], name: str, where: str) -> bool:
    value = document.get(name, False)
    if not isinstance(value, bool):
        raise UserError(f"{where}: {name} must be true or false", "ways init", USAGE)
    return value


def _choice(document: Mapping[str, Any], name: str, choices: tuple[str, ...], where: str) -> str:
    value = _text(document, name, choices[0], where)
    if value not in choices:
        raise UserError(f"{where}: {name} must be one of {', '.join(choices)}", "ways init", USAGE)
    return value


def present_targets(system: System, roots: Roots) -> tuple[Target, ...]:
    """The targets as they are: the list; where nobody has written one, the implicit default if ways has
    ever been put into it. Raises UserError when the list cannot be read."""
    listed = listed_targets(system, roots)
    if listed is not None:
        return listed
    default = default_target(system, roots)
    return (default,) if default.key in records.load_all(system, roots) else ()


def chosen_targets(system: System, roots: Roots, answers: Answers) -> tuple[Target, ...]:
    """The list as it will be: the chosen folders enabled, those that were served before and are not
    chosen any more disabled. Raises UserError when one cannot be a target."""
    chosen: list[Target] = []
    for spelling in answers.targets:
        target = make_target(system, spelling, roots.home, enabled=True)
        if target.key not in {other.key for other in chosen}:
            chosen.append(target)
    keys = {target.key for target in chosen}
    before = {target.key: target for target in present_targets(system, roots)}
    found = [
        _replaced(before[target.key], enabled=True) if target.key in before else target for target in chosen
    ]
    found += [_replaced(target, enabled=False) for key, target in before.items() if key not in keys]
    for target in chosen:
        fault = placement_fault(target, [other for other in found if other.enabled], roots)
        if fault:
            raise UserError(fault, "ways init", REFUSED)
    return tuple(found)


def _replaced(target: Target, *, enabled: bool) -> Target:
    return Target(target.path, target.folder, target.key, enabled, target.observe, target.config)


def plan_init(
    system: System,
    roots: Roots,
    prepare: Callable[[], App],
    options: Options,
    answers: Answers,
    settings: Mapping[str, object],
) -> InitPlan:
    """Everything that the answers would change, nothing of it done. `system` is a dry one; `settings`
    are the present values of the keys that init sets. Raises UserError."""
    app = prepare()
    app_lines = tuple(step.line() for step in system.steps)
    listed = chosen_targets(system, roots, answers)
    wanted: dict[str, object] = {
        "language": answers.language,
        "ways.disabled_domains": list(answers.without_domains),
        "install.secret_path_deny": answers.secret_path_deny,
    }
    changed = tuple((key, value) for key, value in wanted.items() if settings.get(key) != value)
    plans = tuple(plan_targets(system, roots, app, options, listed))
    return InitPlan(answers, changed, listed, plans, app_lines, os.path.join(roots.config, "config.yaml"))


def apply_init(
    system: System,
    roots: Roots,
    prepare: Callable[[], App],
    options: Options,
    plan: InitPlan,
    set_values: Callable[[Mapping[str, object]], None],
) -> list[Outcome]:
    """Write the settings and the list of targets, then reconcile each target. A target that is
    refused leaves the others going. Raises UserError, OSError."""
    with run_lock(system, roots):
        app = prepare()
        if plan.settings:
            set_values(dict(plan.settings))
        save_targets(system, roots, plan.listed)
        plans = plan_targets(system, roots, app, options, plan.listed)
        return apply_plans(system, roots, app, options, plans)
