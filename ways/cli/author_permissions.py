"""`ways author permissions`: what the ways' guidance needs, and what settings allow."""

from __future__ import annotations

import json
import os
from dataclasses import asdict

import click

from ways.authoring import permissions
from ways.cli import place
from ways.core.errors import DONE, WRONG
from ways.core.roots import resolve
from ways.core.text import printable


@click.command("permissions")
@click.argument("way_ids", metavar="[ID]...", nargs=-1)
@click.option("--target", type=click.Path(), default=None, help="Config directory (default: Claude Code's).")
@click.option("--check", is_flag=True, help="Exit with 1 when one is missing or denied.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(way_ids: tuple[str, ...], target: str | None, check: bool, as_json: bool) -> int:
    """Say which permissions the ways need (`requires`) and whether settings.json has them.

    Looks at the config directory's settings and the project's. Changes nothing; what is missing is printed as
    it would stand in settings.json.
    """
    here = place.here(resolve())
    ways = [here.way(name) for name in way_ids] or list(here.catalogue.ways)
    config = os.path.abspath(os.path.expanduser(target)) if target else here.roots.projection
    folders = [config, os.path.join(here.project, ".claude")] if here.project else [config]
    names = ("settings.json", "settings.local.json")
    rules = permissions.read(os.path.join(folder, name) for folder in folders for name in names)
    found = permissions.needs(ways, rules)
    good = all(one.state in (permissions.ALLOWED, permissions.ASKED) for one in found)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=2))
        return WRONG if check and not good else DONE
    for one in found:
        by = f" by {one.rule}" if one.rule and one.rule != one.permission else ""
        click.echo(printable(f"{one.state:<14} {one.permission}{by}  ({', '.join(one.ways)})"))
    if not found:
        click.echo("No way requires a permission.")
    elif any(one.state == permissions.MISSING for one in found):
        click.echo(f"\nTo allow what is missing, in {printable(os.path.join(config, 'settings.json'))}:")
        click.echo(printable(permissions.snippet_of(found)))
    return WRONG if check and not good else DONE
