"""What the resident embedder does with one request: texts and a corpus in, scores out.

It keeps the vectors of recent texts (a sentence of Claude's last response comes with several prompts)
and the corpora it was asked about, each read again when its file changes.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

from ways import __version__
from ways.embedding import cosine, sidecar, wire

if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterator, Sequence

    from ways.embedding.engine import Engine

    Vector = array[float]

KEPT_TEXTS = 512
KEPT_CORPORA = 4
GROUP, GROUP_CHARACTERS = 8, 2048  # texts and characters between two looks at the clock
LONGEST_KEPT = 4096  # characters of a text whose vector is kept


class Late(Exception):
    """The deadline passed before the work was done."""


class Answerer:
    """Answers requests with one engine. `broken` says that the engine fails and a new process is better."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._vectors: OrderedDict[str, Vector | None] = OrderedDict()
        self._corpora: OrderedDict[str, tuple[tuple[int, ...], sidecar.Sidecar]] = OrderedDict()
        self._started = time.monotonic()
        self.requests = 0
        self.broken = False

    def answer(self, request: wire.Request, deadline: float) -> wire.Answer:
        """The answer to a SCORE or STATUS request; `deadline` in time.monotonic seconds. Raises nothing
        for any request."""
        self.requests += 1
        if request.operation == wire.STATUS:
            return wire.Answer(wire.OK, __version__, self._facts())
        corpus = self._corpus(request.corpus)
        if isinstance(corpus, str):
            return wire.Answer(wire.ERROR, __version__, corpus)
        try:
            vectors = self._embed(request.texts, deadline)
        except Late:
            return wire.Answer(wire.LATE, __version__)
        if vectors is None:
            return wire.Answer(wire.ERROR, __version__, "the engine failed")
        try:
            scores = cosine.reduce_rows(corpus, vectors, self._engine.library.best)
        except ValueError as error:
            return wire.Answer(wire.ERROR, __version__, str(error))
        return wire.Answer(wire.OK, __version__, "", bytes.fromhex(corpus.corpus_hash), scores)

    def _facts(self) -> str:
        facts = {
            "version": __version__,
            "pid": os.getpid(),
            "model": self._engine.name,
            "identity": self._engine.identity,
            "requests": self.requests,
            "up_seconds": int(time.monotonic() - self._started),
        }
        return "\n".join(f"{name}={value}" for name, value in facts.items())

    def _corpus(self, path: str) -> sidecar.Sidecar | str:
        """The sidecar at `path`, or why it cannot be used."""
        try:
            info = os.stat(path)
        except (OSError, ValueError) as error:
            self._corpora.pop(path, None)
            return f"no corpus: {error}"
        stamp = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)
        kept = self._corpora.get(path)
        if kept is not None and kept[0] == stamp:
            self._corpora.move_to_end(path)
            return kept[1]
        loaded = sidecar.load(path)
        if isinstance(loaded, sidecar.Problem):
            return f"no corpus: {loaded.reason}"
        if loaded.model_hash != self._engine.identity:
            return "the corpus was made with another model"
        self._corpora[path] = (stamp, loaded)
        while len(self._corpora) > KEPT_CORPORA:
            self._corpora.popitem(last=False)
        return loaded

    def _embed(self, texts: Sequence[str], deadline: float) -> list[Vector | None] | None:
        """Vectors of the texts, None when the engine failed. Raises Late."""
        found: dict[str, Vector | None] = {
            text: self._vectors[text] for text in texts if text in self._vectors
        }
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for group in _groups(missing):
            if time.monotonic() >= deadline:
                raise Late
            failures = self._engine.failures
            for text, vector in zip(group, self._engine.embed(group), strict=True):
                found[text] = vector
                if len(text) <= LONGEST_KEPT:
                    self._vectors[text] = vector
            if self._engine.failures != failures:
                self._vectors.clear()
                self.broken = True
                return None
        for text in texts:
            if text in self._vectors:
                self._vectors.move_to_end(text)
        while len(self._vectors) > KEPT_TEXTS:
            self._vectors.popitem(last=False)
        return [found[text] for text in texts]


def _groups(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in groups that are embedded in one go, none of them for long."""
    group: list[str] = []
    size = 0
    for text in texts:
        if group and (len(group) == GROUP or size + len(text) > GROUP_CHARACTERS):
            yield group
            group, size = [], 0
        group.append(text)
        size += len(text)
    if group:
        yield group
