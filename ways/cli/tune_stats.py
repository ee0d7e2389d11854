"""`ways tune stats`: which ways fire, how, for whom, and how many at once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ways.cli import report, tune_scope
from ways.core.roots import resolve
from ways.readers import stats

if TYPE_CHECKING:
    from rich.table import Table

    from ways.readers.stats import Stats


@click.command("stats")
@tune_scope.options
@click.option(
    "--top", type=click.IntRange(1), metavar="N", default=20, show_default=True, help="Ways in the table."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, every way in it.")
def command(days: int | None, project: str | None, everywhere: bool, top: int, as_json: bool) -> None:
    """Count what was shown, held back and judged.

    Near: just below the firing probability. Gated: a keyword hit below the floor. Held: inside the refire
    window or without room.
    """
    roots = resolve()
    part = tune_scope.chosen(roots, days, project, everywhere)
    with tune_scope.events(roots) as events:
        found = stats.collect(events, since=part.since, project=part.project)
    if as_json:
        report.echo_json({"project": part.project, "days": part.days, **found.as_data()})
    elif not found.events:
        click.echo(f"{part.in_words(roots.home)}: the log has no event.")
    else:
        report.show(*_parts(found, part.in_words(roots.home), top, roots.home))


def _parts(found: Stats, where: str, top: int, home: str) -> list[Any]:
    kinds = found.kinds
    first, last = report.short_time(found.first), report.short_time(found.last)
    lines = (
        f"{where}: {report.plural(found.events, 'event')} in "
        f"{report.plural(len(found.sessions), 'session')}, {first} to {last}",
        f"Shown {found.shown:,} ({kinds['way_fired']:,} first, {kinds['way_redisclosed']:,} again), "
        f"held {kinds['way_suppressed']:,}, near {kinds['way_nearmiss']:,}, "
        f"gated {kinds['way_keyword_gated']:,}, checks {kinds['check_fired']:,}",
    )
    parts: list[Any] = [*lines, "", _ways(found, top)]
    tables = (
        ("By trigger", found.triggers),
        ("By scope", found.scopes),
        ("By project", Counter({report.short_path(name, home): n for name, n in found.projects.items()})),
        ("By model", found.models),
        ("By team", found.teams),
        ("Judge", found.verdicts),
        ("Checks", found.checks),
        ("Ways in one hook call", found.per_call),
    )
    for title, counts in tables:
        if counts:
            parts += ["", _counts(title, counts)]
    return parts


def _ways(found: Stats, top: int) -> Table:
    made = report.table(
        "Way",
        ">Shown",
        ">First",
        ">Again",
        ">Held",
        ">Near",
        ">Gated",
        ">Blocked",
        ">Would",
        ">Checks",
        ">Sessions",
    )
    for way in found.top(top):
        numbers = (way.shown, way.fired, way.again, way.held, way.near, way.gated)
        more = (way.blocked, way.would_block, way.checks, len(way.sessions))
        report.row(made, way.way, *numbers, *more)
    return made


def _counts(title: str, counts: Counter[Any]) -> Table:
    made = report.table(title, ">Count", ">Share")
    ordered = sorted(counts.items()) if title.startswith("Ways in") else counts.most_common(15)
    for name, count, share in report.as_rows(ordered, sum(counts.values())):
        report.row(made, name, f"{count:,}", share)
    return made
