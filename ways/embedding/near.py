"""Whether anything in the corpus comes near a surface, without opening more of the corpus than its header.

Most surfaces are near to nothing. Then the highest of the resident's scores says so: nothing fires, and
nothing is logged as a near miss, whichever ways there are. Every bound here follows from the thresholds of
matching (ways.matching.tuning); in any doubt the answer is "perhaps", and the scores are weighed.
"""

from __future__ import annotations

from ways.core.record import record
from ways.embedding import client, header
from ways.matching.tuning import fire_threshold, near_miss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ways.core.roots import Roots
    from ways.embedding import wire
    from ways.matching.tuning import Tuning

LANE = "en"
_E = 2.718281828459045
# The bound is worked out without `math`: this much further from it there is no doubt.
_DOUBT = 1e-6
_CERTAIN = 600.0
# No cosine is lower, whatever rounding did; NaN is not above it either.
_LOWEST = -2.0


@record
class Asked:
    """What the resident was asked and what it answered, of the corpus with this header."""

    corpus: header.Header
    texts: tuple[str, ...]
    places: tuple[int, ...]
    answer: wire.Answer | client.NoAnswer


def texts_of(whole: str, chunks: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The texts that are embedded for a surface, the whole first and none twice, and where the chunks are
    among them (one chunk alone is none)."""
    parts = tuple(chunks) if len(chunks) > 1 else ()
    texts = tuple(dict.fromkeys((whole, *parts)))
    return texts, tuple(texts.index(part) for part in parts)


def ask(whole: str, chunks: Sequence[str], roots: Roots, idle_minutes: float) -> Asked | None:
    """Ask the resident about a surface; None where there is no corpus to ask about. When no resident runs,
    one is started. Raises nothing."""
    path = header.path_in(roots.cache, LANE)
    corpus = header.read(path)
    if isinstance(corpus, header.Problem) or not whole.strip():
        return None
    texts, places = texts_of(whole, chunks)
    return Asked(corpus, texts, places, client.ask(roots, LANE, path, texts, idle_minutes=idle_minutes))


def is_nothing(asked: Asked, tuning: Tuning) -> bool:
    """True when no way can fire or nearly fire, and no check can be found, by these scores."""
    corpus, fit = asked.corpus, asked.corpus.fit
    if isinstance(asked.answer, client.NoAnswer) or fit is None:
        return False
    scores = client.scores_of(asked.answer, corpus.corpus_hash.hex(), corpus.ids, len(asked.texts))
    if isinstance(scores, client.NoAnswer):
        return False
    if any(highest(scores[place][1]) >= tuning.late_confirm_gate for place in asked.places):
        return False  # late interaction may find a body that confirms
    threshold = fire_threshold(tuning, boosted=True)
    lowest = min(threshold, near_miss(threshold, tuning))
    return surely_below(highest(scores[0][0]), fit, lowest)


def highest(values: memoryview[float]) -> float:
    """The highest cosine, -1 when there is none (NaN stands for no row)."""
    return max((value for value in values.tolist() if value >= _LOWEST), default=-1.0)


def surely_below(cosine: float, fit: tuple[float, float], probability: float) -> bool:
    """True when the calibrated probability of this cosine, and so of every lower one, is below
    `probability`: the slope of a fit is positive."""
    power = fit[0] * cosine + fit[1]
    if not -_CERTAIN < power < _CERTAIN:
        return power <= -_CERTAIN and probability > _DOUBT
    estimate: float = 1.0 / (1.0 + _E ** (-power))
    return estimate < probability - _DOUBT
