"""`ways tune precision`: ways that fire where their subject is not at hand."""

from __future__ import annotations

import click

from ways.cli import report, tune_scope
from ways.core.roots import resolve
from ways.readers import precision


@click.command("precision")
@tune_scope.options
@click.option(
    "--min-sessions",
    type=click.IntRange(1),
    metavar="N",
    default=precision.MIN_SESSIONS,
    show_default=True,
    help="Sessions in which a way must have fired to be judged at all.",
)
@click.option(
    "--flag-threshold",
    type=click.FloatRange(0.0, 1.0),
    metavar="N",
    default=precision.FLAG_THRESHOLD,
    show_default=True,
    help="Share from which a way is flagged.",
)
@click.option("--flagged", is_flag=True, help="Only flagged ways.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    days: int | None,
    project: str | None,
    everywhere: bool,
    min_sessions: int,
    flag_threshold: float,
    flagged: bool,
    as_json: bool,
) -> None:
    """Show for each way the share of its fires in sessions that were about other things.

    A fire is apart when no other fire of its session is of the way's domain. mis-targeted: those sessions
    are mostly about one other domain, so the triggers belong there. cross-cutting: they are about
    many, so the way is of use everywhere.
    """
    roots = resolve()
    part = tune_scope.chosen(roots, days, project, everywhere)
    with tune_scope.events(roots, precision.KINDS) as events:
        rows = precision.collect(
            events,
            since=part.since,
            project=part.project,
            min_sessions=min_sessions,
            flag_threshold=flag_threshold,
        )
    rows = [row for row in rows if row.flag or not flagged]
    if as_json:
        options = {"min_sessions": min_sessions, "flag_threshold": flag_threshold}
        ways = [row.as_data() for row in rows]
        report.echo_json({"project": part.project, "days": part.days, **options, "ways": ways})
        return
    if not rows:
        what = "is flagged" if flagged else f"fired in {report.plural(min_sessions, 'session')} or more"
        click.echo(f"{part.in_words(roots.home)}: no way {what}.")
        return
    made = report.table("Way", ">Share", ">Apart", ">Fires", ">Sessions", "Flag", "Mostly about")
    for row in rows:
        about = f"{row.elsewhere} ({row.focus:.0%})" if row.elsewhere else ""
        numbers = (f"{row.share:.0%}", row.apart, row.fires, row.sessions)
        report.row(made, row.way, *numbers, row.flag, about)
    report.show(f"{part.in_words(roots.home)}", made)
