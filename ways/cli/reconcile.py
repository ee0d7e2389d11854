"""`ways reconcile`: repair what ways put into every target."""

from __future__ import annotations

import json
from typing import Any

import click

from installer.stage import prepare
from projection import preferences, reconcile, report
from projection.system import DryRunSystem, RealSystem, System
from projection.target_store import load_targets
from projection.wants import App
from ways.core import roots as core_roots
from ways.core.errors import DONE, WRONG


@click.command()
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@click.option(
    "--check",
    "only_check",
    is_flag=True,
    help="Change nothing; exit 1 when something would change, 3 when something is in the way.",
)
@click.option("--force", is_flag=True, help="Move what is in the way into the backups first.")
@click.option("--mode", type=click.Choice(["link", "copy"]), help="Link to the app, or keep copies.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("--json", "as_json", is_flag=True, help="The plan or the outcome as JSON.")
def command(
    dry_run: bool, only_check: bool, force: bool, mode: str | None, quiet: bool, as_json: bool
) -> int:
    """Bring every enabled target up to date and withdraw from every disabled one."""
    roots = core_roots.resolve()
    options = preferences.options(roots, mode=mode, force=force)
    if dry_run or only_check:
        return _foresee(roots, options, only_check, quiet, as_json)
    return _carry_out(roots, options, quiet, as_json)


def _foresee(
    roots: core_roots.Roots, options: reconcile.Options, only_check: bool, quiet: bool, as_json: bool
) -> int:
    system = DryRunSystem()
    app = prepare(system, roots)
    app_lines = [step.line() for step in system.steps]
    plans = reconcile.plan_targets(system, roots, app, options, load_targets(system, roots))
    code = reconcile.worst([reconcile.check(plans), WRONG if app_lines else DONE]) if only_check else DONE
    if as_json:
        _echo_json(app, app_lines, [report.plan_json(plan) for plan in plans], code)
    elif not quiet:
        changing = [plan for plan in plans if plan.changes or plan.refused or plan.error]
        if app_lines:
            click.echo(f"{roots.app}: version {app.version} would be put in place")
        for plan in changing if only_check else plans:
            click.echo("\n".join(report.plan_lines(plan)))
        if not changing and not app_lines:
            click.echo(report.nothing_to_do(len(plans)))
    return code


def _carry_out(roots: core_roots.Roots, options: reconcile.Options, quiet: bool, as_json: bool) -> int:
    system: System = RealSystem()
    staged: list[App] = []
    app_lines: list[str] = []

    def bring_up_the_app() -> App:
        staged.append(prepare(system, roots))
        app_lines.extend(step.line() for step in system.steps)
        return staged[0]

    outcomes = reconcile.reconcile(system, roots, bring_up_the_app, options)
    code = reconcile.worst(outcome.exit_code for outcome in outcomes)
    if as_json:
        _echo_json(staged[0], app_lines, [report.outcome_json(outcome) for outcome in outcomes], code)
        return code
    for outcome in outcomes:
        for line in report.fault_lines(outcome.plan, outcome.error):
            click.echo(line, err=True)
    if not quiet:
        lines = [f"{roots.app}: version {staged[0].version} is in place"] if app_lines else []
        lines += [line for outcome in outcomes for line in report.outcome_lines(outcome)]
        if not lines and code == DONE:
            lines = [report.nothing_to_do(len(outcomes))]
        click.echo("\n".join(lines), nl=bool(lines))
    return code


def _echo_json(app: App, steps: list[str], targets: list[dict[str, Any]], code: int) -> None:
    document = {"app": {"version": app.version, "steps": steps}, "targets": targets, "exit_code": code}
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))
