"""`ways target`: the Claude Code config directories that ways serves."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from installer.stage import prepare
from projection import preferences, reconcile, report, target_commands
from projection.reconcile import Options, TargetPlan
from projection.system import DryRunSystem, RealSystem, System
from projection.target_commands import Changed
from projection.wants import App
from ways.core import roots as core_roots
from ways.core.errors import DONE, REFUSED
from ways.core.roots import Roots
from ways.core.text import printable

no_apply = click.option("--no-apply", is_flag=True, help="Change the list only; reconcile applies it later.")
as_json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@click.group()
def command() -> None:
    """Claude Code config directories that ways serves."""


@command.command("list")
@as_json_option
def list_targets(as_json: bool) -> None:
    """Every target with its key and state."""
    roots, options = _start()
    system = DryRunSystem()
    rows = target_commands.rows(system, roots, prepare(system, roots), options)
    if as_json:
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("path", "key", "enabled", "observe", "state"):
        table.add_column(name, overflow="fold")
    for row in rows:
        flags = ["yes" if row[name] else "no" for name in ("enabled", "observe")]
        table.add_row(Text(printable(row["path"])), row["key"], *flags, row["state"])
    # Nothing is cut: folded on a narrow terminal, and as long as it is in a pipe.
    console = Console()
    if not console.is_terminal:
        console.width = 1 << 14
    console.print(table)


@command.command("plan")
@click.argument("target")
@click.option("--force", is_flag=True, help="As if with --force.")
@click.option("--mode", type=click.Choice(["link", "copy"]), help="As if in this mode.")
@as_json_option
def plan(target: str, force: bool, mode: str | None, as_json: bool) -> int:
    """What adding or repairing TARGET (a path or a key) would do. Changes nothing."""
    roots, _ = _start()
    options = preferences.options(roots, mode=mode, force=force)
    system = DryRunSystem()
    found = target_commands.plan_target(system, roots, prepare(system, roots), options, target)
    _echo_plan(found, as_json)
    return REFUSED if found.refused else DONE


@command.command("add")
@click.argument("path")
@click.option("--observe/--no-observe", default=True, help="Whether its sessions are looked at.")
@click.option("--config", default="", help="A config file of this target's own.")
@click.option("--mode", type=click.Choice(["link", "copy"]), help="Link to the app, or keep copies.")
@no_apply
@as_json_option
def add(path: str, observe: bool, config: str, mode: str | None, no_apply: bool, as_json: bool) -> int:
    """Serve PATH too: prints the plan, lists it and applies. Stops when something of yours is in the way."""
    roots, _ = _start()
    options = preferences.options(roots, mode=mode)
    system = RealSystem()
    changed = target_commands.add(
        system,
        roots,
        _preparing(system, roots),
        options,
        path,
        observe=observe,
        config=config,
        apply=not no_apply,
        tell=lambda found: None if as_json else _echo_plan(found, False),
    )
    return _report(changed, as_json)


@command.command("enable")
@click.argument("target")
@no_apply
@as_json_option
def enable(target: str, no_apply: bool, as_json: bool) -> int:
    """Serve a listed TARGET (a path or a key) again."""
    return _change(target_commands.enable, target, no_apply, as_json)


@command.command("disable")
@click.argument("target")
@no_apply
@as_json_option
def disable(target: str, no_apply: bool, as_json: bool) -> int:
    """Withdraw from TARGET (a path or a key) and keep it in the list."""
    return _change(target_commands.disable, target, no_apply, as_json)


@command.command("remove")
@click.argument("target")
@no_apply
@as_json_option
def remove(target: str, no_apply: bool, as_json: bool) -> int:
    """Withdraw from TARGET (a path or a key) and drop it from the list."""
    return _change(target_commands.remove, target, no_apply, as_json)


def _start() -> tuple[Roots, Options]:
    roots = core_roots.resolve()
    return roots, preferences.options(roots)


def _preparing(system: System, roots: Roots) -> Callable[[], App]:
    return lambda: prepare(system, roots)


def _change(change: Callable[..., Changed], target: str, no_apply: bool, as_json: bool) -> int:
    roots, options = _start()
    system = RealSystem()
    changed = change(system, roots, _preparing(system, roots), options, target, apply=not no_apply)
    return _report(changed, as_json)


def _report(changed: Changed, as_json: bool) -> int:
    outcome = changed.outcome
    if as_json:
        data: dict[str, Any] = {"listed": changed.target is not None}
        if outcome is not None:
            data |= report.outcome_json(outcome)
        click.echo(json.dumps(data, indent=2, ensure_ascii=False))
    elif outcome is not None:
        for line in report.fault_lines(outcome.plan, outcome.error):
            click.echo(line, err=True)
        lines = report.outcome_lines(outcome)
        if lines:
            click.echo("\n".join(lines))
    return reconcile.worst([changed.exit_code])


def _echo_plan(found: TargetPlan, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report.plan_json(found), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(report.plan_lines(found)))
