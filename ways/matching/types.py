"""What goes into matching and what comes out. Matching is pure: no disk, no clock, no process."""

from __future__ import annotations

from ways.catalogue.way import Way
from ways.core.record import record
from ways.matching.surfaces import COMMAND, FILE, PROMPT, QUEUED, TASK
from ways.matching.tuning import Tuning

__all__ = [
    "BASH",
    "COMMAND",
    "EN",
    "FILE",
    "FILE_TRIGGER",
    "KEYWORD",
    "LATE_INTERACTION",
    "MULTI",
    "NO_SIGNAL",
    "PROMPT",
    "QUEUED",
    "TASK",
    "Candidate",
    "Gated",
    "Hit",
    "KeywordHit",
    "LaneScores",
    "NearMiss",
    "Scores",
    "Tuning",
    "Verdict",
    "embedding_trigger",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

EN, MULTI = "en", "multi"

# Trigger words as they are logged (spec: telemetry).
KEYWORD, BASH, FILE_TRIGGER = "keyword", "bash", "file"
LATE_INTERACTION = "semantic:late-interaction:en"


def embedding_trigger(surface: str, lane: str) -> str:
    """`semantic:embedding:en|multi`, on the command surface `semantic:bash:en|multi`."""
    return f"semantic:{'bash' if surface == COMMAND else 'embedding'}:{lane}"


@record
class LaneScores:
    """Cosines of one embedded surface against one corpus.

    `fit` is the calibration (a, b), None while the lane is uncalibrated. `whole` holds per corpus
    id the highest cosine of the reduced surface over the way's aliases. `chunks` holds, per
    sentence chunk of the surface, the same map for that chunk; `bodies` per chunk the highest
    cosine over the way's own body chunks. A way that the engine did not score is missing from the
    maps. `holds` says whether the corpus has a way as it is now; None: it has all of them.
    """

    fit: tuple[float, float] | None
    whole: Mapping[str, float]
    chunks: Sequence[Mapping[str, float]] = ()
    bodies: Sequence[Mapping[str, float]] = ()
    holds: Callable[[Way], bool] | None = None


@record
class Scores:
    """What the semantic channel says of a surface: nothing at all (`Scores()`), or per lane."""

    en: LaneScores | None = None
    multi: LaneScores | None = None

    @property
    def lanes(self) -> tuple[tuple[str, LaneScores], ...]:
        """The lanes that answered, English first."""
        pairs = ((EN, self.en), (MULTI, self.multi))
        return tuple((name, lane) for name, lane in pairs if lane is not None)


NO_SIGNAL = Scores()


@record
class Candidate:
    """A way that may fire on this surface: scope, `when` and switches already hold.

    `ancestor_shown`: an ancestor has been shown to this agent in this session.
    """

    way: Way
    ancestor_shown: bool = False


@record
class KeywordHit:
    """One regex hit: the way, the trigger word, and the span of text that matched."""

    way: Way
    trigger: str
    span: str
    strict: bool = False


@record
class Hit:
    """A way that fires. `score` orders siblings: the deciding semantic score (share or g(s)), 0.0
    for an explicit trigger without one. `boosted_by` is the ancestor fired in this scan to which
    the hit owes its boost, "" otherwise: it is withheld when that ancestor is not shown."""

    way: Way
    trigger: str
    explicit: bool
    score: float = 0.0
    span: str = ""
    boosted_by: str = ""


@record
class Gated:
    """A keyword hit below the floor (event `way_keyword_gated`)."""

    way: Way
    span: str
    floor: float
    prob_en: float | None = None
    prob_multi: float | None = None


@record
class NearMiss:
    """A way just below the firing probability (event `way_nearmiss`)."""

    way: Way
    tau_s: float
    prob_en: float | None = None
    prob_multi: float | None = None


@record
class Verdict:
    """The outcome of one scan: hits in admission order, gated keyword hits and near misses."""

    hits: tuple[Hit, ...] = ()
    gated: tuple[Gated, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()
