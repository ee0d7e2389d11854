from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from build import packages
from tests.unit.embedding import parts
from ways.embedding import modelfile, native

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def library() -> native.Library:
    loaded = native.load(parts.library())
    assert isinstance(loaded, native.Library), loaded
    return loaded


def test_engine_version_is_the_pinned_one(library):
    pinned = f"llama-cpp-python {packages.pinned('llama-cpp-python')['version']}"
    assert library.version == native.ENGINE_VERSION == pinned


def test_a_missing_library_is_a_problem(tmp_path):
    answer = native.load(str(tmp_path / "no.so"))
    assert isinstance(answer, native.Problem)
    assert "no.so" in answer.reason


def test_a_file_that_is_no_library_is_a_problem(tmp_path):
    path = tmp_path / "ways_native.so"
    path.write_bytes(b"\x7fELF nothing of the kind")
    assert isinstance(native.load(str(path)), native.Problem)


def test_a_library_cut_short_is_a_problem_and_not_the_end_of_the_process(tmp_path):
    whole = Path(parts.library()).read_bytes()
    lengths = [5, 63, 64, 500, 4096, *(len(whole) * part // 8 for part in range(1, 8)), len(whole) - 1]
    for length in lengths:
        (tmp_path / f"{length}.so").write_bytes(whole[:length])
    code = (
        "import sys; from ways.embedding import native\n"
        "for path in sys.argv[1:]: print(native.load(path).reason)"
    )
    paths = [str(tmp_path / f"{length}.so") for length in lengths]
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr)
    reasons = done.stdout.splitlines()
    assert len(reasons) == len(paths)
    assert all("cut short" in reason for reason in reasons[2:]), reasons
    assert not native.is_cut_short(parts.library())


def test_another_library_is_a_problem():
    import ctypes.util

    name = ctypes.util.find_library("m")
    assert name
    answer = native.load(name)
    assert isinstance(answer, native.Problem)
    assert "not the engine of this program" in answer.reason


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("absent.gguf", None),
        ("empty.gguf", b""),
        ("text.gguf", b"hello" * 100),
        ("magic.gguf", b"GGUF" + bytes(400)),
    ],
)
def test_what_is_no_model_is_a_problem(library, tmp_path, path, content):
    if content is not None:
        (tmp_path / path).write_bytes(content)
    answer = library.open(str(tmp_path / path))
    assert isinstance(answer, native.Problem)
    assert answer.code == 2


def test_a_path_that_is_not_unicode_is_a_problem(library):
    assert isinstance(library.open("/tmp/\udcff.gguf"), native.Problem)


@pytest.mark.parametrize("threads", [0, -1, 65])
def test_a_number_of_threads_out_of_range_is_a_problem(library, threads):
    assert isinstance(library.open(parts.model_path(), threads), native.Problem)


