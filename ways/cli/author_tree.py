"""`ways author tree`: the ways that hold here, after shadowing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable, snippet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ways.catalogue.way import Way


@click.command("tree")
@click.argument("prefix", required=False, default="")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(prefix: str, as_json: bool) -> None:
    """Show the ways that a session here would see, or those below PREFIX."""
    here = place.here(resolve())
    above = prefix.strip("/")
    ways = [
        way for way in here.catalogue.ways if not above or way.id == above or way.id.startswith(f"{above}/")
    ]
    if above and not ways:
        raise UserError(f"there is no way at or below {printable(above)!r}", "ways author tree", USAGE)
    checked = {check.id for check in here.catalogue.checks}
    if as_json:
        click.echo(json.dumps([as_data(way, way.id in checked) for way in ways], indent=2))
        return
    for line in lines(ways, checked):
        click.echo(line)


def triggers(way: Way, checked: bool) -> list[str]:
    """What can make the way appear, in the words of its fields, then what lies beside it."""
    fields = (
        ("meaning", way.embeddable),
        ("pattern", bool(way.pattern)),
        ("commands", bool(way.commands)),
        ("files", bool(way.files)),
        (way.trigger, bool(way.trigger)),
        ("postcheck", bool(way.postcheck_file)),
        ("macro", bool(way.macro_file)),
        ("check", checked),
    )
    return [name for name, there in fields if there]


def as_data(way: Way, checked: bool) -> dict[str, object]:
    """One way for `--json`."""
    return {
        "way": way.id,
        "root": way.root_kind,
        "path": way.path,
        "description": way.description,
        "triggers": triggers(way, checked),
        "scope": list(way.scope),
    }


def lines(ways: Sequence[Way], checked: set[str]) -> list[str]:
    """Indented lines; a folder that is no way itself gets a line when something below it is one."""
    found: list[str] = []
    shown: set[str] = set()
    for way in ways:
        segments = way.id.split("/")
        for depth in range(1, len(segments)):
            folder = "/".join(segments[:depth])
            if folder not in shown:
                shown.add(folder)
                found.append(f"{'  ' * (depth - 1)}{printable(segments[depth - 1])}/")
        shown.add(way.id)
        root = "" if way.root_kind == "core" else f" [{way.root_kind}]"
        how = ", ".join(triggers(way, way.id in checked))
        text = f"{'  ' * (len(segments) - 1)}{printable(segments[-1])}{root} ({how})"
        found.append(f"{text}  {printable(snippet(way.description, 70))}".rstrip())
    return found
