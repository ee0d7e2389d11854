"""`ways uninstall`: take ways out of every target."""

from __future__ import annotations

import json

import click

from installer import uninstall
from projection import preferences, report
from projection.reconcile import worst
from projection.system import DryRunSystem, RealSystem
from ways.core import roots as core_roots
from ways.core.errors import DONE


@click.command(name="uninstall")
@click.option("-y", "--yes", is_flag=True, help="Do it; without this only the plan is shown.")
@click.option("--json", "as_json", is_flag=True, help="The plan or the outcome as JSON.")
def command(yes: bool, as_json: bool) -> int:
    """Take ways out of every target: links, copies, and our entries in settings.json.

    Your own files, settings and state stay. Without --yes the plan is shown and nothing is changed.
    """
    roots = core_roots.resolve()
    options = preferences.options(roots)
    if not yes:
        plans = uninstall.plan(DryRunSystem(), roots, options)
        if as_json:
            click.echo(json.dumps([report.plan_json(plan) for plan in plans], indent=2, ensure_ascii=False))
            return DONE
        for plan in plans:
            click.echo("\n".join(report.plan_lines(plan)))
        changing = any(plan.changes for plan in plans)
        click.echo("To do this: ways uninstall --yes" if changing else "Nothing of ways is in any target.")
        return DONE
    outcomes = uninstall.withdraw(RealSystem(), roots, options)
    code = worst(outcome.exit_code for outcome in outcomes)
    if as_json:
        rows = [report.outcome_json(outcome) for outcome in outcomes]
        click.echo(json.dumps({"targets": rows, "exit_code": code}, indent=2, ensure_ascii=False))
        return code
    for outcome in outcomes:
        for line in report.outcome_lines(outcome):
            click.echo(line)
        for line in report.fault_lines(outcome.plan, outcome.error):
            click.echo(line, err=True)
    if code == DONE:
        click.echo(f"ways is out of every target. What is left: {roots.app}, {roots.config}, {roots.state}")
    return code
