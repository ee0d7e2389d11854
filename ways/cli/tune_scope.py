"""Which part of the log the `ways tune` reports are about."""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from ways.cli import report
from ways.cli.place import current_folder
from ways.core.errors import USAGE, UserError
from ways.core.roots import Roots
from ways.readers import source


@dataclass(frozen=True)
class Part:
    """`since` is the first `ts`, `project` a folder; "" for all."""

    since: str
    project: str
    days: int | None

    def in_words(self, home: str) -> str:
        """`~/work/shop, last 7 days`."""
        where = report.short_path(self.project, home) if self.project else "All projects"
        return where + (f", last {report.plural(self.days, 'day')}" if self.days is not None else "")


def options(function: click.decorators.FC) -> click.decorators.FC:
    """--days, --project and --global."""
    days = click.option("--days", type=click.IntRange(1), metavar="N", help="Only the last N days.")
    project = click.option(
        "--project", type=click.Path(), metavar="DIR", help="Only this project (default: the one here)."
    )
    everywhere = click.option("--global", "everywhere", is_flag=True, help="All projects.")
    return days(project(everywhere(function)))


def chosen(roots: Roots, days: int | None, project: str | None, everywhere: bool) -> Part:
    """The part that the options name. Without --project and --global it is the project in which the command
    runs, when the log knows one at or above the current folder, else everything. Raises UserError."""
    if project is not None and everywhere:
        raise UserError("--project and --global exclude each other", "ways tune stats --help", USAGE)
    if project is not None:
        folder = os.path.abspath(os.path.expanduser(project))
    else:
        folder = "" if everywhere else _here(roots)
    return Part(source.since_days(days), folder, days)


def _here(roots: Roots) -> str:
    named = os.environ.get("CLAUDE_PROJECT_DIR", "")
    if named and os.path.isabs(named):
        return named
    folder = current_folder()
    while folder != os.path.dirname(folder):
        if _is_known(roots.events, folder):
            return folder
        folder = os.path.dirname(folder)
    return ""


def _is_known(events_path: str, project: str) -> bool:
    """True when the log has an event of this project. It is searched as it lies, without parsing."""
    needles = {f'"project":{gap}{json.dumps(project)}'.encode("ascii") for gap in ("", " ")}
    try:
        with open(events_path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
            return any(log.find(needle) >= 0 for needle in needles)
    except (OSError, ValueError):
        return False  # no log, or an empty one


@contextmanager
def events(roots: Roots, kinds: tuple[str, ...] = ()) -> Iterator[Iterator[dict[str, str]]]:
    """The events of these kinds (all without any), with a bar for a big log."""
    with report.progress("Reading the event log", source.log_size(roots.events)) as step:
        yield source.all_events(roots.events, step, kinds)
