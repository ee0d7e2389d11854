"""Properties of the catalogue: the sieve is exact, no file can break a parser."""

from __future__ import annotations

import re
import warnings

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ways.catalogue.body import check_sections, normalise, split
from ways.catalogue.frontmatter import parse_check, parse_way
from ways.catalogue.globs import matches
from ways.catalogue.literals import analyse, code
from ways.catalogue.patterns import Book, Searcher, fold, pack
from ways.catalogue.way import Broken, Check, Way

# Letters that match ASCII ones when case is ignored, their neighbours, and plain ones.
LETTERS = "abiksABIKS \u0130\u0131\u017f\u212aß\u1e9eéÉΣςσﬁ"
ATOMS = st.one_of(
    st.sampled_from(
        [*LETTERS, "ski", "KIS", "bias", r"\b", r"\w", r"\s", ".", "[a-k]", "[^s]", "^", "$", r"\S"]
    ),
    st.sampled_from(["(?=k)", "(?!s)", "(?-i:Ski)", "(?i:SKI)", "(?>bi)", "(?:)"]),
)


def _compound(inner):
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: "(" + "|".join(parts) + ")"),
        st.tuples(inner, st.sampled_from(["?", "{0,2}", "{2}", "{1,3}", "+", "*?"])).map(
            lambda p: f"(?:{p[0]}){p[1]}"
        ),
    )


SOURCES = st.recursive(ATOMS, _compound, max_leaves=8)
TEXTS = st.text(st.sampled_from(LETTERS + "k-\n"), max_size=25)


@settings(max_examples=600, deadline=None)
@given(SOURCES, TEXTS)
def test_the_literal_sieve_leaves_nothing_out(source: str, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiled = re.compile(source, re.IGNORECASE)
        except re.error:
            assume(False)
        found = compiled.search(text)
    literals, risk = analyse(source)
    if found and literals is not None:
        assert any(literal in fold(text) for literal in literals), (literals, fold(text))
    arguments = code(source)
    assert arguments is not None
    packed = pack(arguments)
    book = Book({source: (literals, risk, 0, len(packed))}, packed)
    for searcher in (Searcher(), Searcher(book)):
        with searcher:
            assert searcher.search(source, text) == (found.span() if found else None)


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.text("abcdefghijklmnopqrstuvwxyz -", max_size=3),
)
def test_folding_agrees_with_the_regex_engine(text: str, literal: str) -> None:
    assert bool(re.search(re.escape(literal), text, re.IGNORECASE)) == (literal in fold(text))


YAML_PIECES = st.sampled_from(
    [
        *(
            "---",
            "\n",
            "\r\n",
            "description",
            ": ",
            "pattern",
            "when",
            "- ",
            "[",
            "]",
            "{",
            "}",
            ">",
            "|",
            "'",
        ),
        *('"', "*a", "&a ", "!!python/object:x", "!x ", "<<", "? ", "# ", "\t", "  ", "x", "1", "null", "~"),
        *("%YAML 1.1\n", "\x00", "\ufeff", "\x85", "\u2028", "scope", "threshold", "nan", ".inf", "é"),
        *("file_exists", "...\n"),
    ]
)
FILES = st.one_of(
    st.binary(max_size=300),
    st.lists(YAML_PIECES, max_size=40).map(lambda parts: "".join(parts).encode("utf-8", "surrogatepass")),
    st.lists(YAML_PIECES, max_size=40).map(lambda parts: ("---\n" + "".join(parts) + "\n---\nbody").encode()),
    st.binary(max_size=200).map(lambda data: b"---\n" + data + b"\n---\n"),
)


@settings(max_examples=800, deadline=None)
@given(FILES)
def test_no_bytes_break_the_frontmatter_parser(data: bytes) -> None:
    way = parse_way(data, "a/b", "/a/b.md", "core", siblings=("macro.sh",))
    assert isinstance(way, (Way, Broken))
    if isinstance(way, Broken):
        assert way.message and way.line >= 1 and way.column >= 1
    else:
        for value in (way.description, way.vocabulary, way.pattern, *way.problems, *way.requires):
            value.encode("utf-8")
        for source in (way.pattern, way.commands, way.files, way.scan_exclude):
            re.compile(source)
        assert 0.0 <= way.threshold <= 100.0
    assert isinstance(parse_check(data, "a/b", "/a/b.check.md", "core"), (Check, Broken))
    content = normalise(data)
    assert "\r" not in content
    front, body = split(content)
    if front is None:
        assert body == content
    else:
        opening = content.split("\n", 1)[0] + "\n"
        assert content.startswith(opening + front + "---") and content.endswith(body)
    check_sections(body)


@given(st.text("ab/*?[]!-", max_size=12), st.text("ab/*?[]!-", max_size=12))
def test_globs_without_brackets_agree_with_a_regex(text: str, pattern: str) -> None:
    answer = matches(text, pattern)
    if "[" not in pattern:
        regex = "".join(".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
        assert answer == bool(re.fullmatch(regex, text, re.DOTALL))
