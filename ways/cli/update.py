"""`ways update`: replace the program by a newer release."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from installer import notice, recovery, tuf_client
from installer import update as updating
from installer.download import Progress
from installer.switching import Finished
from installer.update import UpdatePlan, Wish
from installer.update_lock import Busy, update_lock
from projection.system import DryRunSystem, RealSystem
from ways.core import debuglog
from ways.core import roots as core_roots
from ways.core.errors import DONE, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.roots import Roots
from ways.core.text import printable
from ways.settings.load import load


@click.command(name="update")
@click.option("--check", "only_check", is_flag=True, help="Only look; exit 1 when there is a newer release.")
@click.option("--dry-run", is_flag=True, help="Print the plan; write nothing, fetch no program.")
@click.option("--version", "version", metavar="X", default="", help="This version, not the newest.")
@click.option("--allow-downgrade", is_flag=True, help="With --version: also an older one.")
@click.option("--force", is_flag=True, help="Replace a development build by a release.")
@click.option("--from", "base", metavar="URL", default="", help="The release base: an address or a folder.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing unless something is wrong.")
@click.option("--json", "as_json", is_flag=True, help="The plan or the outcome as JSON.")
def command(
    only_check: bool,
    dry_run: bool,
    version: str,
    allow_downgrade: bool,
    force: bool,
    base: str,
    quiet: bool,
    as_json: bool,
) -> int:
    """Replace the program by the newest release, verified by its signatures.

    The new version is tried before it becomes the current one; the old one stays for `ways rollback`. Your
    settings, your ways and your state are not touched.
    """
    if allow_downgrade and not version:
        raise UserError("--allow-downgrade needs --version X", "ways update --help", USAGE)
    roots = core_roots.resolve()
    settings = load(roots, keep=False)
    wish = Wish(version.removeprefix("v"), allow_downgrade, force, base, settings.install_channel)
    if only_check and quiet:
        return _in_background(roots, wish)
    if only_check or dry_run:
        return _foresee(roots, wish, only_check, quiet, as_json)
    with _progress(quiet or as_json) as progress, update_lock(roots, "ways update"):
        done = updating.run(RealSystem(), roots, wish, os.environ, progress)
    return tell(done, quiet, as_json)


def tell(done: Finished, quiet: bool, as_json: bool) -> int:
    """Print what came of an update or a rollback. Returns the exit code."""
    if as_json:
        document = {
            "version": done.version,
            "notes": list(done.notes),
            "problems": list(done.problems),
            "exit_code": done.exit_code,
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return done.exit_code
    if not quiet:
        for note in done.notes:
            click.echo(printable(note))
        click.echo(f"ways is {done.version}.")
    for problem in done.problems:
        click.echo(f"ways: {printable(problem)}", err=True)
    return done.exit_code


def _plan(roots: Roots, wish: Wish, *, keep: bool) -> UpdatePlan:
    system = DryRunSystem()
    updating.refuse_managed(system, roots)
    updating.refuse_development(system, roots, wish.force)
    root = tuf_client.trusted_root(roots)
    base = updating.release_base(system, roots, wish.base, os.environ)
    found = updating.available(roots, base, root, keep=keep)
    return updating.plan(system, roots, wish, found)


def _foresee(roots: Roots, wish: Wish, only_check: bool, quiet: bool, as_json: bool) -> int:
    plan = _plan(roots, wish, keep=False)
    code = WRONG if only_check and plan.release is not None else DONE
    if as_json:
        after = plan.release.version if plan.release is not None else plan.before
        document = {"before": plan.before, "after": after, "plan": plan.lines(roots), "exit_code": code}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    elif not quiet:
        for line in plan.lines(roots)[: 1 if only_check else None]:
            click.echo(printable(line))
        if only_check and plan.release is not None:
            click.echo("To do it: ways update")
    return code


def _in_background(roots: Roots, wish: Wish) -> int:
    """The look-up at session start: at most hourly, silent, and nothing that fails there matters now."""
    system = RealSystem()
    settings = load(roots, keep=False)
    try:
        with update_lock(roots, "ways update --check", wait=0):
            if recovery.is_needed(roots):
                recovery.recover(system, roots, os.environ)
            newer = notice.look(system, roots, os.environ, settings)
            if newer and settings.install_auto_update:
                updating.run(system, roots, wish, os.environ)
    except (UserError, OSError) as error:
        debuglog.note(roots.state, "update", f"{error}")
        return error.exit_code if isinstance(error, UserError) else WRITE_FAILED
    return WRONG if newer else DONE


def finish_interrupted(roots: Roots) -> None:
    """Finish or undo an update that was killed. Somebody who is at it just now is left alone; what cannot
    be mended does not keep the command from running."""
    try:
        with update_lock(roots, "ways (after an interrupted update)", wait=0):
            told = recovery.recover(RealSystem(), roots, os.environ)
    except Busy:
        return  # under way, not interrupted: this may be the new program, called by it
    except (UserError, OSError) as error:
        debuglog.note(roots.state, "update", f"an interrupted update could not be mended: {error}")
        return
    if told:
        click.echo(f"ways: {printable(told)}", err=True)


@contextmanager
def _progress(silent: bool) -> Iterator[Progress | None]:
    """A progress bar on a terminal, nothing anywhere else."""
    if silent or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("download", total=None, start=False)

        def advance(done: int, total: int) -> None:
            bar.start_task(task)
            bar.update(task, completed=done, total=total)

        yield advance
