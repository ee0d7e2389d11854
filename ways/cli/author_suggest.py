"""`ways author suggest`: words that would tell a way from its neighbours."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.cli.author_siblings import english_corpus
from ways.core import files
from ways.core.errors import USAGE, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.cli.place import Place
    from ways.embedding.neighbours import Suggestion
    from ways.embedding.vectors import Engine

NEAR = 5


@dataclass(frozen=True)
class Advice:
    """Words to add, vocabulary words to drop, and the ways that both are measured against."""

    way: str
    near: tuple[tuple[str, float], ...]
    add: tuple[Suggestion, ...]
    drop: tuple[Suggestion, ...]


@click.command("suggest")
@click.argument("way", metavar="ID|FILE")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Words of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(way: str, limit: int, as_json: bool) -> None:
    """Suggest vocabulary for a way (an ID, or the FILE of a way that is still being written).

    A word is worth adding when it brings the way nearer to its own body than to the ways near it.
    """
    from ways.embedding import models

    here = place.here(resolve())
    found = read_file(way) if os.path.isfile(way) else here.way(way)
    engine = models.model_of("en", here.roots).open()
    advice = advise(here, found, engine)
    if as_json:
        click.echo(json.dumps(asdict(advice), indent=2))
        return
    near = ", ".join(f"{printable(name)} {cosine:.2f}" for name, cosine in advice.near) or "none"
    click.echo(f"Nearest ways: {near}")
    _print("Words to add to the vocabulary", advice.add[:limit])
    _print("Vocabulary words to drop", advice.drop[:limit])


def _print(title: str, found: tuple[Suggestion, ...]) -> None:
    click.echo(f"{title}: {'' if found else 'none would help'}")
    for each in found:
        click.echo(f"  {each.word:<20} own body {each.own:+.3f}, nearest other {each.others:+.3f}")


def read_file(path: str) -> Way:
    """The way in a file that need not lie in a root. Raises UserError with line and column."""
    from ways.catalogue import frontmatter
    from ways.catalogue.way import Broken

    name = os.path.splitext(os.path.basename(path))[0]
    try:
        data = files.read_bytes(path, 1 << 20)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", USAGE) from error
    parsed = frontmatter.parse_way(data, name, os.path.abspath(path), "user")
    if isinstance(parsed, Broken):
        raise UserError(f"{path}:{parsed.line}:{parsed.column}: {parsed.message}", "ways author lint", WRONG)
    return parsed


def advise(here: Place, way: Way, engine: Engine) -> Advice:
    """The advice for one way. Raises UserError when it has nothing to embed or there is no corpus."""
    from ways.catalogue.body import body
    from ways.embedding import neighbours
    from ways.embedding.rows import body_chunks

    if not way.embeddable:
        raise UserError(
            f"{way.path}: the way has no description to start from", "ways author template", WRONG
        )
    text = body(way.path)
    others = {other.corpus_id: other.id for other in here.catalogue.ways if other.id != way.id}
    vectors = neighbours.alias_vectors(english_corpus(here), list(others))
    vectors.pop(way.corpus_id, None)
    (own,) = engine.embed([way.alias])
    if own is None:
        raise UserError(f"{way.path}: the engine has no vector for its description", "ways doctor", WRONG)
    near = neighbours.nearest([own], vectors)[:NEAR]
    around = [row for name, _ in near for row in vectors[name]]
    spoken = way.vocabulary.split()
    add = {word: f"{way.alias} {word}" for word in neighbours.candidate_words(way.alias, text)}
    drop = {
        word: f"{way.description} {' '.join(other for other in spoken if other != word)}".strip()
        for word in dict.fromkeys(spoken)
    }
    chunks = body_chunks(text)
    return Advice(
        way.id,
        tuple((others[name], round(cosine, 4)) for name, cosine in near),
        tuple(neighbours.suggest(engine, way.alias, add, chunks, around)),
        tuple(neighbours.suggest(engine, way.alias, drop, chunks, around)),
    )
