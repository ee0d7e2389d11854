"""`ways uninstall`: take ways out of every target and off the machine."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import click

from installer import uninstall
from installer.uninstall import Removed, UninstallPlan
from installer.update_lock import update_lock
from projection import preferences, report
from projection.system import DryRunSystem, RealSystem
from ways.core import roots as core_roots
from ways.core.errors import DONE, REFUSED, UserError
from ways.core.roots import Roots
from ways.core.text import printable


@click.command(name="uninstall")
@click.option("-y", "--yes", is_flag=True, help="Do it; without this only the plan is shown.")
@click.option("--purge", is_flag=True, help="Delete settings, your own ways, keys and state as well.")
@click.option("--json", "as_json", is_flag=True, help="The plan or the outcome as JSON.")
def command(yes: bool, purge: bool, as_json: bool) -> int:
    """Take ways out of every target (links, copies, our entries in settings.json) and delete the program.

    Your settings, your own ways and your state stay, unless --purge. Without --yes the plan is shown and
    nothing is changed.
    """
    roots = core_roots.resolve()
    options = preferences.options(roots)
    plan = uninstall.plan(DryRunSystem(), roots, options, purge, _sockets(roots))
    if not yes:
        return _show(plan, as_json)
    uninstall.refuse(plan)
    system = RealSystem()
    # The program is deleted on the way: what is needed after that is loaded by now, or here.
    agents = list(_agents(roots))
    with update_lock(roots, "ways uninstall"):
        done = uninstall.apply(system, roots, options, plan, lambda: _stopped(agents))
    if done.exit_code == DONE:
        uninstall.finish(system, roots, plan)
    return _tell(roots, plan, done, as_json)


def _sockets(roots: Roots) -> list[str]:
    """Where processes of ours are met: socket, lock, and the folder where it is theirs alone."""
    from ways.embedding import paths as embedding
    from ways.gate import paths as gate

    socket = gate.socket_path(roots)
    folders = (os.path.dirname(socket), embedding.resident_folder(roots))
    return [socket, gate.serve_lock(socket), *(path for path in folders if os.path.dirname(path) == "/tmp")]


def _agents(roots: Roots) -> Iterator[tuple[str, Any]]:
    """The processes of ours that may be running: a name, and a function that ends one."""
    from ways.agent import control
    from ways.embedding import client, paths

    yield "the judge's agent", lambda: control.unload(roots)
    for model in paths.MODELS:
        yield f"the resident embedder ({model})", lambda model=model: client.stop(roots, model)


def _stopped(agents: list[tuple[str, Any]]) -> Iterator[str]:
    """End each; a sentence on each that stays. They leave by themselves when the program is gone."""
    for name, stop in agents:
        try:
            stop()
        except (UserError, OSError) as error:
            yield f"{name} could not be asked to leave ({error}); it leaves when the program is gone"


def _show(plan: UninstallPlan, as_json: bool) -> int:
    if as_json:
        document = {
            "targets": [report.plan_json(target) for target in plan.targets],
            "take_back": [*plan.project_files, *(edit.path for edit in plan.edits)],
            "delete": [*(one.path for one in plan.deletions), *plan.runtime],
            "keep": list(plan.kept),
            "refusals": list(plan.refusals),
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return REFUSED if plan.refusals else DONE
    for target in plan.targets:
        click.echo("\n".join(report.plan_lines(target)))
    for line in plan.lines():
        click.echo(printable(line))
    if plan.refusals:
        click.echo("Nothing can be done before that is settled.")
        return REFUSED
    flag = " --purge" if plan.purge else ""
    click.echo(
        f"To do this: ways uninstall --yes{flag}" if plan.changes else "There is nothing of ways here."
    )
    return DONE


def _tell(roots: Roots, plan: UninstallPlan, done: Removed, as_json: bool) -> int:
    if as_json:
        document = {
            "targets": [report.outcome_json(outcome) for outcome in done.outcomes],
            "notes": list(done.notes),
            "exit_code": done.exit_code,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return done.exit_code
    for outcome in done.outcomes:
        for line in report.outcome_lines(outcome):
            click.echo(line)
        for line in report.fault_lines(outcome.plan, outcome.error):
            click.echo(line, err=True)
    for note in done.notes:
        click.echo(printable(note))
    if done.exit_code != DONE:
        click.echo("Nothing was deleted, because ways is not out of every target.", err=True)
        return done.exit_code
    if plan.owner is not None:
        click.echo(plan.lines()[-1])
        return DONE
    kept = "" if plan.purge else f" What is left: {roots.config}, {roots.state}"
    click.echo(f"ways is gone from this machine.{kept}")
    return DONE
