"""Reflow changes no meaning, lint survives every regex, a permission covers itself."""

from __future__ import annotations

import re

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ways.authoring import permissions, reflow, regexes

words = st.sampled_from(
    [
        "word",
        "1.",
        "-",
        "+",
        "*",
        "#",
        ">",
        "---",
        "===",
        "|",
        "`a  b`",
        "```",
        "<b>",
        "[x](y)",
        "**bold**",
        "\\",
        "ä",
        "[a]:",
        "b",
    ]
)
lines = st.lists(words, max_size=12).map(" ".join)
bodies = st.lists(
    lines | st.sampled_from(["", "    code here", "  two", "| a | b |", "|---|---|"]), max_size=12
).map("\n".join)


@settings(deadline=None)
@given(bodies, st.integers(20, 60))
def test_reflow_renders_the_same(body: str, width: int) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    after = reflow.wrapped(body, width)
    assert re.sub(r"\s*\n\s*", " ", parser.render(after)) == re.sub(r"\s*\n\s*", " ", parser.render(body))
    assert after.split() == body.split(), "words move, and nothing else"
    assert reflow.wrapped(after, width) == after


@settings(deadline=None)
@given(
    st.text(alphabet="ab|()[]\\^$?*+{1,}.:!-", max_size=16), st.sampled_from(["pattern", "commands", "files"])
)
def test_lint_survives_every_regex(source: str, field: str) -> None:
    try:
        re.compile(source)
    except (re.error, OverflowError, RecursionError):
        assume(False)
    for rule, level, message in regexes.examine(field, source):
        assert rule and level and message
    assert "|".join(regexes.alternatives(source)) == source


@given(
    st.sampled_from("ab$^|()x"), st.text(alphabet="ab$^|()x", max_size=8), st.text(alphabet="abx", max_size=8)
)
def test_what_can_match_nothing_never_matches(first: str, rest: str, text: str) -> None:
    source = first + rest
    try:
        compiled = re.compile(source, re.IGNORECASE)
    except re.error:
        assume(False)
    if regexes.never("pattern", source):
        assert compiled.search(text) is None


@given(st.text(alphabet="ab*:() ", min_size=1, max_size=10))
def test_a_permission_covers_itself(text: str) -> None:
    assert permissions.covers(text, text)
    assert permissions.covers("Bash", f"Bash({text})")
