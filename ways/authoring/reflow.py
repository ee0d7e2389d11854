"""Re-wrapping the paragraphs of a body, and nothing else.

A Markdown parser says which lines are a plain paragraph; headings, lists, tables, quotes, code and HTML
are not touched. Each paragraph is parsed again after it was wrapped, and one that would read differently
(a word that begins a list at the start of a line, spaces that count) stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ways.catalogue.body import normalise, split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DEFAULT_WIDTH = 100
MIN_WIDTH, MAX_WIDTH = 40, 400


class Unfit(ValueError):
    """The file cannot be re-wrapped without changing more; the text says why."""


def reflowed(data: bytes, width: int = DEFAULT_WIDTH) -> bytes:
    """A way or check file with its paragraphs wrapped at `width` characters. Frontmatter, BOM and line ends
    stay. Raises Unfit."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unfit("is not UTF-8 text") from error
    windows = text.count("\r\n")
    if text.count("\r") != windows or (windows and text.count("\n") != windows):
        raise Unfit("mixes kinds of line ends")
    plain = text.replace("\r\n", "\n")
    body = split(normalise(data))[1]
    if body and not plain.endswith(body):
        raise Unfit("holds characters that a hook would replace")
    new = plain[: len(plain) - len(body)] + wrapped(body, width)
    return (new.replace("\n", "\r\n") if windows else new).encode("utf-8")


def wrapped(body: str, width: int) -> str:
    """A Markdown text with its top-level paragraphs wrapped."""
    parser = _parser()
    tokens = parser.parse(body)
    lines = body.split("\n")
    # From the last to the first, so that the line numbers of those before still hold.
    for token in reversed(tokens):
        if token.type != "paragraph_open" or token.level != 0 or token.map is None:
            continue
        begin, end = token.map
        before = lines[begin:end]
        after = _paragraph(before, width)
        if after == before:
            continue
        candidate = [*lines[:begin], *after, *lines[end:]]
        if _meaning(parser.parse("\n".join(candidate))) == _meaning(parser.parse("\n".join(lines))):
            lines = candidate
    return "\n".join(lines)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table")


def _paragraph(lines: Sequence[str], width: int) -> list[str]:
    """The lines of one paragraph, wrapped. One with a hard line break stays as it is."""
    if any(line.endswith(("  ", "\\")) for line in lines):
        return list(lines)
    found = [""]
    for word in " ".join(lines).split(" "):
        if not word:
            continue
        if found[-1] and len(found[-1]) + 1 + len(word) > width:
            found.append(word)
        else:
            found[-1] = f"{found[-1]} {word}" if found[-1] else word
    return found


def _meaning(tokens: Sequence[Token]) -> list[tuple[object, ...]]:
    """What a reader of the rendered text gets: every token, with a line break in a paragraph as the space
    that it is shown as."""
    found: list[tuple[object, ...]] = []
    for token in tokens:
        if token.type == "inline":
            found.append(("inline", *_inline(token.children or [])))
        else:
            found.append((token.type, token.tag, token.level, token.markup, token.info, token.content))
    return found


def _inline(children: Sequence[Token]) -> list[object]:
    parts: list[object] = []
    for child in children:
        if child.type in ("text", "softbreak"):
            text = " " if child.type == "softbreak" else child.content
            if parts and isinstance(parts[-1], str):
                parts[-1] += text
            else:
                parts.append(text)
        else:
            parts.append((child.type, child.tag, child.content, tuple(sorted(map(str, child.attrs.items())))))
    return parts
