"""Properties of the catalogue: the sieve is exact, no file can break a parser."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ways.catalogue import patterns, sieve
from ways.catalogue.body import check_sections, normalise, split
from ways.catalogue.frontmatter import parse_check, parse_way
from ways.catalogue.globs import matches
from ways.catalogue.literals import analyse, code
from ways.catalogue.patterns import Book, Searcher, pack
from ways.catalogue.sieve import fold
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


@pytest.fixture
def every_text_is_long(monkeypatch):
    """So that short texts too are asked for trigrams, and searched only where a match can begin."""
    monkeypatch.setattr(patterns, "LONG_TEXT", 0)
    monkeypatch.setattr(sieve, "LONG_TEXT", 0)
    monkeypatch.setattr(sieve, "_PLACES_PER_CHARACTER", 1)


LENIENT = settings(
    max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@LENIENT
@given(SOURCES, TEXTS)
def test_the_sieve_and_the_starts_leave_nothing_out(every_text_is_long, source: str, text: str) -> None:
    found = expected(source, text)
    literals, risk, starts = analyse(source)
    if found and literals is not None:
        assert any(literal in fold(text) for literal in literals), (literals, fold(text))
    arguments = code(source)
    assert arguments is not None
    packed = pack(arguments)
    book = Book({source: (literals, risk, starts, 0, len(packed))}, packed)
    for searcher in (Searcher(), Searcher(book)):
        with searcher:
            assert searcher.search(source, text) == found


WORDS = [
    "git",
    "commit",
    "push",
    "K\u0130T",
    "ſki",
    "the",
    "a",
    "\n",
    " ",
    "  ",
    "-",
    "é",
    "deploy",
    "Deploys",
]
SHAPES = st.lists(
    st.sampled_from(
        [
            *(
                r"\bgit\b",
                "(a |the )?commit",
                "[^.\\n]{0,9}",
                r"\s+",
                r"\s*",
                "(push|deploy)s?",
                "^",
                "$",
                "|",
                "(?<=a )",
            ),
            *(
                "(?<!the )ski",
                "kit",
                "(the|a) ",
                r"\W{1,3}",
                "(?:commit )+",
                "(?=push)",
                "git(?! push)",
                r"(deploy|\w+)",
            ),
        ]
    ),
    min_size=1,
    max_size=7,
).map("".join)


@LENIENT
@given(SHAPES, st.lists(st.sampled_from(WORDS), max_size=40).map("".join))
def test_patterns_as_people_write_them_match_the_same_with_starts(
    every_text_is_long, source: str, text: str
) -> None:
    found = expected(source, text)
    with Searcher() as searcher:
        assert searcher.search(source, text) == found


def expected(source: str, text: str) -> tuple[int, int] | None:
    """What `re` itself says; a source that does not compile is no example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = re.compile(source, re.IGNORECASE).search(text)
        except re.error:
            assume(False)
    return found.span() if found else None


@settings(deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.text("abcdefghijklmnopqrstuvwxyz -", max_size=3),
)
def test_folding_agrees_with_the_regex_engine(text: str, literal: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    match = re.search(re.escape(literal), text, re.IGNORECASE)
    assert folded.find(literal) == (match.start() if match else -1)


def test_folding_keeps_every_position_for_every_letter() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert len(fold(everything)) == len(everything)
    ascii_letters = [letter for letter in everything[128:] if fold(letter).isascii()]
    assert ascii_letters == [
        letter for letter in everything[128:] if re.match("[a-z]", letter, re.IGNORECASE)
    ]


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
