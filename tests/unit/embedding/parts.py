"""The real engine for tests: built and converted on demand, once, in the build cache."""

from __future__ import annotations

import os
from array import array
from functools import cache
from pathlib import Path

import pytest

from build import engine, model, packages
from ways.core.roots import Roots
from ways.embedding import sidecar
from ways.embedding.engine import Engine, EngineProblem, open_files

SKIP = "WAYS_SKIP_MODEL"


@cache
def library() -> str:
    """Path of the native library."""
    if os.environ.get(SKIP) == "1":
        pytest.skip(f"{SKIP}=1")
    return str(engine.cached(packages.cache_folder()))


@cache
def model_path(name: str = "en") -> str:
    """Path of a converted model."""
    if os.environ.get(SKIP) == "1":
        pytest.skip(f"{SKIP}=1")
    return str(model.cached(name))


@cache
def opened(name: str = "en") -> Engine:
    """An opened engine, one for all tests of the process."""
    found = open_files(library(), model_path(name))
    assert isinstance(found, Engine), str(found)
    return found


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process and its children find the real parts."""
    monkeypatch.setenv("WAYS_ENGINE_LIB", library())
    monkeypatch.setenv("WAYS_MODELS_DIR", str(Path(model_path()).parent))


def roots_in(folder: Path) -> Roots:
    """Roots below a folder; nothing of the user's."""
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    return Roots(**{name: str(folder / name) for name in names})


def write_corpus(path: Path, ways: dict[str, tuple[list[str], list[str]]], broken_hash: bool = False) -> str:
    """A sidecar of ways (id: aliases, bodies), embedded with the real engine; its path."""
    entries, vectors = [], array("f")
    for body in (False, True):
        for corpus_id in sorted(ways):
            for text in ways[corpus_id][body]:
                (vector,) = opened().embed([text])
                assert vector is not None
                entries.append(sidecar.Entry(corpus_id, body, sidecar.text_hash(text)))
                vectors += vector
    data = sidecar.encode(
        entries,
        vectors.tobytes(),
        opened().dimensions,
        model_hash="00" * 32 if broken_hash else opened().identity,
        corpus_hash=f"{len(entries):064x}",
        fit=(10.0, -5.0),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".new")
    temporary.write_bytes(data)
    temporary.replace(path)
    return str(path)


def problem(value: object) -> str:
    """The text of an EngineProblem; fails the test for anything else."""
    assert isinstance(value, EngineProblem), value
    return str(value)
