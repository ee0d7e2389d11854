"""Texts to vectors in this process (spec: matching, "Embedding").

`open_engine` never raises: what is missing is an `EngineProblem` with the next command. `Engine.embed`
takes any strings whatever: blank ones have no vector, NUL and lone surrogates are replaced, a
text longer than the model's window is cut at tokens.
"""

from __future__ import annotations

import os

from ways.core.record import record
from ways.core.text import clean
from ways.embedding import modelfile, native, paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Mapping, Sequence

    from ways.core.roots import Roots
    from ways.embedding.unigram import Unigram
    from ways.embedding.wordpiece import WordPiece

    Vector = array[float]

MISSING_LIBRARY, MISSING_MODEL, BROKEN = "missing library", "missing model", "broken"


@record
class EngineProblem:
    """Why there is no engine: one of the three kinds, what is wrong and where, what to type next."""

    kind: str
    reason: str
    next_command: str

    def __str__(self) -> str:
        return f"{self.reason}  Next: {self.next_command}"


class Engine:
    """An opened model with its tokenizer. Not for several threads at once.

    `identity` is the hex SHA-256 of weights and tokenizer: vectors of equal identity are comparable.
    `failures` counts texts that the engine could not embed although they were not blank.
    """

    def __init__(
        self,
        model: native.Model,
        tables: modelfile.Tokenizer,
        tokenizer: WordPiece | Unigram,
        library: native.Library,
    ) -> None:
        self._model = model
        self._mean = tables.mean
        self.tokenizer = tokenizer
        self.library = library
        self.name = tables.notes.get("name", "unnamed")
        self.identity = tables.identity
        self.dimensions = model.dimensions
        self.failures = 0

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Per text a float32 vector of length 1, None for a blank text or one the model has no direction for.

        Raises nothing for any text. A failure of the native engine yields None for every text of the
        call and is counted in `failures`.
        """
        vectors: list[Vector | None] = [None] * len(texts)
        places, sequences = [], []
        for place, text in enumerate(texts):
            if not text or text.isspace():
                continue
            ids = self.tokenizer.encode(clean(text))
            if len(ids) > 2:  # more than the frame around every text
                places.append(place)
                sequences.append(ids)
        if not sequences:
            return vectors
        flat = self._model.embed(sequences, self._mean)
        if isinstance(flat, native.Problem):
            self.failures += len(sequences)
            return vectors
        size = self.dimensions
        for number, place in enumerate(places):
            vector = flat[number * size : (number + 1) * size]
            if vector[0] == vector[0]:  # NaN marks a text without direction
                vectors[place] = vector
            else:
                self.failures += 1
        return vectors

    def close(self) -> None:
        """Free the model's memory."""
        self._model.close()


def open_engine(
    model: str, roots: Roots, threads: int = 1, environ: Mapping[str, str] | None = None
) -> Engine | EngineProblem:
    """The engine for `model` ("en" or "multi"), or what is missing. Never raises."""
    library_path = paths.find_library(roots, environ)
    if not library_path:
        looked = ", ".join(paths.library_places(roots, environ))
        return EngineProblem(
            MISSING_LIBRARY, f"the embedding engine is not there (looked at {looked})", "ways doctor"
        )
    model_path = paths.find_model(model, roots, environ)
    if not model_path:
        return _no_model(model, roots, environ)
    return open_files(library_path, model_path, threads)


def _no_model(model: str, roots: Roots, environ: Mapping[str, str] | None) -> EngineProblem:
    looked = ", ".join(paths.model_places(model, roots, environ))
    if model == paths.MULTI:
        reason = f"the multilingual model is not installed (looked at {looked})"
        return EngineProblem(MISSING_MODEL, reason, "ways tune language --install")
    return EngineProblem(MISSING_MODEL, f"the English model is not there (looked at {looked})", "ways doctor")


def open_files(library_path: str, model_path: str, threads: int = 1) -> Engine | EngineProblem:
    """The engine from a library and a model named by path. Never raises."""
    tables = modelfile.load(model_path)
    if isinstance(tables, modelfile.Problem):
        return EngineProblem(BROKEN, tables.reason, "ways doctor")
    try:
        tokenizer = _tokenizer(tables)
    except (KeyError, ValueError) as error:
        return EngineProblem(BROKEN, f"{model_path}: its tokenizer lacks {error}", "ways doctor")
    library = native.load(library_path)
    if isinstance(library, native.Problem):
        return EngineProblem(BROKEN, library.reason, "ways doctor")
    model = library.open(model_path, max(1, min(threads, os.cpu_count() or 1, 64)))
    if isinstance(model, native.Problem):
        return EngineProblem(BROKEN, f"{model_path}: {model.reason}", "ways doctor")
    if tables.mean and len(tables.mean) != 4 * model.dimensions:
        return EngineProblem(BROKEN, f"{model_path}: its mean vector has another size", "ways doctor")
    return Engine(model, tables, tokenizer, library)


def _tokenizer(tables: modelfile.Tokenizer) -> WordPiece | Unigram:
    if tables.kind == modelfile.WORDPIECE:
        from ways.embedding.wordpiece import WordPiece

        return WordPiece(tables)
    from ways.embedding.unigram import Unigram

    return Unigram(tables)
