"""`ways session list`: every session that the log or the sessions root knows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from ways.cli import report
from ways.core import roots as core_roots
from ways.readers import source
from ways.readers.sessions import directories, summaries

if TYPE_CHECKING:
    from rich.table import Table

    from ways.core.roots import Roots
    from ways.readers.sessions import Summary


@click.command("list")
@click.option("--days", type=click.IntRange(1), metavar="N", help="Only sessions of the last N days.")
@click.option("--project", type=click.Path(), metavar="DIR", help="Only sessions of this project.")
@click.option("--limit", type=click.IntRange(0), metavar="N", default=0, help="The newest N only (0: all).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(days: int | None, project: str | None, limit: int, as_json: bool) -> None:
    """List the sessions, newest first, with what each was shown.

    Held: a way inside its refire window, or one that did not fit. Blocked: by the judge; would block: by the
    judge in shadow mode.
    """
    roots = core_roots.resolve()
    found = _chosen(read(roots), source.since_days(days), project)
    found = found[:limit] if limit else found
    if as_json:
        report.echo_json([summary.as_data() for summary in found])
    elif not found:
        click.echo("No session is on record.")
    else:
        report.show(_table(found, roots))


def read(roots: Roots) -> list[Summary]:
    """Every session, newest first."""
    with report.progress("Reading the event log", source.log_size(roots.events)) as step:
        return summaries(source.all_events(roots.events, step), directories(roots.sessions))


def _chosen(found: list[Summary], since: str, project: str | None) -> list[Summary]:
    folder = os.path.abspath(project) if project is not None else ""
    return [
        summary for summary in found if summary.newest >= since and (not folder or summary.project == folder)
    ]


def _table(found: list[Summary], roots: Roots) -> Table:
    made = report.table(
        "Last", "Session", "~Project", ">Shown", ">Checks", ">Held", ">Blocked", ">Would", ">Judge"
    )
    for summary in found:
        report.row(
            made,
            report.short_time(summary.newest),
            summary.session,
            report.short_path(summary.project, roots.home),
            summary.shown,
            summary.checks,
            summary.held,
            summary.blocked,
            summary.would_block,
            report.money(summary.cost_usd),
        )
    return made
