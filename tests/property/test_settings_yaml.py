"""Editing YAML: the document is the wanted one, and every other line stays."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ways.settings import editing, parsing
from ways.settings.layer import Layer

NAMES = ["enabled", "language", "disabled_domains", "macro", "refire_presets", "other"]
INNER = ["timeout_ms", "rare", "x"]
COMMENT = st.sampled_from(["", "  # why", "   #", ""])
NOTE = st.sampled_from(["", "# a note", "  # indented note", "#"])
WORDS = ["true", "de", "'quoted'", '"a # b"', "0.5", "~", "", "&a b", "[a, 'b']", "{a: 1, b: [c]}"]
BLOCKS = ["|\n  block\n  text", ">-\n  folded\n\n  more", "\n- a\n- b", "\n  - a  # one\n  # between\n  - b"]
WORD = st.sampled_from(WORDS + BLOCKS)
SCALAR = st.sampled_from(["1", "true", "'x'", "[1, 2]", "{}"])
VALUE = st.one_of(
    st.booleans(),
    st.integers(-5, 10**6),
    st.floats(0, 10),
    st.text(max_size=8),
    st.lists(st.text(max_size=5), max_size=4),
)


@st.composite
def group(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from([" ", "  ", "    "]))
    keys = draw(st.lists(st.sampled_from(INNER), unique=True, min_size=1))
    lines = [f"{indent}{key}: {draw(SCALAR)}{draw(COMMENT)}" for key in keys]
    between = draw(NOTE.filter(lambda note: note != "  # indented note"))
    return draw(COMMENT) + "\n" + f"\n{indent}{between}\n".join(lines)


@st.composite
def documents(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(["", "# head", "---"]))]
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5)):
        plain = name not in {"macro", "refire_presets"}
        word = draw(WORD)
        block = word.startswith(("|", ">", "\n"))
        parts.append(
            f"{name}: {word}{'' if block else draw(COMMENT)}" if plain else f"{name}:{draw(group())}"
        )
        parts.append(draw(NOTE))
    text = "\n".join(parts)
    return text + draw(st.sampled_from(["", "\n"]))


PATHS = st.one_of(
    st.sampled_from([(name,) for name in NAMES]),
    st.tuples(st.sampled_from(["macro", "refire_presets", "new"]), st.sampled_from(INNER)),
)


def comments(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.lstrip().startswith("#")]


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


def root_of(text: str) -> dict[str, Any]:
    tree = parsing.read_tree(text.encode("utf-8", "surrogatepass"))
    assert tree.root is None or isinstance(tree.root, dict)
    return tree.root or {}


@settings(max_examples=120, deadline=None)
@given(documents(), PATHS, VALUE)
def test_setting_a_value(text: str, path: tuple[str, ...], value: Any) -> None:
    try:
        before = root_of(text)
        new = editing.set_value(text, path, value)
    except (parsing.Unreadable, editing.CannotEdit):
        assume(False)
        return
    after = root_of(new)
    found: Any = after
    for name in path:
        found = found[name]
    assert found == value
    assert list(after) == list(before) + [path[0]] * (path[0] not in before)
    assert {key: after[key] for key in before if key != path[0]} == {
        key: before[key] for key in before if key != path[0]
    }
    old = before.get(path[0])
    inside = isinstance(old, dict) and len(path) == 1
    if not isinstance(old, list) and not inside and "#" not in str(before.get(path[0])):
        assert is_subsequence(comments(text), comments(new))
    assert editing.set_value(new, path, value) == new


@settings(max_examples=120, deadline=None)
@given(documents(), PATHS)
def test_unsetting_a_value(text: str, path: tuple[str, ...]) -> None:
    try:
        before = root_of(text)
        new = editing.unset_value(text, path)
    except (parsing.Unreadable, editing.CannotEdit):
        assume(False)
        return
    after = root_of(new)
    assert is_subsequence(new.rstrip("\n").split("\n"), text.split("\n")) or "{" in text
    assert {key: item for key, item in after.items() if key != path[0]} == {
        key: item for key, item in before.items() if key != path[0]
    }
    assert len(path) > 1 or path[0] not in after
    assert editing.unset_value(new, path) == new


@example("\nenabled: |\n  block\n  text\n  # indented note", ("language",), False)
@settings(max_examples=80, deadline=None)
@given(documents(), PATHS, VALUE)
def test_setting_what_was_missing_and_unsetting_it_restores_the_text(
    text: str, path: tuple[str, ...], value: Any
) -> None:
    try:
        before = root_of(text)
        assume(path[0] not in before)
        new = editing.set_value(text, path, value)
        back = editing.unset_value(new, path)
    except (parsing.Unreadable, editing.CannotEdit):
        assume(False)
        return
    assert back.rstrip("\n") == text.rstrip("\n") or "{" in text


@settings(max_examples=120, deadline=None)
@given(
    st.one_of(
        documents().map(str.encode),
        st.binary(max_size=200),
        st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")),
    )
)
def test_any_file_gives_values_or_diagnostics(data: bytes) -> None:
    for scope in ("user", "target", "project"):
        layer = parsing.parse(data, "f", scope)
        assert isinstance(layer, Layer)
        assert all(item.line >= 0 and item.message for item in layer.diagnostics)


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=100), st.text(max_size=60), VALUE)
def test_editing_foreign_text_raises_only_what_it_says(data: bytes, text: str, value: Any) -> None:
    for source in (data.decode("latin-1"), text):
        try:
            new = editing.set_value(source, ("macro", "x"), value)
            editing.unset_value(source, ("macro", "x"))
        except (parsing.Unreadable, editing.CannotEdit):
            continue
        assert root_of(new)["macro"]["x"] == value
