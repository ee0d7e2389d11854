"""`ways rollback`: return to the version before."""

from __future__ import annotations

import os

import click

from installer import rollback, update
from installer.update_lock import update_lock
from projection.system import DryRunSystem, RealSystem
from ways.cli.update import tell
from ways.core import roots as core_roots
from ways.core.errors import DONE, WRONG
from ways.core.text import printable


@click.command(name="rollback")
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("--json", "as_json", is_flag=True, help="The outcome as JSON.")
def command(dry_run: bool, quiet: bool, as_json: bool) -> int:
    """Return to the version before, without a network. Doing it twice returns to where you were.

    When the program does not start any more, rollback.sh in the app root does the same without it.
    """
    roots = core_roots.resolve()
    update.refuse_managed(DryRunSystem(), roots)
    if dry_run:
        plan = rollback.plan(DryRunSystem(), roots)
        for line in plan.lines():
            click.echo(printable(line))
        return WRONG if plan.fault else DONE
    with update_lock(roots, "ways rollback"):
        done = rollback.apply(RealSystem(), roots, os.environ)
    return tell(done, quiet, as_json)
