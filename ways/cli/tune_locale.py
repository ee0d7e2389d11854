"""`ways tune locale`: which ways have words in which language, and where the log misses some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ways.cli import place, report, tune_scope
from ways.core.roots import resolve
from ways.readers import locales

if TYPE_CHECKING:
    from ways.cli.place import Place
    from ways.readers.locales import Report

KINDS = ("way_fired", "way_redisclosed", "way_nearmiss", "way_keyword_gated")


@click.command("locale")
@click.argument("language", required=False)
@click.option(
    "--top", type=click.IntRange(1), metavar="N", default=20, show_default=True, help="Ways in the table."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(language: str | None, top: int, as_json: bool) -> None:
    """Show how many ways have an alias in each language, and which have none in LANGUAGE.

    A way's aliases stand in NAME.locales.jsonl beside it, one {"lang", "description", "vocabulary"} a
    line. Ways that stay just below on the multilingual lane are where an alias helps first.
    """
    roots = resolve()
    here = place.here(roots)
    wanted = language or (here.settings.language if here.settings.language != "en" else "")
    with tune_scope.events(roots, KINDS) as events:
        found = locales.report(aliases(here), events, wanted)
    if as_json:
        report.echo_json({"language": wanted, **found.as_data()})
        return
    if not found.ways:
        click.echo("No way has a description, so none can be found by meaning.")
        return
    report.show(*_parts(found, wanted, top))


def aliases(here: Place) -> dict[str, frozenset[str]]:
    """For each way that is matched by meaning, the languages of its locale file."""
    from ways.embedding.rows import is_inside, locales_path, read_locales

    found = {}
    for way in here.catalogue.ways:
        if not way.embeddable:
            continue
        path = locales_path(way.path)
        # A link out of a project is not followed, here as everywhere.
        allowed = way.root_kind != "project" or is_inside(path, here.project)
        found[way.id] = frozenset(tag for tag, _words in read_locales(path)) if allowed else frozenset()
    return found


def _parts(found: Report, wanted: str, top: int) -> list[Any]:
    made = report.table("Language", ">Ways", ">Of", ">Missing")
    for row in found.languages:
        report.row(made, row.language, row.covered or "0", found.ways, len(row.missing))
    parts: list[Any] = [made if found.languages else "No way has an alias in another language than English."]
    used = {use.way: use for use in found.used}
    missing = next((row.missing for row in found.languages if row.language == wanted), ())
    if missing:
        order = sorted(missing, key=lambda way: (-used[way].near if way in used else 0, way))
        ways = report.table(f"No alias in {wanted}", ">Near", ">Fired")
        for way in order[:top]:
            use = used.get(way)
            report.row(ways, way, use.near if use else 0, use.fired if use else 0)
        parts += ["", ways]
        if len(order) > top:
            parts.append(f"and {report.plural(len(order) - top, 'more way')}")
    elif found.used:
        ways = report.table("On the multilingual lane", ">Near", ">Fired")
        for use in found.used[:top]:
            report.row(ways, use.way, use.near, use.fired)
        parts += ["", ways]
    return parts
