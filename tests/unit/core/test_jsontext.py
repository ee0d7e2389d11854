"""JSON without the json module must answer as the json module does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.core import jsontext

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


@given(DOCUMENTS)
def test_writes_and_reads_as_the_json_module_does(document: object) -> None:
    written = jsontext.dumps(document)
    assert written == json.dumps(document, separators=(",", ":"))
    assert written.isascii()
    assert jsontext.loads(written) == document


@given(DOCUMENTS)
def test_the_portable_form_gives_the_same(document: object) -> None:
    scan, encode = jsontext._portable()
    written = encode(document)
    assert written == jsontext.dumps(document)
    assert scan(written, 0)[0] == document


@given(st.binary(max_size=200))
def test_any_bytes_give_a_value_or_a_value_error(data: bytes) -> None:
    try:
        value = jsontext.loads(data)
    except ValueError:
        assert jsontext.loads_or_none(data) is None
        assert jsontext.object_or_empty(data) == {}
        return
    assert isinstance(value, dict | list | str | int | float | bool | None)


@pytest.mark.parametrize(
    "source",
    ["", " ", "{", "[1,]", "{} {}", "NaN", "[Infinity]", "[" * 100_000, "1" * 5000, "'a'", "nul", '{"a" 1}'],
)
def test_what_is_not_one_value_is_a_value_error(source: str) -> None:
    with pytest.raises(ValueError):
        jsontext.loads(source)


def test_space_bom_and_control_characters_are_tolerated() -> None:
    assert jsontext.loads(b'\xef\xbb\xbf \r\n{"a": "x\ty"}\n') == {"a": "x\ty"}


def test_nan_and_foreign_types_are_refused() -> None:
    with pytest.raises(ValueError):
        jsontext.dumps(float("nan"))
    with pytest.raises(TypeError):
        jsontext.dumps({"a": object()})


def test_surrogates_and_nul_are_cleaned_in_keys_and_values() -> None:
    tree = {"a\ud800": ["b\0", {"c": "\udfff"}], "n": 1}
    assert jsontext.clean_tree(tree) == {"a�": ["b�", {"c": "�"}], "n": 1}


def test_the_json_module_is_not_loaded() -> None:
    code = "import sys; from ways.core import jsontext; jsontext.loads('{\"a\": 1.5}'); jsontext.dumps([1]);"
    code += "print([m for m in ('json', 're', 'dataclasses', 'typing', 'enum') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, '.'); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_broken_json_is_a_value_error_where_nobody_has_loaded_the_json_module() -> None:
    """As in a hook: the C scanner then fails in another way than in this process."""
    script = """
import sys
from ways.core import jsontext
for source in sys.argv[1:]:
    for read in (jsontext.loads, jsontext.first_value):
        assert "json" not in sys.modules and "json.decoder" not in sys.modules
        try:
            value = read(source)
        except ValueError:
            continue
        raise SystemExit(f"{source!r} was read as {value!r}")
    assert jsontext.loads_or_none(source) is None and jsontext.object_or_empty(source) == {}
"""
    whole = '{"a": ["x", {"b\\u00e9": tru\\"e"}], "c": -1.5e3, "d": null}'
    cut = [whole[:end] for end in range(1, len(whole))]
    broken = ['{"a":1,}', "{a:1}", '"\\q"', '"\\u12', "[1", "[1 2]", '{"a" 1}', '{"a"']
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, *cut, *broken], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
