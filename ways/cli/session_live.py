"""`ways session live`: the events of a session, or of all, as they are logged."""

from __future__ import annotations

import json
import time
from itertools import islice
from typing import TYPE_CHECKING

import click

from ways.cli.session_pick import pick
from ways.core import roots as core_roots
from ways.core.text import printable
from ways.readers import describe
from ways.readers.follow import Follower

if TYPE_CHECKING:
    from collections.abc import Iterator

PAUSE_SECONDS = 0.5
BATCH = 1_000


@click.command("live")
@click.argument("session", required=False)
@click.option("--all", "everything", is_flag=True, help="Every session, each line with its id.")
@click.option("--from-start", is_flag=True, help="Begin with what is logged already.")
@click.option("--once", is_flag=True, help="Print what there is and leave, instead of waiting for more.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(session: str | None, everything: bool, from_start: bool, once: bool, as_json: bool) -> None:
    """Follow SESSION: each way shown, held back or judged, as it happens. Ctrl-C ends it."""
    roots = core_roots.resolve()
    name = "" if everything else pick(roots, session)
    follower = Follower(roots.events, from_start=from_start)
    if not as_json and not once:
        click.echo(f"Following {name or 'all sessions'}. Ctrl-C ends it.", err=True)
    try:
        for events in _batches(follower, once):
            mine = [event for event in events if not name or event.get("session") == name]
            lines = [
                json.dumps(each, ensure_ascii=False) if as_json else line(each, everything) for each in mine
            ]
            if lines:
                click.echo("\n".join(lines))
    except KeyboardInterrupt:
        return


def _batches(follower: Follower, once: bool) -> Iterator[list[dict[str, str]]]:
    while True:
        new = follower.new()
        while batch := list(islice(new, BATCH)):
            yield batch
        if once:
            return
        time.sleep(PAUSE_SECONDS)


def line(event: dict[str, str], with_session: bool) -> str:
    """One event on one line."""
    told = describe.describe(event)
    parts = [event.get("ts", "")[11:19], told.mark]
    if with_session:
        parts.append(event.get("session", "")[:8])
    agent = event.get("agent_id", "main")
    parts += [agent] if agent != "main" else []
    parts += [part for part in (told.way, told.trigger.removeprefix("semantic:")) if part]
    return printable(" ".join("  ".join((*parts, told.detail)).split("\n")))
