"""The keyword channel: regex hits of ways on a surface (spec: matching).

`search` runs one regex on one text and gives the span of the first match or None: a
`ways.catalogue.patterns.Searcher`'s method, so that all regexes of a scan share one deadline.
"""

from __future__ import annotations

from ways.core.record import record
from ways.core.text import match_path
from ways.matching.mask import mask
from ways.matching.types import BASH, COMMAND, FILE, FILE_TRIGGER, KEYWORD, KeywordHit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ways.catalogue.way import Check, Way

    Search = Callable[[str, str], tuple[int, int] | None]

MAX_SPAN = 200


@record
class KeywordSurface:
    """The texts of the keyword channel. `text` is the prompt, queued messages, Task prompt, command or path
    (with `/` separators); `masked` the same with fences and URLs blanked; `description` the tool's."""

    kind: str
    text: str
    masked: str = ""
    description: str = ""


def keyword_surface(kind: str, text: str, description: str = "") -> KeywordSurface:
    """The keyword texts of a surface. Nothing is masked in a command or path; a path gets `/` separators."""
    if kind == FILE:
        text = match_path(text)
    masked = text if kind in {COMMAND, FILE} else mask(text)
    return KeywordSurface(kind, text, masked, description)


def find(surface: KeywordSurface, ways: Iterable[Way], search: Search) -> tuple[KeywordHit, ...]:
    """At most one hit per way, in the order of `ways`."""
    hits = []
    for way in ways:
        hit = _hit(surface, way, search)
        if hit is not None:
            hits.append(hit)
    return tuple(hits)


def _hit(surface: KeywordSurface, way: Way, search: Search) -> KeywordHit | None:
    strict = way.pattern_strict
    if surface.kind == FILE:
        return _made(way, FILE_TRIGGER, surface.text, way.files and search(way.files, surface.text), False)
    if surface.kind == COMMAND:
        span = way.commands and search(way.commands, surface.text)
        if span:
            return _made(way, BASH, surface.text, span, False)
        span = way.pattern and surface.description and search(way.pattern, surface.description)
        return _made(way, BASH, surface.description, span or None, strict)
    text = surface.text if strict else surface.masked
    return _made(way, KEYWORD, text, way.pattern and search(way.pattern, text), strict)


def _made(
    way: Way, trigger: str, text: str, span: tuple[int, int] | str | None, strict: bool
) -> KeywordHit | None:
    """The hit of a span, None without one. A match of nothing (`x*`) counts: the regex says so."""
    if not isinstance(span, tuple):
        return None
    start, end = span
    return KeywordHit(way, trigger, text[start : min(end, start + MAX_SPAN)], strict)


def check_hit(check: Check, kind: str, text: str, search: Search) -> bool:
    """True when the check's own `commands` (command surface) or `files` (file surface) matches."""
    source = check.commands if kind == COMMAND else check.files if kind == FILE else ""
    return bool(source) and search(source, text) is not None
