"""`ways author graph`: the tree of ways with those that lie near each other."""

from __future__ import annotations

import click

from ways.authoring import cosines, graph
from ways.authoring.lint import NEAR_COSINE
from ways.cli import place
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable


@click.command("graph")
@click.option("--format", "form", type=click.Choice(graph.FORMATS), default="dot", help="Output.")
@click.option("--domain", default="", help="Only this domain.")
@click.option(
    "--near",
    type=click.FloatRange(0.0, 1.0),
    default=0.7,
    show_default=True,
    help="Join ways whose cosine is at least this.",
)
def command(form: str, domain: str, near: float) -> None:
    """Draw the tree of ways, and which of them lie near each other in meaning.

    Without a corpus the tree alone is drawn. A red line in DOT, a thick one in Mermaid: hard to tell apart.
    """
    here = place.here(resolve())
    ways = [way for way in here.catalogue.ways if not domain or way.domain == domain]
    if domain and not ways:
        raise UserError(f"there is no domain {printable(domain)!r}", "ways author tree", USAGE)
    ids = [way.corpus_id for way in ways if way.embeddable]
    found = cosines.above(here.roots.cache, ids, near, cosines.products(here.roots))
    if found is None:
        click.echo("ways: there is no corpus, so only the tree is drawn  Next: ways corpus", err=True)
    made = graph.build(ways, found or {}, near, max(near, NEAR_COSINE))
    click.echo(graph.written(made, form), nl=False)