def test_damaged_models_never_end_the_process(tmp_path):
    """Sizes, types, names and offsets of the GGUF flipped at random: each is refused or opened, in a
    process that is still there afterwards."""
    script = """
import random, sys
from pathlib import Path
from ways.embedding import native
library = native.load(sys.argv[1]); assert isinstance(library, native.Library)
whole = Path(sys.argv[2]).read_bytes(); chance = random.Random(7); opened = refused = 0
for attempt in range(60):
    data = bytearray(whole)
    for _ in range(chance.randint(1, 12)):
        data[chance.randrange(8, 6000)] = chance.randrange(256)
    if attempt % 6 == 0:
        del data[chance.randrange(10, len(data)):]
    path = Path(sys.argv[3]) / "damaged.gguf"
    path.write_bytes(data)
    model = library.open(str(path))
    if isinstance(model, native.Problem):
        refused += 1
    else:
        model.embed([[101, 2000, 102]]); opened += 1; model.close()
print(opened, refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, parts.library(), parts.model_path(), str(tmp_path)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    opened, refused = map(int, done.stdout.split())
    assert opened + refused == 60
    assert refused >= 10


def test_nothing_is_printed(tmp_path):
    script = (
        "import sys; from ways.embedding import native; lib = native.load(sys.argv[1]);"
        "lib.open(sys.argv[2]).embed([[101, 7592, 102]]); lib.open(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, parts.library(), parts.model_path()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.fixture(scope="module")
def model(library) -> native.Model:
    opened = library.open(parts.model_path())
    assert isinstance(opened, native.Model)
    return opened


def test_sizes_of_the_model(model):
    assert (model.dimensions, model.vocabulary) == (384, 30522)


def test_vectors_have_length_one(model):
    flat = model.embed([[101, 7592, 102], [101, 2088, 2003, 102]])
    assert len(flat) == 2 * 384
    for start in (0, 384):
        assert math.isclose(sum(value * value for value in flat[start : start + 384]), 1.0, rel_tol=1e-5)


def test_a_batch_gives_what_single_calls_give(model):
    sequences = [[101, *range(2000 + n, 2000 + n + 1 + n % 40), 102] for n in range(40)]
    together = model.embed(sequences)
    for number, sequence in enumerate(sequences):
        alone = model.embed([sequence])
        cosine_ = sum(a * b for a, b in zip(alone, together[number * 384 : (number + 1) * 384], strict=True))
        assert cosine_ > 0.998  # rounding of quantised activations; F16 agrees to 0.999999


@pytest.mark.parametrize(
    "sequences", [[[]], [[101] * 513], [[-1]], [[30522]], [[101, 2**31 - 1]], [[2**40]], [["x"]]]
)
def test_token_ids_that_the_model_does_not_have_are_a_problem(model, sequences):
    assert isinstance(model.embed(sequences), native.Problem)
    assert len(model.embed([[101, 7592, 102]])) == 384


def test_no_sequences_are_no_vectors(model):
    assert model.embed([]) == array("f")


def test_the_longest_sequence_is_taken(model):
    assert len(model.embed([[2000] * 512, [2001] * 512])) == 2 * 384


def test_a_mean_of_another_size_is_a_problem(model):
    assert isinstance(model.embed([[101, 102]], bytes(8)), native.Problem)


def test_the_mean_is_subtracted(model):
    plain = model.embed([[101, 7592, 102]])
    halved = array("f", [value / 2 for value in plain])
    assert list(model.embed([[101, 7592, 102]], halved.tobytes())) == pytest.approx(list(plain), abs=1e-5)
    gone = model.embed([[101, 7592, 102]], plain.tobytes())
    assert all(map(math.isnan, gone)) or abs(sum(v * v for v in gone) - 1) < 1e-3


def test_a_closed_model_is_a_problem(library):
    opened = library.open(parts.model_path())
    assert isinstance(opened, native.Model)
    opened.close()
    opened.close()
    assert isinstance(opened.embed([[101, 102]]), native.Problem)


floats = st.floats(-1, 1, width=32)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), dimensions=st.integers(1, 19), owners=st.integers(0, 6), queries=st.integers(0, 3))
def test_best_is_the_highest_product_of_each_owner(library, data, dimensions, owners, queries):
    counts = data.draw(st.lists(st.integers(0, 4), min_size=owners, max_size=owners))
    values = data.draw(st.lists(floats, min_size=sum(counts) * dimensions, max_size=sum(counts) * dimensions))
    asked = array(
        "f", data.draw(st.lists(floats, min_size=queries * dimensions, max_size=queries * dimensions))
    )
    spans, first = array("I"), 0
    for count in counts:
        spans.extend([first, count, 0, 0])
        first += count
    rows = memoryview(array("f", values).tobytes()).cast("f")  # read-only, as a mapped file is
    table = memoryview(spans.tobytes()).cast("I")
    found = library.best(asked, rows, dimensions, table, 0)
    expected = []
    for query in range(queries):
        vector = asked[query * dimensions : (query + 1) * dimensions]
        for owner in range(owners):
            mine = range(spans[4 * owner], spans[4 * owner] + counts[owner])
            at = [rows[row * dimensions : (row + 1) * dimensions] for row in mine]
            products = [math.fsum(a * b for a, b in zip(vector, row, strict=True)) for row in at]
            expected.append(max(products, default=math.nan))
    assert list(found) == pytest.approx(expected, abs=1e-4, nan_ok=True)
    assert len(found) == owners * queries
    products = library.kernel(rows, dimensions, [asked[:dimensions]] if queries else [])
    assert all(len(row) == len(rows) // dimensions for row in products)


def test_spans_outside_the_rows_are_a_problem(library):
    rows = memoryview(array("f", [1.0, 2.0]).tobytes()).cast("f")
    for first, count in ((0, 3), (3, 0), (2**32 - 1, 2**32 - 1)):
        spans = memoryview(array("I", [first, count, 0, 0]).tobytes()).cast("I")
        assert isinstance(library.best(array("f", [1.0]), rows, 1, spans, 0), native.Problem)


def test_kernel_refuses_a_vector_of_another_size(library):
    with pytest.raises(ValueError, match="3 values"):
        library.kernel(memoryview(bytes(12)).cast("f"), 3, [array("f", [1.0])])


def test_the_model_file_is_the_recorded_one():
    recorded = json.loads((packages.HERE.parent / "ways" / "embedding" / "models.json").read_text("utf-8"))[
        "en"
    ]
    path = parts.model_path()
    opened = modelfile.load(path)
    assert isinstance(opened, modelfile.Tokenizer)
    assert packages.sha256_of(Path(path)) == recorded["sha256"]
    assert os.stat(path).st_size == recorded["size"]
    assert opened.identity == recorded["identity"]
    assert opened.notes["name"] == recorded["name"]
    assert modelfile.verify(path) is None


@pytest.mark.parametrize("damage", ["cut", "footer", "tokenizer", "weights", "longer", "empty"])
def test_a_damaged_model_file_is_named(tmp_path, damage):
    data = bytearray(Path(parts.model_path()).read_bytes())
    if damage == "cut":
        del data[-1000:]
    elif damage == "footer":
        data[-60:-40] = bytes(20)
    elif damage == "tokenizer":
        data[-5000] ^= 1
    elif damage == "weights":
        data[10_000_000] ^= 1
    elif damage == "longer":
        data += b"more"
    else:
        data.clear()
    path = tmp_path / "en.gguf"
    path.write_bytes(data)
    found = modelfile.verify(str(path))
    assert isinstance(found, modelfile.Problem)
    assert str(path) in found.reason
    if damage != "weights":  # only a full check reads those
        assert isinstance(modelfile.load(str(path)), modelfile.Problem)


def test_what_is_no_file_is_named(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo", tmp_path / "absent"):
        assert isinstance(modelfile.load(str(path)), modelfile.Problem)
