"""One scan of a text, as a hook does it: mask, regexes, reduction, chunks, embedding, `match`.

For an agent that was shown nothing yet, without session and judge. Accuracy is measured with it, and golden
prompts are tried with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ways.catalogue.patterns import Searcher
from ways.catalogue.way import AGENT, SUBAGENT, Catalogue
from ways.core.roots import Roots
from ways.embedding import scoring
from ways.matching import candidates, keyword
from ways.matching.chunks import chunks
from ways.matching.match import match
from ways.matching.reduce import reduce_for_embed
from ways.matching.types import COMMAND, FILE, TASK, Candidate, KeywordHit, Scores, Tuning, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

# Opens the engine of a lane: (lane, roots) to an Engine, to a problem, or to what answers as an Engine does.
Opener = Callable[[str, Roots], Any]


@dataclass(frozen=True)
class Scan:
    """What a text fires. `reasons` say what has no scores, and why."""

    verdict: Verdict
    scores: Scores
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Scanner:
    """Scans against the ways of a catalogue and the corpus below `roots.cache`.

    `localized` adds the multilingual lane; `opener` None opens the engine that is installed.
    """

    catalogue: Catalogue
    candidates: tuple[Candidate, ...]
    roots: Roots
    tuning: Tuning | None = None
    localized: bool = False
    opener: Opener | None = None

    def scan(self, surface: str, text: str, description: str = "") -> Scan:
        """One scan of a prompt, task, command (with the tool's description) or path."""
        hits = keyword_hits(self.catalogue, surface, text, description)
        whole, pieces = embedded(surface, text, description)
        found = scoring.Semantic(Scores())
        if whole:
            found = scoring.semantic_scores(
                whole, pieces, self.roots, localized=self.localized, resident=False, opener=self.opener
            )
        verdict = match(surface, hits, self.candidates, found.scores, self.tuning)
        return Scan(verdict, found.scores, found.reasons)


def candidates_on(
    catalogue: Catalogue, surface: str, default_scope: Iterable[str] = (AGENT,)
) -> tuple[Candidate, ...]:
    """The ways that may fire on a surface where every `when` holds and nothing is switched off."""
    rules = candidates.Rules(
        scopes=frozenset([SUBAGENT if surface == TASK else AGENT]),
        precondition=lambda item: True,
        shown=lambda way_id: False,
        default_scope=tuple(default_scope),
    )
    return candidates.collect(catalogue, rules)


def keyword_hits(
    catalogue: Catalogue, surface: str, text: str, description: str = ""
) -> tuple[KeywordHit, ...]:
    """The regex hits of a text, whoever may see the ways."""
    texts = keyword.keyword_surface(surface, text, description)
    with Searcher(catalogue.book) as searcher:
        return keyword.find(texts, catalogue.ways, searcher.search)


def embedded(surface: str, text: str, description: str = "") -> tuple[str, tuple[str, ...]]:
    """What is embedded of a text: the reduced whole, and its chunks where there may be several subjects."""
    if surface == FILE:
        return "", ()
    whole = reduce_for_embed(f"{text}\n{description}".strip(), surface)
    return whole, tuple(chunks(whole)) if whole and surface != COMMAND else ()
