"""Late interaction: sentence chunks of the surface against the ways, English only (spec: matching)."""

from __future__ import annotations

import math

from ways.core.record import record
from ways.matching.types import COMMAND, FILE, LATE_INTERACTION, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ways.catalogue.way import Way
    from ways.matching.types import Candidate, Scores, Tuning

MIN_CHUNKS = 2


@record
class Evidence:
    """What speaks for one way: its share of the chunks' attention, its peak cosine and the chunk it won."""

    way: Way
    share: float
    peak: float
    peak_chunk: int


def can_run(surface: str, scores: Scores) -> bool:
    """True when late interaction decides: the English engine answered for at least two chunks. Never on the
    command and file surfaces."""
    return surface not in {COMMAND, FILE} and scores.en is not None and len(scores.en.chunks) >= MIN_CHUNKS


def fire(candidates: Iterable[Candidate], scores: Scores, tuning: Tuning) -> list[Hit]:
    """The ways that late interaction fires; their score is the share. Needs can_run."""
    lane = scores.en
    if lane is None:
        return []
    ways = [candidate.way for candidate in candidates if candidate.way.embeddable]
    admitted = [each for each in weigh(ways, lane.chunks, tuning) if is_admitted(each, tuning)]
    admitted.sort(key=lambda each: (-each.share, -each.peak, each.way.id))
    return [
        Hit(each.way, LATE_INTERACTION, explicit=False, score=each.share)
        for each in admitted[: tuning.late_confirmed]
        if is_confirmed(each, lane.bodies, tuning)
    ]


def weigh(ways: Sequence[Way], chunks: Sequence[Mapping[str, float]], tuning: Tuning) -> list[Evidence]:
    """Share and peak of each way that any chunk has a score for, in the order of `ways`."""
    mass: dict[str, float] = {}
    peaks: dict[str, tuple[float, int]] = {}
    for number, chunk in enumerate(chunks):
        scored = [
            (chunk[way.corpus_id], way.id)
            for way in ways
            if math.isfinite(chunk.get(way.corpus_id, math.nan))
        ]
        for cosine, way_id in scored:
            if way_id not in peaks or cosine > peaks[way_id][0]:
                peaks[way_id] = (cosine, number)
        for way_id, part in softmax(scored, tuning).items():
            mass[way_id] = mass.get(way_id, 0.0) + part
    count = len(chunks)
    return [Evidence(way, mass.get(way.id, 0.0) / count, *peaks[way.id]) for way in ways if way.id in peaks]


def softmax(scored: Sequence[tuple[float, str]], tuning: Tuning) -> dict[str, float]:
    """Softmax at the tuning's temperature over the best (cosine, way id) pairs of one chunk."""
    best = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[: tuning.late_ways_per_chunk]
    if not best:
        return {}
    top = best[0][0]
    powers = {way_id: math.exp((cosine - top) / tuning.late_temperature) for cosine, way_id in best}
    whole = sum(powers.values())
    return {way_id: power / whole for way_id, power in powers.items()}


def is_admitted(evidence: Evidence, tuning: Tuning) -> bool:
    """Share gate or peak gate."""
    return evidence.share >= tuning.late_share_gate or evidence.peak >= tuning.late_peak_gate


def is_confirmed(evidence: Evidence, bodies: Sequence[Mapping[str, float]], tuning: Tuning) -> bool:
    """The chunk that the way won must also resemble its body. Without a body score it is not confirmed."""
    if evidence.peak_chunk >= len(bodies):
        return False
    cosine = bodies[evidence.peak_chunk].get(evidence.way.corpus_id)
    return cosine is not None and cosine >= tuning.late_confirm_gate
