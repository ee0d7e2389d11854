"""Building the corpus: plan which texts need a vector, embed those, write (spec: corpus, calibration).

Files in the cache root, per lane (`en`, in localized mode also `multi`):

    ways-corpus-<lane>.jsonl   the exchange format, one object a row
    ways-corpus-<lane>.bin     the sidecar that scoring maps
    ways-probes-<lane>.bin     vectors of the calibration probes, so that a refit embeds nothing
    embed-manifest.json        written last; what is not vouched for there is built again

One builder at a time, under `corpus.lock`. Each file is replaced whole, so a build that is killed
leaves the old corpus in place.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from ways.catalogue.rootkey import corpus_id
from ways.catalogue.way import CORE
from ways.core import clock, files
from ways.core.locking import Lock, LockTimeout
from ways.embedding import calibrate, exchange, manifest, sidecar, vectors
from ways.embedding.rows import ALIAS, BODY, Row, corpus_hash, rows_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ways.embedding.rows import Texts
    from ways.embedding.vectors import Model, Vectors

    # (lane, texts embedded, texts to embed)
    Progress = Callable[[str, int, int], None]

LOCK_NAME = "corpus.lock"
BUILT, CURRENT, BUSY = "built", "current", "busy"
CHANGED = "ways, probes or the model changed"


@dataclass(frozen=True)
class Sources:
    """Where the texts come from. `signature` is cheap (stat results only) and changes with any of
    them; `read` parses the ways; `probes` is the probe corpus, which need not exist."""

    signature: Callable[[], str]
    read: Callable[[], Sequence[Texts]]
    probes: str


@dataclass(frozen=True)
class LaneReport:
    """What a build did for one lane: the reason that it was not current ("" when it was), texts
    embedded and taken over, and rows left out because the engine had no answer to them."""

    lane: manifest.Lane
    why: str
    embedded: int
    reused: int
    left_out: int = 0


@dataclass(frozen=True)
class Report:
    """The outcome: `built` with the lanes, `current` (nothing to do), `busy` (another one builds)."""

    outcome: str
    lanes: Mapping[str, LaneReport]


def staleness(cache: str, models: Mapping[str, Model], signature: str) -> str:
    """Why the corpus needs a build, "" when it is current. Reads stat results and headers only."""
    known = manifest.read(cache)
    if isinstance(known, sidecar.Problem):
        return known.reason
    for name, model in models.items():
        lane = known.lanes.get(name)
        why = "never built" if lane is None else lane_damage(cache, name, lane)
        if not why and lane is not None and lane.signature != _stamped(signature, model):
            why = CHANGED
        if why:
            return f"{name}: {why}"
    return ""


def lane_damage(cache: str, name: str, lane: manifest.Lane, thorough: bool = False) -> str:
    """Why the files of a lane are not those that the manifest vouches for, "" when they are.

    `thorough` reads every vector and compares the checksum.
    """
    path = sidecar.path_in(cache, name)
    opened = sidecar.load(path)
    if isinstance(opened, sidecar.Problem):
        return opened.reason
    if thorough and (problem := sidecar.verify(path)) is not None:
        return problem.reason
    if (opened.corpus_hash, opened.model_hash) != (lane.corpus_hash, lane.model_hash):
        return "the sidecar is from another build"
    if opened.fit != ((lane.a, lane.b) if lane.a is not None else None):
        return "the calibration is from another build"
    try:
        size = os.stat(exchange.path_in(cache, name)).st_size
    except OSError as error:
        return f"the exchange file: {error.strerror or error}"
    return "" if size == lane.jsonl_bytes else "the exchange file has another length"


def build(
    cache: str,
    sources: Sources,
    models: Mapping[str, Model],
    *,
    if_stale: bool = False,
    wait: float = 0.0,
    progress: Progress | None = None,
) -> Report:
    """Bring the corpus of a cache root up to date with its sources, one lane a model.

    Unchanged texts keep their vectors. With `if_stale` nothing is parsed or loaded while every stat
    result is as it was. Waits `wait` seconds for another builder, then answers `busy`. Raises
    OSError when a file cannot be written, UserError when a model cannot be loaded, BadProbes.
    """
    if if_stale and not staleness(cache, models, sources.signature()):
        return Report(CURRENT, {})
    files.make_private(cache)
    try:
        with Lock(os.path.join(cache, LOCK_NAME), wait):
            # Another builder may have finished while we waited.
            if if_stale and not staleness(cache, models, sources.signature()):
                return Report(CURRENT, {})
            return _build(cache, sources, models, progress)
    except LockTimeout:
        return Report(BUSY, {})


def _build(cache: str, sources: Sources, models: Mapping[str, Model], progress: Progress | None) -> Report:
    _sweep(cache)
    # Taken before reading: what changes while we read makes the next run see a stale corpus.
    signature = sources.signature()
    texts = sources.read()
    probes = calibrate.read_probes(sources.probes) if os.path.exists(sources.probes) else ()
    known = manifest.read(cache)
    lanes = {} if isinstance(known, sidecar.Problem) else dict(known.lanes)
    reports = {}
    for name, model in models.items():
        plan = _plan(cache, name, model, rows_for(name, texts), probes)
        reports[name] = _lane(plan, _stamped(signature, model), lanes.get(name), progress)
        lanes[name] = reports[name].lane
        manifest.write(cache, manifest.Manifest(lanes))
    return Report(BUILT, reports)


def _sweep(cache: str) -> None:
    """Remove temporary files of builders that were killed: we hold the lock, so none is at work."""
    for name in os.listdir(cache):
        if name.startswith((".ways-corpus-", ".ways-probes-", f".{manifest.NAME}")) and (
            files.TEMPORARY_MARK in name
        ):
            files.remove_if_there(os.path.join(cache, name))


def _stamped(signature: str, model: Model) -> str:
    return f"{signature} {model.name} {model.stamp}"


@dataclass(frozen=True)
class _Plan:
    """What one lane consists of, before anything is embedded."""

    cache: str
    name: str
    model: Model
    rows: tuple[Row, ...]
    probes: tuple[calibrate.Probe, ...]
    model_hash: str
    corpus_hash: str
    probes_hash: str


def _plan(
    cache: str, name: str, model: Model, rows: tuple[Row, ...], probes: tuple[calibrate.Probe, ...]
) -> _Plan:
    digest = blake2b(repr([(probe.text, probe.way, probe.relevant) for probe in probes]).encode())
    return _Plan(cache, name, model, rows, probes, model.sha256(), corpus_hash(rows), digest.hexdigest()[:64])


def _lane(plan: _Plan, signature: str, known: manifest.Lane | None, progress: Progress | None) -> LaneReport:
    """Build one lane, or only refresh its signature when its content is what it was."""
    why = "never built" if known is None else lane_damage(plan.cache, plan.name, known, thorough=True)
    if known is not None and not why:
        built = (known.model_hash, known.corpus_hash, known.probes_hash)
        if built == (plan.model_hash, plan.corpus_hash, plan.probes_hash):
            current = manifest.Lane(**{**known.__dict__, "signature": signature})
            return LaneReport(current, "", 0, len({row.hash for row in plan.rows}))
        why = CHANGED
    pool, probe_pool, embedded, reused = _collect(plan, progress)
    calibration = _calibration(plan, pool, probe_pool)
    kept = [row for row in plan.rows if row.hash in pool]
    size = _write(plan, kept, pool, calibration.fit)
    now = clock.utc_iso()
    lane = manifest.Lane(
        model=plan.model.name,
        model_hash=plan.model_hash,
        dimensions=_dimensions(pool),
        corpus_hash=plan.corpus_hash,
        probes_hash=plan.probes_hash,
        signature=signature,
        jsonl_bytes=size,
        ids=len({row.corpus_id for row in kept}),
        rows=len(kept),
        a=calibration.fit[0] if calibration.fit else None,
        b=calibration.fit[1] if calibration.fit else None,
        auc=calibration.auc,
        samples=calibration.samples,
        reason=calibration.reason,
        built_at=now,
        fitted_at=now,
    )
    return LaneReport(lane, why, embedded, reused, len(plan.rows) - len(kept))


def _collect(plan: _Plan, progress: Progress | None) -> tuple[Vectors, Vectors, int, int]:
    """Vectors of the rows and of the probes by text hash; texts of rows embedded and taken over.

    The model is only loaded when a text is new. New probe vectors are kept at once.
    """
    rows = {row.hash: row.text for row in plan.rows}
    probes = {sidecar.text_hash(probe.text): probe.text for probe in plan.probes}
    probes_path = os.path.join(plan.cache, f"ways-probes-{plan.name}.bin")
    pool = vectors.reusable(sidecar.path_in(plan.cache, plan.name), plan.model_hash)
    probe_pool = vectors.reusable(probes_path, plan.model_hash)
    new = {key: words for key, words in rows.items() if key not in pool}
    new_probes = {key: words for key, words in probes.items() if key not in probe_pool}
    if new or new_probes:
        engine = plan.model.open()
        done = _counter(plan.name, len(new) + len(new_probes), progress)
        pool.update(vectors.embed(engine, new, done))
        probe_pool.update(vectors.embed(engine, new_probes, done))
    if new_probes:
        _write_probes(probes_path, plan, sorted(key for key in probes if key in probe_pool), probe_pool)
    return pool, probe_pool, len(new), len(rows) - len(new)


def _counter(lane: str, total: int, progress: Progress | None) -> Callable[[int], None]:
    """A function that adds up finished batches for the progress callback."""
    finished = 0

    def done(count: int) -> None:
        nonlocal finished
        finished += count
        if progress is not None:
            progress(lane, finished, total)

    return done


def _calibration(plan: _Plan, pool: Vectors, probe_pool: Vectors) -> calibrate.Calibration:
    """The fit of a lane: each probe's highest cosine over the alias rows of its core way."""
    if not plan.probes:
        return calibrate.Calibration(None, None, 0, reason="there is no probe corpus")
    aliases: dict[str, list[bytes]] = {}
    for row in plan.rows:
        if row.kind == ALIAS and row.hash in pool:
            aliases.setdefault(row.corpus_id, []).append(row.hash)
    scores = []
    for probe in plan.probes:
        own = aliases.get(corpus_id(CORE, probe.way), [])
        vector = probe_pool.get(sidecar.text_hash(probe.text))
        cosines = [] if vector is None else [vectors.dot(pool[key], vector) for key in own]
        scores.append(max(cosines, default=float("nan")))
    return calibrate.calibrate(scores, [probe.relevant for probe in plan.probes])


