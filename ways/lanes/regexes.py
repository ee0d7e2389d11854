"""The regexes of one scan: loaded when the sieve has let one through (ways.lanes.scan)."""

from __future__ import annotations

from ways.catalogue.patterns import Searcher
from ways.core.text import snippet
from ways.matching import keyword

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ways.catalogue.way import Check, Way
    from ways.lanes.context import Context
    from ways.lanes.scan import Surface
    from ways.matching.types import KeywordHit


def search(
    context: Context, surface: Surface, ways: Sequence[Way], checks: Iterable[Check]
) -> tuple[tuple[KeywordHit, ...], tuple[tuple[Check, bool], ...]]:
    """Run the regexes of these ways and checks; the hits of both (a check's with True: its own regex
    matched). Notes a regex that ran into the deadline."""
    texts = keyword.keyword_surface(surface.kind, surface.text, surface.description)
    with Searcher(context.catalogue.book) as searcher:
        hits = keyword.find(texts, ways, searcher.search) if ways else ()
        found = tuple(
            (check, True)
            for check in checks
            if keyword.check_hit(check, surface.kind, surface.text, searcher.search)
        )
        slow, skipped = searcher.slow, searcher.skipped
    if slow:
        context.note(f"regex too slow: {snippet(slow, 200)!r}; {skipped} searches were not made")
    return hits, found
