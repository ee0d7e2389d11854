"""What the three tools answer: plain data from the catalogue and the corpus, without the protocol.

A lookup changes nothing and is never refused for being off: scope, refire and preconditions decide what is
put before an agent unasked, and here the agent has asked. Only the switches of the user and the project
keep a way out of a search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ways.catalogue.body import body
from ways.core.ids import MAX_WAY_ID, is_way_id
from ways.core.text import snippet
from ways.matching.reduce import reduce_for_embed, words
from ways.matching.semantic import probability
from ways.matching.types import PROMPT, LaneScores, Scores

if TYPE_CHECKING:
    from ways.catalogue.way import Catalogue, Way

MAX_QUERY = 4_000
MAX_RESULTS = 20
DEFAULT_RESULTS = 5
BY_MEANING, BY_WORDS = "meaning", "words"
# A word of the id or the vocabulary says more about a way than one of its description.
_WEIGHTS = (3.0, 2.0, 1.0)


class BadRequest(ValueError):
    """The arguments cannot be answered; the text says why and what to do."""


@dataclass(frozen=True)
class Library:
    """Where answers come from. `catalogue` is read anew for each request, so that an edit shows at once;
    `switches` gives the test whether a way is switched on; `meaning` gives the scores of a reduced text,
    `near` the corpus ids nearest to one with their cosine (none without a corpus)."""

    catalogue: Callable[[], Catalogue]
    switches: Callable[[], Callable[[str], bool]]
    meaning: Callable[[str], Scores]
    near: Callable[[str, Sequence[str]], Sequence[tuple[str, float]]]


def search(library: Library, query: object, limit: object = None) -> dict[str, object]:
    """Ways about `query`, the best first, at most `limit` (1 to 20).

    By meaning where the engine and the corpus are there, else by words. Raises BadRequest.
    """
    text = _query(query)
    most = _limit(limit)
    is_on = library.switches()
    ways = [way for way in library.catalogue().ways if is_on(way.id)]
    scores = library.meaning(reduce_for_embed(text, PROMPT))
    lanes = [lane for _name, lane in scores.lanes]
    found = _by_meaning(ways, lanes) if lanes else {}
    by_words = _by_words(ways, text)
    order = BY_MEANING if found else BY_WORDS
    # A way that has nothing to embed can still be found by its words, behind those found by meaning.
    ranked = sorted(
        {*found, *by_words}, key=lambda index: (-found.get(index, -1.0), -by_words.get(index, 0.0), index)
    )
    rows = [_row(ways[index], found.get(index)) for index in ranked[:most]]
    return {"query": snippet(text, 200), "ranked_by": order, "ways": rows}


def read(library: Library, way_id: object) -> dict[str, object]:
    """One way's guidance: its description, its body as written, its parent and children.

    A macro is not run: what it would add belongs to the moment the way is shown. Raises BadRequest.
    """
    catalogue = library.catalogue()
    way = _way(catalogue, way_id)
    try:
        text = body(way.path)
    except OSError as error:
        raise BadRequest(f"{way.id} cannot be read: {error.strerror or error}") from error
    return {
        "id": way.id,
        "description": way.description,
        "guidance": text.strip("\n"),
        "parents": [above for above in way.parent_ids if catalogue.find(above) is not None],
        "children": _children(catalogue, way.id),
        "adds_output_when_shown": bool(way.macro_file),
    }


def neighbors(library: Library, way_id: object, limit: object = None) -> dict[str, object]:
    """The ways around one: above it, below it, beside it, and nearest in meaning. Raises BadRequest."""
    catalogue = library.catalogue()
    way = _way(catalogue, way_id)
    most = _limit(limit)
    above = way.id.rsplit("/", 1)[0] if "/" in way.id else ""
    others = {other.corpus_id: other for other in catalogue.ways if other.id != way.id and other.embeddable}
    near = library.near(way.corpus_id, list(others)) if way.embeddable else ()
    return {
        "id": way.id,
        "parents": [one for one in way.parent_ids if catalogue.find(one) is not None],
        "children": _children(catalogue, way.id),
        "beside": [one for one in _children(catalogue, above) if one != way.id] if above else [],
        "near": [_row(others[name], cosine) for name, cosine in near[:most]],
    }


def _query(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadRequest("`query` must be a text that says what the guidance should be about")
    if len(value) > MAX_QUERY:
        raise BadRequest(f"`query` is longer than {MAX_QUERY} characters; one or two sentences are enough")
    return value


def _limit(value: object) -> int:
    if value is None:
        return DEFAULT_RESULTS
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_RESULTS:
        raise BadRequest(f"`limit` must be a whole number from 1 to {MAX_RESULTS}")
    return value


def _way(catalogue: Catalogue, way_id: object) -> Way:
    """The way of a checked id. Raises BadRequest with near names."""
    if not isinstance(way_id, str) or not is_way_id(way_id):
        raise BadRequest(
            f"`id` must be the id of a way, as ways_search gives it, at most {MAX_WAY_ID} characters"
        )
    way = catalogue.find(way_id)
    if way is None:
        from difflib import get_close_matches

        near = get_close_matches(way_id, [way.id for way in catalogue.ways], 3)
        hint = f"; near it: {', '.join(near)}" if near else "; ways_search finds ways by subject"
        raise BadRequest(f"there is no way {snippet(way_id)}{hint}")
    return way


def _children(catalogue: Catalogue, above: str) -> list[str]:
    """The ids directly below `above` in the tree."""
    depth = above.count("/") + 1
    return [way.id for way in catalogue.ways if way.id.startswith(f"{above}/") and way.id.count("/") == depth]


def _row(way: Way, score: float | None) -> dict[str, object]:
    row: dict[str, object] = {"id": way.id, "description": snippet(way.description, 300)}
    if score is not None:
        row["score"] = round(score, 3)
    return row


def _by_meaning(ways: Sequence[Way], lanes: Sequence[LaneScores]) -> dict[int, float]:
    """Per position the best calibrated probability over the lanes; while nothing is calibrated, the first
    lane's cosine (cosines of two models cannot be compared)."""
    calibrated = [lane for lane in lanes if lane.fit is not None]
    found: dict[int, float] = {}
    for index, way in enumerate(ways):
        if not way.embeddable:
            continue
        if calibrated:
            known = [p for lane in calibrated if (p := probability(way.corpus_id, lane)) is not None]
        else:
            known = [lane.whole[way.corpus_id] for lane in lanes[:1] if way.corpus_id in lane.whole]
        if known:
            found[index] = max(known)
    return found


def _by_words(ways: Sequence[Way], text: str) -> dict[int, float]:
    """Per position how much of the query's words its id, vocabulary and description hold."""
    wanted = set(words(text))
    found: dict[int, float] = {}
    for index, way in enumerate(ways):
        fields = (way.id.replace("/", " "), way.vocabulary, way.description)
        score = sum(
            weight * len(wanted & set(words(field))) for weight, field in zip(_WEIGHTS, fields, strict=True)
        )
        if score:
            found[index] = score / (1.0 + len(wanted))
    return found


def as_text(answer: Mapping[str, object]) -> str:
    """An answer as a reader without structured content sees it."""
    if "guidance" in answer:
        return f"{answer['guidance']}\n"
    lines = []
    for name in ("parents", "children", "beside"):
        ids = answer.get(name)
        if isinstance(ids, list) and ids:
            lines.append(f"{name.capitalize()}: {', '.join(ids)}")
    rows = answer.get("ways", answer.get("near"))
    for row in rows if isinstance(rows, list) else []:
        lines.append(f"{row['id']}: {row['description']}")
    return "\n".join(lines) if lines else "Nothing was found."
