"""`ways session`: what a session was shown, as a list, a replay or a live view; its resets and switches."""

from __future__ import annotations

import click

from ways.cli.lazy import LazyCommands

COMMANDS = {
    "list": ("session_list", "Sessions, newest first"),
    "ways": ("session_ways", "Ways in a session's context, and when they may show again"),
    "fires": ("session_fires", "What a session was shown and what was held back"),
    "replay": ("session_replay", "Play a session moment by moment"),
    "live": ("session_live", "Follow what happens now"),
    "dump": ("session_dump", "All events and all state of a session"),
    "reset": ("session_reset", "Forget what a session was shown"),
    "subagents": ("session_subagents", "Switch ways for a session's subagents on or off"),
}


@click.group(name="session", cls=LazyCommands, modules=COMMANDS)
def command() -> None:
    """What a session has been shown, and its resets.

    SESSION is a session's id or its beginning; without it the newest session is meant.
    """
