"""Scores of a surface against the corpus, for matching (spec: matching; on the hook's path).

The resident embedder answers when it is up; else this process loads the model and does the same
work itself. Either way the result is one `LaneScores` a lane. What is missing is a value with its
reason, never an exception: a hook without an engine is a hook without a semantic channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan

from ways.core.record import record
from ways.embedding import client, cosine, near, sidecar
from ways.matching.types import EN, MULTI, LaneScores, Scores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ways.catalogue.way import Way
    from ways.core.roots import Roots
    from ways.embedding.engine import Engine, EngineProblem
    from ways.embedding.near import Asked
    from ways.embedding.sidecar import Sidecar

    Vector = array[float]
    Opener = Callable[[str, Roots], Engine | EngineProblem]


@record
class NoScores:
    """Why a lane has no scores. `engine` is True when it is the engine or its model that is missing,
    False when it is the corpus; `unbuilt` when the lane's corpus was never built."""

    reason: str
    engine: bool = False
    unbuilt: bool = False


@record
class Semantic:
    """What the semantic channel has for a surface, and per lane without scores the reason.

    `engine_missing` is True when the English engine itself is not usable: the one thing that is
    worth a notice to the user, once a session.
    """

    scores: Scores
    reasons: tuple[str, ...] = ()
    engine_missing: bool = False


