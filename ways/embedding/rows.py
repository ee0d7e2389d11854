"""From ways to the texts that a corpus embeds (spec: embedding; late interaction).

Per way its alias, per line of its `{name}.locales.jsonl` another alias (multilingual lane only), and
at most eight chunks of its body (English lane only: late interaction, which reads them, is English
only). A check gives its alias alone.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING

from ways.core import files, text
from ways.embedding.aliases import alias_text
from ways.embedding.sidecar import text_hash
from ways.matching.types import EN, MULTI

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ALIAS, BODY = "alias", "body"
MAX_CHUNKS = 8
MIN_CHUNK = 12
# Neighbours are joined up to this length: the best of many short chunks resembles any sentence by chance
# (measured in docs/decisions/accuracy.md).
JOINED = 600
# The model's window is 256 tokens of about 4 characters; what is beyond it would not be seen.
MAX_CHUNK = 1000
MAX_LOCALES = 64
MAX_LOCALES_BYTES = 1 << 18

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s{0,1}(?:[-*+]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One text to embed for a corpus id: `kind` alias or body, `lang` a language tag."""

    corpus_id: str
    kind: str
    lang: str
    text: str

    @property
    def hash(self) -> bytes:
        """The 16-byte hash of the text."""
        return text_hash(self.text)


@dataclass(frozen=True)
class Texts:
    """What a way or a check gives to be embedded. `body` is without its frontmatter."""

    corpus_id: str
    alias: str
    body: str = ""
    locales: tuple[tuple[str, str], ...] = ()


def rows_for(lane: str, items: Iterable[Texts]) -> tuple[Row, ...]:
    """The rows of a lane in the order of the sidecar: aliases by id, then bodies by id."""
    rows: list[Row] = []
    for item in items:
        rows += _aliases(lane, item)
        if lane == EN:
            rows += [Row(item.corpus_id, BODY, EN, chunk) for chunk in body_chunks(item.body)]
    return tuple(sorted(rows, key=lambda row: (row.kind == BODY, row.corpus_id)))


def _aliases(lane: str, item: Texts) -> list[Row]:
    spoken = [(EN, item.alias), *(item.locales if lane == MULTI else ())]
    cleaned = ((lang, alias_text(words)) for lang, words in spoken)
    unique = {words: lang for lang, words in reversed(list(cleaned)) if words}
    return [Row(item.corpus_id, ALIAS, lang, words) for words, lang in sorted(unique.items())]


def body_chunks(body: str) -> tuple[str, ...]:
    """At most eight chunks that cover a body: its paragraphs and list items, each with the headings
    before it.

    Neighbours are joined, the shortest pair first, while there are more than eight or the pair has at most
    JOINED characters, and a piece of under 12 characters with the next. Each chunk is one line of at most
    1,000 characters.
    """
    blocks = _joined_short(_blocks(_COMMENT.sub("", text.clean(body))))
    # Whole rows of neighbours first: a hostile body of a million lines must not cost their square.
    while len(blocks) > MAX_CHUNKS * MAX_CHUNKS:
        blocks = [" ".join(blocks[at : at + 2]) for at in range(0, len(blocks), 2)]
    while len(blocks) > 1:
        sizes = [len(first) + len(second) for first, second in pairwise(blocks)]
        at = sizes.index(min(sizes))
        if len(blocks) <= MAX_CHUNKS and sizes[at] > JOINED:
            break
        blocks[at : at + 2] = [f"{blocks[at]} {blocks[at + 1]}"]
    return tuple(block[:MAX_CHUNK] for block in blocks if len(block) >= MIN_CHUNK)


def _joined_short(blocks: list[str]) -> list[str]:
    """The blocks with each one that is too short joined to the next (the last: to the one before)."""
    joined: list[str] = []
    for block in blocks:
        if joined and len(joined[-1]) < MIN_CHUNK:
            joined[-1] += f" {block}"
        else:
            joined.append(block)
    if len(joined) > 1 and len(joined[-1]) < MIN_CHUNK:
        last = joined.pop()
        joined[-1] += f" {last}"
    return joined


def _blocks(body: str) -> list[str]:
    """Paragraphs and top-level list items as single lines; a fence is one block; headings begin the
    block after them."""
    blocks: list[str] = []
    headings: list[str] = []
    lines: list[str] = []
    fence = ""

    def close() -> None:
        if lines:
            blocks.append(" ".join(" ".join((*headings, *lines)).split()))
            headings.clear()
            lines.clear()

    for line in body.splitlines():
        mark = _FENCE.match(line)
        if mark and fence in {"", mark[1]}:
            fence = "" if fence else mark[1]
            close()
        elif fence:
            lines.append(line)
        elif heading := _HEADING.match(line):
            close()
            headings.append(line[heading.end() :])
        elif item := _ITEM.match(line):
            close()
            lines.append(line[item.end() :])
        elif line.strip():
            lines.append(line)
        else:
            close()
    lines += [" "] if headings and not lines else []
    close()
    return [block for block in blocks if block]


def read_locales(path: str) -> tuple[tuple[str, str], ...]:
    """(language, alias) per usable line of a `{name}.locales.jsonl`; () when there is none.

    Lines that are no such object are skipped here; `ways author lint` names them. `vocabulary` may
    be a string or a list of strings.
    """
    data = files.read_bytes_or_none(path, MAX_LOCALES_BYTES)
    found = []
    for line in text.decode(data or b"").split("\n")[:MAX_LOCALES]:
        pair = _locale(line)
        if pair is not None:
            found.append(pair)
    return tuple(found)


def _locale(line: str) -> tuple[str, str] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    lang, description, words = value.get("lang"), value.get("description"), value.get("vocabulary", "")
    if isinstance(words, list):
        words = " ".join(word for word in words if isinstance(word, str))
    if not isinstance(lang, str) or not isinstance(description, str) or not isinstance(words, str):
        return None
    alias = f"{description} {words}".strip()
    return (text.clean(lang[:35]), alias) if lang and alias else None


def locales_path(way_path: str) -> str:
    """Where the locale aliases of a way lie: beside it."""
    return f"{way_path.removesuffix('.md')}.locales.jsonl"


def corpus_hash(rows: Sequence[Row]) -> str:
    """64 hex digits over ids, kinds, languages and text hashes, in order."""
    digest = blake2b(b"ways corpus 1\0", digest_size=32)
    for row in rows:
        digest.update(f"{row.corpus_id}\0{row.kind}\0{row.lang}\0".encode() + row.hash)
    return digest.hexdigest()


def is_inside(path: str, folder: str) -> bool:
    """True when `path`, its links resolved, lies in `folder`, its links resolved."""
    resolved, outer = os.path.realpath(path), os.path.realpath(folder)
    try:
        return os.path.commonpath([resolved, outer]) == outer
    except ValueError:
        return False
