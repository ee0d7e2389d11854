"""What is wrong with a trigger's regex beyond not compiling: it matches nothing, everything, inside words, or
can take exponential time. It is examined by its syntax tree and tried on a few ordinary texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from ways.authoring.findings import ERROR, WARNING
from ways.catalogue import patterns
from ways.catalogue.literals import EXPONENTIAL, analyse

PATTERN, COMMANDS, FILES = "pattern", "commands", "files"
MAX_SHORT = 4
# Texts without a common subject: what matches every one of them has no subject either.
ORDINARY = {
    PATTERN: (
        "thanks, that looks good",
        "add a button to the settings page",
        "why does the build fail on Windows?",
        "rename this to something shorter",
        "what is the capital of Norway",
        "write a poem about rain",
        "update the price list for March",
        "Kannst du das bitte erklären?",
    ),
    COMMANDS: (
        "ls -la",
        "git status",
        "pytest -q",
        "cat README.md",
        "npm run build",
        "docker ps",
        "make",
        "echo 1",
    ),
    FILES: (
        "/home/me/shop/src/main.py",
        "/home/me/shop/README.md",
        "c:/work/app/index.html",
        "/srv/data/2026.csv",
        "/home/me/notes.txt",
        "/home/me/shop/Makefile",
        "/home/me/.zshrc",
        "/home/me/shop/tests/test_a.rs",
    ),
}


def examine(field: str, source: str) -> Iterator[tuple[str, str, str]]:
    """(rule, level, message) of everything wrong with a regex that compiles, in the field `pattern`,
    `commands` or `files`."""
    why = never(field, source)
    if why:
        yield "matches-nothing", ERROR, f"{field} can match nothing: {why}"
    elif everything(field, source):
        yield (
            "matches-everything",
            ERROR,
            f"{field} matches every text; name what the way is about, or leave the field out",
        )
    if analyse(source)[1] >= EXPONENTIAL:
        yield (
            "slow-pattern",
            WARNING,
            f"{field} can take very long on a text that nearly matches: "
            "a repetition inside a repetition, or many optional parts",
        )
    words = sorted({word for word in short_words(source)})
    if words:
        shown = ", ".join(words[:5])
        yield (
            "short-word",
            WARNING,
            f"{field} finds {shown} inside longer words too; put \\b on both sides",
        )


def everything(field: str, source: str) -> bool:
    """True when the regex matches an empty text or each of the ordinary ones."""
    with patterns.Searcher(seconds=1.0) as searcher:
        if searcher.search(source, "") is not None:
            return True
        return all(searcher.search(source, text) is not None for text in ORDINARY[field])


def never(field: str, source: str) -> str:
    """Why the regex can match no text of this field, "" when it may match one."""
    tree = _tree(source)
    why = _impossible(tree, re.MULTILINE & _flags(tree))
    if not why and field == FILES:
        if re.match(r"\^(\./|[A-Za-z0-9_.-]+\\?/)", source):
            return "the path is a whole one, so `^` stands before its `/`; write (^|/) instead"
        if "\\\\" in source and "/" not in source:
            return "paths are written with / on every system"
    return why


def _tree(source: str) -> Any:
    return import_module("re._parser").parse(source, re.IGNORECASE)


def _flags(tree: Any) -> int:
    return int(tree.state.flags)


def _impossible(sequence: Any, multiline: int) -> str:
    """Why no text fits a sequence of nodes, "" when one may."""
    before = 0  # the least number of characters that stand before
    ended = False
    for operation, argument in list(sequence):
        name = str(operation)
        least = _least(name, argument)
        if ended and least > 0:
            return "something stands behind the end of the text ($)"
        if name == "AT" and not multiline:
            kind = str(argument)
            if kind in {"AT_BEGINNING", "AT_BEGINNING_STRING"} and before > 0:
                return "something stands before the beginning of the text (^)"
            # `$` also stands before a final line break, which texts do not have.
            ended = ended or kind in {"AT_END", "AT_END_STRING"}
        if name == "FAILURE" or (name == "ASSERT_NOT" and not len(argument[1])):
            return "it holds an empty negative condition, (?!)"
        if name == "BRANCH":
            whys = [_impossible(branch, multiline) for branch in argument[1]]
            if whys and all(whys):
                return whys[0]
        elif name == "SUBPATTERN" and (why := _impossible(argument[3], multiline)):
            return why
        before += least
    return ""


def _least(name: str, argument: Any) -> int:
    """The least number of characters that one node takes."""
    if name in {"LITERAL", "NOT_LITERAL", "ANY", "IN", "RANGE"}:
        return 1
    if name == "SUBPATTERN":
        return int(argument[3].getwidth()[0])
    if name == "ATOMIC_GROUP":
        return int(argument.getwidth()[0])
    if name == "BRANCH":
        return min((int(branch.getwidth()[0]) for branch in argument[1]), default=0)
    if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
        return int(argument[0]) * int(argument[2].getwidth()[0])
    return 0


def short_words(source: str) -> Iterator[str]:
    """Alternatives of the whole regex that are nothing but a word of at most 4 letters."""
    for part in alternatives(source):
        inner = _ungrouped(part)
        if inner != part:
            yield from short_words(inner)
        elif part.isascii() and part.isalpha() and len(part) <= MAX_SHORT:
            yield part


def alternatives(source: str) -> list[str]:
    """The parts between the `|` that stand in no group and no class."""
    parts, depth, at, in_class = [""], 0, 0, False
    while at < len(source):
        taken = source[at : at + 2] if source[at] == "\\" else source[at]
        if in_class:
            in_class = taken != "]"
        elif taken == "[":
            in_class = True
            # A `]` that stands first belongs to the class.
            further = re.match(r"\[\^?\]", source[at:])
            taken = further.group() if further else taken
        elif taken == "(":
            depth += 1
        elif taken == ")":
            depth -= 1
        if taken == "|" and depth == 0 and not in_class:
            parts.append("")
        else:
            parts[-1] += taken
        at += len(taken)
    return parts


def _ungrouped(part: str) -> str:
    """What stands in the one group that `part` consists of, `part` itself when it is no such."""
    head = re.match(r"\((\?:|\?P<\w+>)?", part)
    if head is None or not part.endswith(")") or (part.startswith("(?") and head.group() == "("):
        return part
    inner = part[head.end() : -1]
    depth = 0
    for token in re.findall(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()]", inner, re.DOTALL):
        depth += (token == "(") - (token == ")")
        if depth < 0:
            return part
    return inner if depth == 0 else part
