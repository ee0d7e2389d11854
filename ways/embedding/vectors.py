"""Vectors by the hash of their text: taken over from the last build, or embedded now."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from math import isfinite, sqrt
from operator import mul
from typing import TYPE_CHECKING, Protocol

from ways.embedding import sidecar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Vector = array[float]  # of float32
    Vectors = dict[bytes, Vector]

BATCH = 16


class Engine(Protocol):
    """What embeds: per text a vector of length 1, None for a blank text."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], /) -> Sequence[array[float] | None]: ...


@dataclass(frozen=True)
class Model:
    """A model that a lane is embedded with. `stamp` changes when its file changes; `sha256` reads
    the file and answers 64 hex digits; `open` loads it and raises UserError when it cannot."""

    name: str
    stamp: str
    sha256: Callable[[], str]
    open: Callable[[], Engine]


def reusable(path: str, model_hash: str) -> Vectors:
    """The vectors of a sidecar by text hash: none when it is damaged or of another model."""
    if sidecar.verify(path) is not None:
        return {}
    # Read, not mapped: the vectors outlive the file, which this build is about to replace.
    opened = sidecar.load(path, mapped=False)
    if isinstance(opened, sidecar.Problem) or opened.model_hash != model_hash:
        return {}
    return {opened.text_hash(row): array("f", opened.row(row)) for row in range(opened.row_count)}


def embed(engine: Engine, texts: Mapping[bytes, str], done: Callable[[int], None]) -> Vectors:
    """The vectors of texts, of length 1 each; `done` hears the size of every finished batch.

    Texts to which the engine has no answer (blank) are left out, and so is an answer that is not
    finite or has no length: a damaged row must never reach a hook.
    """
    found: Vectors = {}
    # Like lengths together, so that a batch is not padded to its one long text.
    ordered = sorted(texts.items(), key=lambda item: len(item[1]))
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        answers = engine.embed([words for _, words in batch])
        for (key, _), answer in zip(batch, answers, strict=True):
            vector = None if answer is None else _unit(answer)
            if vector is not None:
                found[key] = vector
        done(len(batch))
    return found


def _unit(vector: Sequence[float]) -> Vector | None:
    length = sqrt(dot(vector, vector))
    if not isfinite(length) or length < 1e-12:
        return None
    return array("f", [value / length for value in vector])


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """The dot product of two vectors, added up in double precision."""
    total: float = sum(map(mul, one, other))
    return total


def stack(keys: Sequence[bytes], vectors: Vectors) -> Vector:
    """The vectors of `keys` one after another."""
    rows = array("f")
    for key in keys:
        rows += vectors[key]
    return rows
