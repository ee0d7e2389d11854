"""A deterministic embedder without a model: words hashed into signed buckets, length 1."""

from __future__ import annotations

import math
from array import array
from hashlib import blake2b, sha256

from ways.embedding.vectors import Model

DIMENSIONS = 32


class HashingEngine:
    """Counts what it was asked to embed, so that a test can see what was not embedded again."""

    def __init__(self, salt: str = "") -> None:
        self.salt = salt
        self.name = f"hashing{salt}"
        self.dimensions = DIMENSIONS
        self.asked: list[str] = []

    def embed(self, texts):
        self.asked += texts
        return [self._vector(text) for text in texts]

    def _vector(self, text):
        values = [0.0] * DIMENSIONS
        for word in text.lower().split():
            digest = blake2b((self.salt + word).encode("utf-8", "replace"), digest_size=4).digest()
            for byte in digest:
                values[byte % DIMENSIONS] += 1.0 if byte & 128 else -1.0
        length = math.sqrt(sum(value * value for value in values))
        return array("f", [value / length for value in values]) if length else None


def model_of(engine: HashingEngine, opened: list | None = None) -> Model:
    """A Model around the engine; `opened` gets an entry each time the model is loaded."""

    def load():
        if opened is not None:
            opened.append(engine)
        return engine

    digest = sha256(engine.name.encode()).hexdigest()
    return Model(name=engine.name, stamp=engine.name, sha256=lambda: digest, open=load)
