"""Hidden commands with fixed names that print one path each, for scripts."""

from __future__ import annotations

import click

from ways.core import roots


@click.command(name="sessions-root", hidden=True)
def sessions_root() -> None:
    """Print the sessions root."""
    click.echo(roots.resolve().sessions)


@click.command(name="events-log-path", hidden=True)
def events_log_path() -> None:
    """Print the event log's path."""
    click.echo(roots.resolve().events)
