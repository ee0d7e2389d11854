"""`ways tune`: how well matching does, and in which languages."""

from __future__ import annotations

import click

from ways.cli.lazy import LazyCommands

COMMANDS = {
    "stats": ("tune_stats", "What was shown, held back and judged, counted"),
    "precision": ("tune_precision", "Ways that fire where their subject is not at hand"),
    "locale": ("tune_locale", "Which ways have words in which language"),
    "language": ("tune_language", "The multilingual model: its state, and installing it"),
}


@click.group(name="tune", cls=LazyCommands, modules=COMMANDS)
def command() -> None:
    """How well matching does, by the event log, and in which languages it works."""
