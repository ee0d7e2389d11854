"""How good the shipped ways are: one command that prints the table, and fails when a goal is missed.

    python -m benchmarks.accuracy [--misses] [--json]

Every prompt of `tests/fixtures/prompts/suite.jsonl`, every command and path of `commands.jsonl` and every
text of `quiet.jsonl` (on which nothing may fire) goes the way that a hook's goes (`ways.authoring.scan`), for
an agent that has been shown nothing yet and on a machine where each way's `when` holds. Only embedding is
done ahead, in batches. Lint with the golden prompts, ways that are hard to tell apart, and the time that
macros and postchecks take come with it.

The `validate` rows are not looked at singly while words and patterns are chosen: `--misses` leaves them out.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import projection
from benchmarks import goals, payload_scripts
from ways.authoring import cosines, findings, goldens
from ways.authoring.lint import Knowledge, lint
from ways.authoring.scan import Scanner, candidates_on, embedded
from ways.catalogue.body import MAX_BYTES
from ways.catalogue.cache import load
from ways.catalogue.way import CORE, WayRoots
from ways.core import files
from ways.core.roots import Roots
from ways.embedding import calibrate, corpus, engine, manifest, sources, vectors
from ways.embedding.corpus import Sources
from ways.matching.types import EN, PROMPT, TASK, Scores

if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ways.authoring.findings import Finding
    from ways.catalogue.way import Catalogue, Way
    from ways.matching.types import Candidate

    Vector = array[float] | None

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FIXTURES = os.path.join(TOP, "tests", "fixtures", "prompts")
WAYS = os.path.join(os.path.dirname(os.path.abspath(projection.__file__)), "payload", "hooks", "ways")
TUNE, VALIDATE, QUIET, ALL = "tune", "validate", "quiet", "all"
# Aliases as near as this are hard to tell apart, unless one way is a special case of the other.
NEAR = 0.85
CHANNELS = ("keyword", "single vector", "late interaction", "bash", "file", "bash by meaning")
_CHANNEL_OF = {
    "keyword": "keyword",
    "semantic:embedding:en": "single vector",
    "semantic:late-interaction:en": "late interaction",
    "bash": "bash",
    "file": "file",
    "semantic:bash:en": "bash by meaning",
}
BATCH = 16


@dataclass(frozen=True)
class Case:
    """One text: the ways that must fire, and those that may. A negative expects none."""

    surface: str
    text: str
    description: str
    expect: tuple[str, ...]
    allow: tuple[str, ...]
    split: str


@dataclass(frozen=True)
class Outcome:
    """What fired on a case: way id to channel. `cosines` are those of the whole surface by way id."""

    case: Case
    fired: dict[str, str]
    cosines: dict[str, float]

    @property
    def missed(self) -> tuple[str, ...]:
        """Expected ways that did not fire."""
        return tuple(way for way in self.case.expect if way not in self.fired)

    @property
    def wrong(self) -> tuple[str, ...]:
        """Ways that fired and are neither expected nor allowed, nor above or below an expected one."""
        return tuple(way for way in self.fired if not is_fair(way, self.case))


@dataclass(frozen=True)
class Line:
    """One row of the table. `found` of `expected` ways fired on this channel; it fired `wrong` ways on texts
    that expect others, and anything on `disturbed` of `negatives` texts that expect none."""

    cases: str
    channel: str
    expected: int
    found: int
    wrong: int
    negatives: int
    disturbed: int

    @property
    def recall(self) -> float:
        """Share of the expected ways that fired; 1 when none is expected."""
        return self.found / self.expected if self.expected else 1.0

    @property
    def false_rate(self) -> float:
        """Share of the negatives on which anything fired."""
        return self.disturbed / self.negatives if self.negatives else 0.0


@dataclass(frozen=True)
class Report:
    """The table, the calibration, and the areas under the curve: of the probes, and per split of all pairs of
    a prompt and a way. `semantic` counts the ways with a description, each of which has two golden prompts;
    `found` is what lint says with those tried; `near` are pairs of ways that are hard to tell apart."""

    lines: tuple[Line, ...]
    fit: tuple[float, float] | None
    probes: int
    probe_auc: float | None
    pair_auc: dict[str, float]
    semantic: int
    found: tuple[Finding, ...]
    near: tuple[tuple[str, str, float], ...]
    outcomes: tuple[Outcome, ...]

    def line(self, cases: str, channel: str = ALL) -> Line:
        """The row of these cases and this channel."""
        return next(each for each in self.lines if (each.cases, each.channel) == (cases, channel))


class Ahead:
    """An engine that has embedded its texts in batches of like length, and embeds others when asked."""

    def __init__(self, real: engine.Engine) -> None:
        self._real = real
        self._known: dict[str, Vector] = {}
        self.library = real.library
        self.identity = real.identity
        self.dimensions = real.dimensions
        self.failures = 0

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed the texts that are new."""
        new = sorted({text for text in texts if text not in self._known}, key=len)
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            self._known.update(zip(batch, self._real.embed(batch), strict=True))

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """As Engine.embed."""
        self.prepare(texts)
        return [self._known[text] for text in texts]


