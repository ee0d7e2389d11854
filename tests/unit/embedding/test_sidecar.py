from __future__ import annotations

import os
import struct
import subprocess
import sys
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.core import files
from ways.core.checksum import SIZE, checksum
from ways.embedding import header, sidecar
from ways.embedding.sidecar import Entry, Problem, Sidecar

MODEL = "ab" * 32
CORPUS = "cd" * 32
DIMENSIONS = 4


def entries():
    names = [("core:a", False), ("core:b", False), ("core:b", False), ("user:c", False)]
    names += [("core:a", True), ("core:a", True), ("user:c", True)]
    return [Entry(name, body, sidecar.text_hash(f"{name}{at}")) for at, (name, body) in enumerate(names)]


def vectors(count=7):
    return array("f", [float(row * 10 + column) for row in range(count) for column in range(DIMENSIONS)])


def encoded(fit=(12.5, -4.25)):
    return sidecar.encode(
        entries(), vectors().tobytes(), DIMENSIONS, model_hash=MODEL, corpus_hash=CORPUS, fit=fit
    )


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "ways-corpus-en.bin"
    target.write_bytes(encoded())
    return str(target)


@pytest.mark.parametrize("mapped", [True, False])
def test_round_trip(path, mapped):
    opened = sidecar.load(path, mapped)
    assert isinstance(opened, Sidecar)
    assert opened.ids == ["core:a", "core:b", "user:c"]
    assert opened.index == {"core:a": 0, "core:b": 1, "user:c": 2}
    assert (opened.dimensions, opened.row_count, opened.alias_rows) == (4, 7, 4)
    assert (opened.model_hash, opened.corpus_hash, opened.fit) == (MODEL, CORPUS, (12.5, -4.25))
    assert [opened.span(at) for at in range(3)] == [
        sidecar.Span(0, 1, 4, 2),
        sidecar.Span(1, 2, 0, 0),
        sidecar.Span(3, 1, 6, 1),
    ]
    assert opened.row(6).tolist() == [60.0, 61.0, 62.0, 63.0]
    assert opened.text_hash(6) == entries()[6].text_hash
    assert sidecar.verify(path) is None


def test_rows_begin_where_any_processor_likes_them(path):
    data = files.read_bytes(path)
    assert (len(data) - 7 * DIMENSIONS * 4) % header.ROW_ALIGNMENT == 0
    assert data.endswith(vectors().tobytes())


@pytest.mark.parametrize("fit", [None, (0.0, 1.0), (-3.0, 1.0), (float("inf"), 0.0), (1.0, float("nan"))])
def test_an_unusable_fit_reads_as_uncalibrated(tmp_path, fit):
    target = tmp_path / "x.bin"
    target.write_bytes(encoded(fit))
    assert sidecar.load(str(target)).fit is None


def test_an_empty_corpus_is_sound(tmp_path):
    target = tmp_path / "x.bin"
    target.write_bytes(sidecar.encode([], b"", 4, model_hash=MODEL, corpus_hash=CORPUS, fit=None))
    opened = sidecar.load(str(target))
    assert (opened.ids, opened.row_count, list(opened.rows)) == ([], 0, [])
    assert sidecar.verify(str(target)) is None


def test_missing_is_not_damaged(tmp_path):
    assert sidecar.load(str(tmp_path / "none.bin")) == Problem("not built yet", missing=True)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda data: b"", "cut short"),
        (lambda data: data[:100], "cut short"),
        (lambda data: data[:-1], "cut short"),
        (lambda data: data + b"\0", "longer than it says"),
        (lambda data: b"JUNKJUNK" + data[8:], "not a corpus file"),
        (lambda data: data[:20] + b"\xff" + data[21:], "header does not match"),
        (
            lambda data: data[: sidecar.HEADER_SIZE] + b"\xff" + data[sidecar.HEADER_SIZE + 1 :],
            "tables do not",
        ),
    ],
)
def test_damage_is_named(path, damage, reason):
    data = files.read_bytes(path)
    with open(path, "wb") as file:
        file.write(damage(data))
    found = sidecar.load(path)
    assert isinstance(found, Problem)
    assert reason in found.reason
    assert path in found.reason
    assert not found.missing


