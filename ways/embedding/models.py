"""The models of the lanes, as a build of the corpus takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ways.catalogue.walk import stamp
from ways.core.errors import UNVERIFIED, WRONG, UserError
from ways.embedding import modelfile, paths
from ways.embedding.engine import EngineProblem, open_engine
from ways.embedding.vectors import Model
from ways.matching.types import EN, MULTI

if TYPE_CHECKING:
    from ways.core.roots import Roots
    from ways.embedding.engine import Engine


def is_localized(roots: Roots, language: str) -> bool:
    """Localized mode: `language` is not English and the multilingual model is there (spec: embedding)."""
    return language.split("-", maxsplit=1)[0].lower() != EN and bool(paths.find_model(MULTI, roots))


def lanes_of(roots: Roots, language: str) -> tuple[str, ...]:
    """The lanes that a corpus of this language has."""
    return (EN, MULTI) if is_localized(roots, language) else (EN,)


def model_of(lane: str, roots: Roots, threads: int = 1) -> Model:
    """The model of a lane. Raises UserError when its file is not there."""
    path = paths.find_model(lane, roots)
    if not path:
        problem = open_engine(lane, roots)
        assert isinstance(problem, EngineProblem)  # there is no model to open
        raise _error(problem)
    return Model(
        name=lane,
        stamp=f"{path} {stamp(path)}",
        sha256=lambda: _identity(path),
        open=lambda: _opened(lane, roots, threads),
    )


def _identity(path: str) -> str:
    opened = modelfile.load(path)
    if isinstance(opened, modelfile.Problem):
        raise UserError(opened.reason, "ways doctor", UNVERIFIED)
    return opened.identity


def _opened(lane: str, roots: Roots, threads: int) -> Engine:
    engine = open_engine(lane, roots, threads)
    if isinstance(engine, EngineProblem):
        raise _error(engine)
    return engine


def _error(problem: EngineProblem) -> UserError:
    return UserError(problem.reason, problem.next_command, WRONG)
