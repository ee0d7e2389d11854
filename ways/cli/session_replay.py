"""`ways session replay`: a session moment by moment, on the screen, as a page, or as data."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from ways.cli import report, session_list
from ways.cli.session_pick import pick, timeline_from, timeline_of
from ways.core import files
from ways.core import roots as core_roots
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.readers import source

if TYPE_CHECKING:
    from ways.core.roots import Roots

# Without a session, a page holds this many of the newest ones.
PAGE_SESSIONS = 10


@click.command("replay")
@click.argument("session", required=False)
@click.option("--html", "path", type=click.Path(dir_okay=False), help="Write one page that needs no network.")
@click.option("--force", is_flag=True, help="With --html: replace a file that is not such a page.")
@click.option("--json", "as_json", is_flag=True, help="Print the timeline as JSON.")
def command(session: str | None, path: str | None, force: bool, as_json: bool) -> None:
    """Play SESSION: which ways were in its context at each moment, and why.

    Without SESSION the screen opens with the newest one, and a page holds the newest ten. Keys: space
    plays, + and - change the speed, arrows move, n and p go to the next and previous way, q leaves.
    """
    roots = core_roots.resolve()
    if as_json and path:
        raise UserError("--json and --html exclude each other", "ways session replay --help", USAGE)
    if as_json:
        from ways.readers.document import timeline_data

        report.echo_json(timeline_data(timeline_of(roots, pick(roots, session))))
    elif path:
        write_page(roots, session, path, force)
    else:
        _screen(roots, session)


def write_page(roots: Roots, session: str | None, path: str, force: bool = False) -> None:
    """Write the page of one session, or of the newest ten. Raises UserError: nothing is overwritten
    but an older page of this command."""
    from ways.readers import page

    _refuse_foreign(path, force)
    names = (
        [pick(roots, session)] if session is not None else source.session_ids(roots.events)[:PAGE_SESSIONS]
    )
    if not names:
        raise _no_session()
    with report.progress("Reading the event log", source.log_size(roots.events)) as step:
        events = source.events_by_session(roots.events, names, step)
    text = page.render([timeline_from(roots, name, events[name]) for name in names])
    try:
        files.write_atomic(os.path.abspath(path), text.encode("utf-8"))
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", WRITE_FAILED) from error


def _refuse_foreign(path: str, force: bool) -> None:
    from ways.readers import page

    if force or not os.path.lexists(path):
        return
    head = files.read_bytes_or_none(path, 4_096) if os.path.isfile(path) else b""
    if head is None or page.GENERATOR.encode("ascii") not in head:
        raise UserError(
            f"{path} is there and is no page of this command", "add --force, or another name", REFUSED
        )


def _no_session() -> UserError:
    return UserError("the log has no session", "start Claude Code in a project", USAGE)


def _screen(roots: Roots, session: str | None) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(
            "there is no terminal to draw on", "ways session replay --html FILE (or --json)", USAGE
        )
    from ways.cli.session_replay_screen import Loaded, ReplayApp
    from ways.readers import stats

    found = [summary for summary in session_list.read(roots) if summary.events]
    if not found:
        raise _no_session()
    first = pick(roots, session) if session is not None else found[0].session

    def load(name: str) -> Loaded:
        events = source.session_events(roots.events, name)
        return Loaded(timeline_from(roots, name, events, bars=False), stats.collect(events))

    ReplayApp(found, first, roots.home, load).run()