def is_fair(way: str, case: Case) -> bool:
    """True for a way that the case expects or allows, and for a relative in the tree of an expected one."""
    related = any(way.startswith(f"{other}/") or other.startswith(f"{way}/") for other in case.expect)
    return related or way in case.expect or way in case.allow


def read_prompts(path: str = os.path.join(FIXTURES, "suite.jsonl")) -> list[Case]:
    """The cases of a prompt suite."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Case(PROMPT, row["prompt"], "", tuple(row["expect"]), tuple(row["allow"]), row["split"])
        for row in rows
    ]


def read_commands(path: str = os.path.join(FIXTURES, "commands.jsonl")) -> list[Case]:
    """The cases of a suite of commands and paths."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Case(
            row["surface"],
            row["text"],
            row["description"],
            tuple(row["expect"]),
            tuple(row["allow"]),
            row["surface"],
        )
        for row in rows
    ]


def read_quiet(path: str = os.path.join(FIXTURES, "quiet.jsonl")) -> list[Case]:
    """The everyday prompts, commands and paths on which no way may fire."""
    with open(path, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [Case(row["surface"], row["text"], "", (), (), QUIET) for row in rows]


def all_cases() -> list[Case]:
    """Every suite."""
    return [*read_prompts(), *read_commands(), *read_quiet()]


def measure(real: engine.Engine, cases: Sequence[Case], ways: str = WAYS) -> Report:
    """Build the corpus of a folder of ways, run every case, lint with the golden prompts, count."""
    ahead = Ahead(real)
    with tempfile.TemporaryDirectory(prefix="ways-accuracy-") as folder:
        names = ("app", "projection", "config", "state", "cache", "sessions", "home")
        roots = Roots(**{name: os.path.join(folder, name) for name in names})
        os.makedirs(roots.cache, mode=0o700)
        lane = _build(roots, ways, ahead)
        catalogue = load(WayRoots(core=ways), roots.cache)
        trial = goldens.Trial(
            _scanner(catalogue, PROMPT, roots, ahead), _scanner(catalogue, TASK, roots, ahead)
        )
        ahead.prepare(text for case in cases for text in _texts(case.surface, case.text, case.description))
        outcomes = tuple(_run(case, trial.prompts) for case in cases)
        ahead.prepare(text for prompt in _golden_prompts(catalogue) for text in _texts(PROMPT, prompt))
        pairs = cosines.above(roots.cache, [way.corpus_id for way in catalogue.ways if way.embeddable], NEAR)
        found = lint(catalogue, Knowledge(cosines=pairs, golden=True, trial=trial))
    return Report(
        tuple(_lines(outcomes)),
        (lane.a, lane.b) if lane.a is not None and lane.b is not None else None,
        lane.samples,
        lane.auc,
        {split: _pair_auc(outcomes, split) for split in (TUNE, VALIDATE) if _has_both(outcomes, split)},
        sum(way.embeddable for way in catalogue.ways),
        tuple(found),
        _near(catalogue, pairs or {}),
        outcomes,
    )


def _build(roots: Roots, ways: str, ahead: Ahead) -> manifest.Lane:
    place = sources.Root(CORE, "core", ways)
    wanted = Sources(
        lambda: sources.signature((place,), calibrate.PROBES_FILE),
        lambda: list(sources.texts((place,))),
        calibrate.PROBES_FILE,
    )
    model = vectors.Model("en", "accuracy", lambda: ahead.identity, lambda: ahead)
    return corpus.build(roots.cache, wanted, {EN: model}).lanes[EN].lane


def _scanner(catalogue: Catalogue, surface: str, roots: Roots, ahead: Ahead) -> Scanner:
    return Scanner(catalogue, candidates_on(catalogue, surface), roots, opener=lambda lane, where: ahead)


def _texts(surface: str, text: str, description: str = "") -> list[str]:
    whole, pieces = embedded(surface, text, description)
    return [whole, *pieces] if whole else []


def _golden_prompts(catalogue: Catalogue) -> Iterable[str]:
    for way in catalogue.ways:
        data = files.read_bytes_or_none(goldens.path_of(way), MAX_BYTES)
        if data is not None:
            yield from (one.prompt for one in goldens.read(way, data)[0])


def _run(case: Case, scanner: Scanner) -> Outcome:
    """One scan."""
    found = scanner.scan(case.surface, case.text, case.description)
    if found.reasons:
        raise RuntimeError(f"no scores for {case.text!r}: {'; '.join(found.reasons)}")
    fired = {hit.way.id: _CHANNEL_OF[hit.trigger] for hit in found.verdict.hits}
    return Outcome(case, fired, _cosines(scanner.candidates, found.scores))


def _near(catalogue: Catalogue, pairs: Mapping[tuple[str, str], float]) -> tuple[tuple[str, str, float], ...]:
    """Pairs of ways, neither above the other in the tree, with a cosine over NEAR; the nearest first."""
    ids = {way.corpus_id: way.id for way in catalogue.ways}
    over = [(ids[one], ids[other], cosine) for (one, other), cosine in pairs.items() if cosine > NEAR]
    named = [(min(one, other), max(one, other), cosine) for one, other, cosine in over]
    apart = [pair for pair in named if not pair[1].startswith(f"{pair[0]}/")]
    return tuple(sorted(apart, key=lambda pair: -pair[2]))


def _cosines(found: Iterable[Candidate], scores: Scores) -> dict[str, float]:
    if scores.en is None:
        return {}
    whole = scores.en.whole
    ways: list[Way] = [candidate.way for candidate in found if candidate.way.embeddable]
    return {way.id: whole[way.corpus_id] for way in ways if way.corpus_id in whole}


def _lines(outcomes: Sequence[Outcome]) -> Iterable[Line]:
    for split in dict.fromkeys(outcome.case.split for outcome in outcomes):
        own = [outcome for outcome in outcomes if outcome.case.split == split]
        used = {channel for outcome in own for channel in outcome.fired.values()}
        for channel in CHANNELS:
            if channel in used:
                yield _line(split, channel, own, (channel,))
        yield _line(split, ALL, own, CHANNELS)


def _line(split: str, channel: str, outcomes: Sequence[Outcome], counted: Collection[str]) -> Line:
    positives = [outcome for outcome in outcomes if outcome.case.expect]
    negatives = [outcome for outcome in outcomes if not outcome.case.expect]
    return Line(
        split,
        channel,
        sum(len(outcome.case.expect) for outcome in positives),
        sum(outcome.fired.get(way) in counted for outcome in positives for way in outcome.case.expect),
        sum(outcome.fired[way] in counted for outcome in positives for way in outcome.wrong),
        len(negatives),
        sum(any(outcome.fired[way] in counted for way in outcome.wrong) for outcome in negatives),
    )


def _pairs(outcomes: Iterable[Outcome], split: str) -> tuple[list[float], list[bool]]:
    """Cosine and label of each pair of a prompt and a way; what is only allowed is no example of either."""
    scores, labels = [], []
    for outcome in outcomes:
        if outcome.case.split != split:
            continue
        for way, cosine in outcome.cosines.items():
            wanted = way in outcome.case.expect
            if wanted or not is_fair(way, outcome.case):
                scores.append(cosine)
                labels.append(wanted)
    return scores, labels


def _has_both(outcomes: Iterable[Outcome], split: str) -> bool:
    labels = _pairs(outcomes, split)[1]
    return any(labels) and not all(labels)


def _pair_auc(outcomes: Iterable[Outcome], split: str) -> float:
    scores, labels = _pairs(outcomes, split)
    return calibrate.area_under_curve(scores, labels)


def real_engine() -> engine.Engine:
    """The English engine that a source checkout builds once and keeps."""
    from build import engine as library
    from build import model, packages

    opened = engine.open_files(str(library.cached(packages.cache_folder())), str(model.cached("en")))
    if isinstance(opened, engine.EngineProblem):
        raise SystemExit(str(opened))
    return opened


def as_table(report: Report) -> str:
    """The report as text."""
    heads = (("Cases", "<9"), ("Channel", "<17"), ("expected ways fired", ">24"), ("wrong ways", ">11"))
    rows = [" ".join(f"{name:{width}}" for name, width in (*heads, ("negatives disturbed", ">24")))]
    for each in report.lines:
        found = f"{each.found}/{each.expected} {each.recall:6.1%}" if each.expected else "-"
        disturbed = f"{each.disturbed}/{each.negatives} {each.false_rate:6.1%}" if each.negatives else "-"
        rows.append(f"{each.cases:<9} {each.channel:<17} {found:>24} {each.wrong:>11} {disturbed:>24}")
    if report.fit is not None:
        a, b = report.fit
        rows.append(f"Calibration: a={a:.2f} b={b:.2f}, p=0.5 at cosine {-b / a:.3f}, {report.probes} probes")
    rows.append(f"AUC of the probes: {report.probe_auc or 0.0:.3f}")
    rows += [
        f"AUC of all pairs of a prompt and a way, {split}: {auc:.3f}"
        for split, auc in report.pair_auc.items()
    ]
    return "\n".join(rows)


def misses(report: Report) -> str:
    """The cases that went wrong, those of the validation split left out; near pairs; what lint found."""
    shown = []
    for outcome in report.outcomes:
        if outcome.case.split != VALIDATE and (outcome.missed or outcome.wrong):
            wrong = [f"{way} ({outcome.fired[way]})" for way in outcome.wrong]
            shown.append(
                f"{outcome.case.split}: {outcome.case.text}\n    missed {list(outcome.missed)} wrong {wrong}"
            )
    shown += [f"near: {one} and {other}, cosine {cosine:.3f}" for one, other, cosine in report.near]
    shown += [findings.text(one, WAYS) for one in report.found if one.level != findings.NOTE]
    return "\n".join(shown)


def judged(report: Report, runs: Sequence[payload_scripts.Run]) -> list[goals.Goal]:
    """What was wanted of the shipped ways, and what is measured."""
    by_meaning = report.pair_auc.get(VALIDATE, 0.0)
    rows = [goals.at_least("AUC of held-out prompts and ways", by_meaning, 0.95)]
    for split in (TUNE, VALIDATE):
        line = report.line(split)
        rows.append(goals.at_least(f"recall, {split}", line.recall, 0.95, f"{line.found} of {line.expected}"))
    for split in (TUNE, VALIDATE, QUIET):
        line = report.line(split)
        shown = f"{line.disturbed} of {line.negatives}"
        rows.append(goals.at_most(f"negatives disturbed, {split}", line.false_rate, 0.02, shown))
    unfit = {one.way for one in report.found if one.rule == goldens.RULE and one.level != findings.NOTE}
    shown = f"{report.semantic - len(unfit)} of {report.semantic} ways"
    rows.append(goals.at_most("ways without golden prompts that show them", len(unfit), 0, shown))
    rows.append(goals.at_most(f"pairs of ways over cosine {NEAR:g}, not nested", len(report.near), 0))
    faults = [one for one in report.found if one.rule != goldens.RULE and one.level != findings.NOTE]
    rows.append(goals.at_most("lint: errors and warnings", len(faults), 0))
    slowest = max(runs, key=lambda run: run.seconds)
    shown = slowest.name.rsplit("/", 2)[-2]
    rows.append(
        goals.at_most(f"slowest of {len(runs)} macros and postchecks, s", slowest.seconds, 1.0, shown)
    )
    failed = [run.name for run in runs if run.why]
    rows.append(goals.at_most("macros and postchecks that fail", len(failed), 0, ", ".join(failed)))
    return [*rows, *goals.inventory()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table. 1 when a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description="Matching, measured.")
    parser.add_argument(
        "--misses", action="store_true", help="list what went wrong, except in the validation split"
    )
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args(arguments)
    report = measure(real_engine(), all_cases())
    wanted = judged(report, payload_scripts.measure())
    if chosen.json:
        values = {name: value for name, value in asdict(report).items() if name != "outcomes"}
        print(json.dumps({**values, "goals": [asdict(goal) for goal in wanted]}, indent=2))
    else:
        print(as_table(report), goals.as_table(wanted), sep="\n\n")
        if chosen.misses:
            print(misses(report))
    return 0 if all(goal.met for goal in wanted) else 1


if __name__ == "__main__":
    raise SystemExit(main())
