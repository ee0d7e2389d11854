"""`ways author siblings`: the ways whose alias lies nearest to that of a way."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.core.errors import UserError
from ways.core.roots import resolve
from ways.core.text import printable, snippet

if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.cli.place import Place
    from ways.embedding.sidecar import Sidecar


@click.command("siblings")
@click.argument("way_id", metavar="ID")
@click.option(
    "--threshold",
    type=click.FloatRange(-1.0, 1.0),
    default=0.4,
    show_default=True,
    help="Leave out ways with a lower cosine.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(way_id: str, threshold: float, as_json: bool) -> None:
    """Show the ways that the way ID is most easily confused with."""
    here = place.here(resolve())
    way = here.way(way_id)
    found = [(other, cosine) for other, cosine in siblings(here, way) if cosine >= threshold]
    if as_json:
        rows = [
            {"way": other.id, "cosine": round(cosine, 4), "description": other.description}
            for other, cosine in found
        ]
        click.echo(json.dumps({"way": way.id, "threshold": threshold, "siblings": rows}, indent=2))
        return
    if not found:
        click.echo(f"No way is nearer to {printable(way.id)} than {threshold:g}.")
    for other, cosine in found:
        click.echo(f"{cosine:5.2f}  {printable(other.id)}  {printable(snippet(other.description, 80))}")


def siblings(here: Place, way: Way) -> list[tuple[Way, float]]:
    """The other ways of this place with the cosine of their aliases, nearest first.

    Reads the corpus only; no model is loaded. Raises UserError when the corpus lacks the way.
    """
    from ways.embedding.neighbours import alias_vectors, nearest

    others = {other.corpus_id: other for other in here.catalogue.ways if other.id != way.id}
    vectors = alias_vectors(english_corpus(here), [way.corpus_id, *others])
    own = vectors.pop(way.corpus_id, None)
    if own is None:
        why = "has no description" if not way.embeddable else "is not in the corpus yet"
        raise UserError(f"{way.id} {why}", "" if not way.embeddable else "ways corpus")
    return [(others[name], cosine) for name, cosine in nearest(own, vectors)]


def english_corpus(here: Place) -> Sidecar:
    """The English corpus. Raises UserError when there is none."""
    from ways.embedding import sidecar

    opened = sidecar.load(sidecar.path_in(here.roots.cache, "en"))
    if isinstance(opened, sidecar.Problem):
        raise UserError(f"there is no corpus: {opened.reason}", "ways corpus")
    return opened