def _dimensions(pool: Vectors) -> int:
    """The length of the vectors; 1 for an empty corpus, which has no rows that could contradict."""
    return next((len(vector) for vector in pool.values()), 1)


def _write(plan: _Plan, rows: list[Row], pool: Vectors, fit: tuple[float, float] | None) -> int:
    """Replace the exchange file, then the sidecar. Answers the length of the exchange file."""
    dimensions = _dimensions(pool)
    stacked = vectors.stack([row.hash for row in rows], pool)
    lines = exchange.encode(rows, stacked, dimensions)
    entries = [sidecar.Entry(row.corpus_id, row.kind == BODY, row.hash) for row in rows]
    binary = sidecar.encode(
        entries,
        stacked.tobytes(),
        dimensions,
        model_hash=plan.model_hash,
        corpus_hash=plan.corpus_hash,
        fit=fit,
    )
    files.write_atomic(exchange.path_in(plan.cache, plan.name), lines)
    files.write_atomic(sidecar.path_in(plan.cache, plan.name), binary)
    return len(lines)


def _write_probes(path: str, plan: _Plan, keys: list[bytes], pool: Vectors) -> None:
    """Keep the vectors of the probes, in the form of a sidecar with a single id."""
    dimensions = _dimensions(pool)
    binary = sidecar.encode(
        [sidecar.Entry("probes", False, key) for key in keys],
        vectors.stack(keys, pool).tobytes(),
        dimensions,
        model_hash=plan.model_hash,
        corpus_hash=plan.probes_hash,
        fit=None,
    )
    files.write_atomic(path, binary)