def rewrite_header(path, at, form, value):
    """Change one header field and make the header's checksum right again."""
    data = bytearray(files.read_bytes(path))
    struct.pack_into(form, data, at, value)
    own = sidecar.HEADER_SIZE - SIZE
    data[own : sidecar.HEADER_SIZE] = checksum(bytes(data[:own]))
    with open(path, "wb") as file:
        file.write(data)


@pytest.mark.parametrize(
    ("at", "form", "value", "reason"),
    [
        (8, "<I", 99, "format 99"),
        (12, "<I", 5, "contradicts itself"),
        (12, "<I", 0, "contradicts itself"),
        (16, "<I", 0xFFFFFFFF, "contradicts itself"),
        (20, "<I", 6, "contradicts itself"),
        (24, "<Q", 1 << 60, "contradicts itself"),
        (56, "<Q", 64, "contradicts itself"),
    ],
)
def test_a_header_that_lies_is_refused(path, at, form, value, reason):
    rewrite_header(path, at, form, value)
    found = sidecar.load(path)
    assert isinstance(found, Problem)
    assert reason in found.reason


def test_spans_that_lie_are_refused(path):
    opened = sidecar.load(path, mapped=False)
    fields = header.parse(opened._data, len(opened._data))
    data = bytearray(files.read_bytes(path))
    struct.pack_into("<I", data, fields.spans_at + 4, 1000)
    with open(path, "wb") as file:
        file.write(data)
    rewrite_header(path, 152, "8s", checksum(bytes(data[fields.ids_at : fields.rows_at])))
    assert "outside the file" in sidecar.load(path).reason


def test_damaged_vectors_are_found_by_verify_only(path):
    data = bytearray(files.read_bytes(path))
    data[-1] ^= 0xFF
    with open(path, "wb") as file:
        file.write(data)
    assert isinstance(sidecar.load(path), Sidecar)
    assert "checksum" in sidecar.verify(path).reason


@pytest.mark.skipif(os.name == "nt", reason="POSIX file kinds")
def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    assert "not a regular file" in sidecar.load(str(tmp_path / "fifo")).reason
    assert isinstance(sidecar.load(str(tmp_path)), Problem)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600))
def test_no_content_raises(tmp_path_factory, data):
    target = tmp_path_factory.getbasetemp() / "fuzz.bin"
    target.write_bytes(header.MAGIC + data)
    assert isinstance(sidecar.load(str(target)), Problem)


def test_the_views_outlive_a_replaced_file(path):
    opened = sidecar.load(path)
    os.unlink(path)
    assert opened.row(1).tolist() == [10.0, 11.0, 12.0, 13.0]


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="rows of 4"):
        sidecar.encode(entries(), b"", 4, model_hash=MODEL, corpus_hash=CORPUS, fit=None)
    with pytest.raises(ValueError, match="not in order"):
        sidecar.encode(
            entries()[::-1], vectors().tobytes(), 4, model_hash=MODEL, corpus_hash=CORPUS, fit=None
        )
    with pytest.raises(ValueError, match="newline"):
        sidecar.encode(
            [Entry("core:a\nb", False, b"\0" * 16)],
            b"\0" * 16,
            4,
            model_hash=MODEL,
            corpus_hash=CORPUS,
            fit=None,
        )


def test_reading_needs_neither_numpy_nor_json(path):
    code = (
        "import sys; from ways.embedding import sidecar, cosine; from array import array\n"
        f"corpus = sidecar.load({path!r})\n"
        "print(len(cosine.reduce_rows(corpus, [array('f', [1, 0, 0, 0]), None])))\n"
        "heavy = {'numpy', 'json', 'typing', 'dataclasses', 'hashlib', 'pathlib', 'subprocess', 'yaml'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=os.path.dirname(os.path.dirname(sidecar.__file__)) + "/..",
        env={**os.environ, "PYTHONPATH": "."},
    )
    assert done.stdout.split("\n")[:2] == [str(2 * 3 * 2 * 4), "[]"]