class IdScores(Mapping[str, float]):
    """Corpus id to cosine, over the positions of a sidecar; an id whose value is NaN is missing."""

    __slots__ = ("_index", "_values")

    def __init__(self, index: dict[str, int], values: Sequence[float]) -> None:
        self._index = index
        self._values = values

    def __getitem__(self, corpus_id: str) -> float:
        value = self._values[self._index[corpus_id]]
        if isnan(value):
            raise KeyError(corpus_id)
        return value

    def get(self, corpus_id: str, default: Any = None) -> Any:
        # Asked for every way and chunk of a scan: without the exception of the inherited method.
        position = self._index.get(corpus_id)
        if position is None:
            return default
        value = self._values[position]
        return default if isnan(value) else value

    def __iter__(self) -> Iterator[str]:
        values = self._values
        return (name for name, position in self._index.items() if not isnan(values[position]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class BodyScores(Mapping[str, float]):
    """Corpus id to the best cosine of one vector over the id's body rows, worked out when asked for:
    confirmation looks at six ways of a hundred."""

    __slots__ = ("_best", "_corpus", "_known", "_vector")

    def __init__(self, corpus: Sidecar, vector: Vector | None, best: cosine.Best) -> None:
        self._corpus = corpus
        self._vector = vector
        self._best = best
        self._known: dict[str, float] = {}

    def __getitem__(self, corpus_id: str) -> float:
        if corpus_id not in self._known:
            position = self._corpus.index[corpus_id]
            if self._vector is None:
                raise KeyError(corpus_id)
            self._known[corpus_id] = cosine.body_score(self._corpus, position, self._vector, self._best)
        value = self._known[corpus_id]
        if isnan(value):
            raise KeyError(corpus_id)
        return value

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._corpus.ids if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def semantic_scores(
    whole: str,
    chunks: Sequence[str],
    roots: Roots,
    *,
    localized: bool = False,
    resident: bool = True,
    idle_minutes: float = 10.0,
    opener: Opener | None = None,
    asked: Asked | None = None,
) -> Semantic:
    """The scores of a reduced surface and its sentence chunks; with `localized` (the language is not
    English) on the multilingual lane too, where it was built.

    `chunks` is () on a surface that is matched as a single vector. With `resident` (the setting
    `engine.resident`) a running resident is asked first, and when none runs one is started for the next
    hook, to stay for `idle_minutes`; `asked` is what it was asked already (ways.embedding.near). `opener`
    replaces `open_engine`. Raises nothing.
    """
    found: dict[str, LaneScores] = {}
    reasons = []
    engine_missing = False
    for lane in (EN, MULTI) if localized else (EN,):
        scores = score_surface(
            whole,
            chunks,
            roots,
            lane=lane,
            resident=resident,
            idle_minutes=idle_minutes,
            opener=opener,
            asked=asked if lane == EN else None,
        )
        if isinstance(scores, NoScores):
            # Another language without the model, or before the first build, is no fault.
            if not (lane == MULTI and scores.unbuilt):
                reasons.append(f"{lane}: {scores.reason}")
            engine_missing |= scores.engine and lane == EN
        else:
            found[lane] = scores
    return Semantic(Scores(found.get(EN), found.get(MULTI)), tuple(reasons), engine_missing)


def score_surface(
    whole: str,
    chunks: Sequence[str],
    roots: Roots,
    *,
    lane: str = EN,
    resident: bool = True,
    idle_minutes: float = 10.0,
    opener: Opener | None = None,
    asked: Asked | None = None,
) -> LaneScores | NoScores:
    """The scores of one lane: `whole` against the aliases, and on the English lane each of at least
    two chunks against aliases and bodies. Every cosine counts, a negative one too. Raises nothing.
    """
    if not whole.strip():
        return NoScores("the surface is blank")
    corpus = sidecar.load(sidecar.path_in(roots.cache, lane))
    if isinstance(corpus, sidecar.Problem):
        why = _cannot_build(roots) if lane == EN and opener is None else ""
        reason = "; ".join(part for part in (f"no corpus: {corpus.reason}", why) if part)
        return NoScores(reason, engine=bool(why), unbuilt=corpus.missing)
    texts, places = near.texts_of(whole, chunks if lane == EN else ())
    if resident:
        if asked is not None and asked.texts == texts:
            answered = _heard(corpus, asked)
        else:
            answered = client.score(roots, lane, corpus, texts, idle_minutes=idle_minutes)
        if not isinstance(answered, client.NoAnswer):
            return _answered(corpus, answered, places)
    if opener is None:
        from ways.embedding.engine import open_engine

        opener = open_engine
    return _in_process(corpus, texts, places, opener(lane, roots))


def _heard(corpus: Sidecar, asked: Asked) -> client.Scores | client.NoAnswer:
    """What the resident has answered, if it is about this corpus."""
    if isinstance(asked.answer, client.NoAnswer):
        return asked.answer
    return client.scores_of(asked.answer, corpus.corpus_hash, len(corpus.ids), len(asked.texts))


def _cannot_build(roots: Roots) -> str:
    """Why the English engine does not open, "" when it does. A corpus that is not there yet is no fault,
    because the next session start builds it: unless it cannot be built. Then the user is told (case h22)."""
    from ways.embedding.engine import EngineProblem, open_engine

    engine = open_engine(EN, roots)
    if isinstance(engine, EngineProblem):
        return str(engine)
    engine.close()
    return ""


def holds(corpus: Sidecar, way: Way) -> bool:
    """True when the corpus has a row for the way's alias as it is now. Asked for a keyword that is about
    to be vetoed: what was written or changed since the last build has no score of its own yet."""
    from ways.embedding.aliases import alias_text

    position = corpus.index.get(way.corpus_id)
    if position is None:
        return False
    span = corpus.span(position)
    wanted = sidecar.text_hash(alias_text(way.alias))
    return any(corpus.text_hash(row) == wanted for row in range(span.alias, span.alias + span.aliases))


def _in_process(
    corpus: Sidecar, texts: Sequence[str], places: Sequence[int], engine: Engine | EngineProblem
) -> LaneScores | NoScores:
    from ways.embedding.engine import EngineProblem

    if isinstance(engine, EngineProblem):
        return NoScores(str(engine), engine=True)
    if engine.identity != corpus.model_hash:
        return NoScores("the corpus was made with another model; `ways corpus` makes it anew")
    vectors = engine.embed(texts)
    if engine.failures and not any(vector is not None for vector in vectors):
        return NoScores(f"the engine could not embed {engine.failures} of {len(texts)} texts", engine=True)
    best = engine.library.best
    aliases = cosine.alias_scores(corpus, vectors, best)
    return LaneScores(
        fit=corpus.fit,
        holds=lambda way: holds(corpus, way),
        whole=IdScores(corpus.index, aliases[0]),
        chunks=tuple(IdScores(corpus.index, aliases[place]) for place in places),
        bodies=tuple(BodyScores(corpus, vectors[place], best) for place in places),
    )


def _answered(corpus: Sidecar, answered: client.Scores, places: Sequence[int]) -> LaneScores:
    return LaneScores(
        fit=corpus.fit,
        holds=lambda way: holds(corpus, way),
        whole=IdScores(corpus.index, answered[0][0]),
        chunks=tuple(IdScores(corpus.index, answered[place][0]) for place in places),
        bodies=tuple(IdScores(corpus.index, answered[place][1]) for place in places),
    )
