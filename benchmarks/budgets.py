"""The budgets: how much each path may cost, as multiples of the floors of the same run.

One table. Where the numbers come from: the floor F is what starting any frozen program costs here, so a hook
with nothing to say may cost little more (1.6 F); reading a way and recording it, some files more (5 F);
a prompt, the way to the resident embedder and its work (4 and 6 F).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from benchmarks.floors import F, P
from benchmarks.measure import Figure, Results

# A budget counts as exceeded beyond this part above it: medians of ratios still move by some percent
# from run to run.
MARGIN = 0.10
MET, WITHIN, EXCEEDED, NOT_MEASURED = "met", "within the margin", "EXCEEDED", "not measured"
OVER_FLOOR, OVER_MEASURE, BEYOND, PEAK, SIZE = "x floor", "x measure", "more, x floor", "MiB", "size"
RESIDENT, ARCHIVE = "resident embedder, peak MiB", "archive, MB"


@dataclass(frozen=True)
class Budget:
    """At most `limit` for a figure. By `kind`: the wall time of `measure` over the floor `other`; over the
    measure `other`; what it takes beyond the measure `other`, over `floor`; its peak memory; or the size
    named `measure`."""

    title: str
    limit: float
    kind: str
    measure: str
    other: str = ""
    floor: str = P

    @property
    def unit(self) -> str:
        """What the limit counts."""
        if self.kind == OVER_FLOOR:
            return self.other
        if self.kind == BEYOND:
            return self.floor
        if self.kind == OVER_MEASURE:
            return "x"
        return "MiB" if self.kind == PEAK or self.measure == RESIDENT else "MB"


@dataclass(frozen=True)
class Verdict:
    """How a budget was kept; `figure` is None when it was not measured."""

    budget: Budget
    figure: Figure | None
    outcome: str


def _quiet(lane: str) -> Budget:
    return Budget(f"{lane}", 1.6, OVER_FLOOR, f"frozen {lane}", F)


BUDGETS = (
    _quiet("file, nothing shown"),
    _quiet("command, nothing shown"),
    _quiet("state, steady"),
    _quiet("post-tool, nothing to do"),
    _quiet("queued, nothing to do"),
    _quiet("stop"),
    _quiet("tasks-active"),
    Budget("file, one way shown", 5, OVER_FLOOR, "frozen file, one way shown", F),
    Budget("command, one way shown", 5, OVER_FLOOR, "frozen command, one way shown", F),
    Budget("prompt, 1 sentence, resident up", 4, OVER_FLOOR, "frozen prompt, 1 sentence", F),
    Budget("prompt, 2 sentences, resident up", 4, OVER_FLOOR, "frozen prompt, 2 sentences", F),
    Budget("prompt, 8 sentences, resident up", 6, OVER_FLOOR, "frozen prompt, 8 sentences", F),
    Budget("prompt, 8 sentences, cold", 13, OVER_FLOOR, "frozen prompt, 8 sentences, cold", F),
    Budget("the POSIX adapter's own cost", 3, BEYOND, "frozen adapter around true", "frozen true alone", P),
    Budget("subagent-start, three ways", 6, OVER_FLOOR, "frozen subagent-start, three ways", F),
    Budget("file: 1,000 ways over 110", 1.5, OVER_MEASURE, "file, 1,000 ways", "file, 110 ways"),
    Budget("command: 1,000 ways over 110", 1.5, OVER_MEASURE, "command, 1,000 ways", "command, 110 ways"),
    Budget(
        "prompt: 1,000 ways over 110",
        1.5,
        OVER_MEASURE,
        "prompt, 2 sentences, 1,000 ways",
        "prompt, 2 sentences, 110 ways",
    ),
    Budget(
        "prompt of 20 KB over 200 characters",
        2,
        OVER_MEASURE,
        "prompt of 20,000 characters",
        "prompt of 200 characters",
    ),
    *(
        Budget(
            f"{lane}: transcript of 500 MiB over 1",
            1.2,
            OVER_MEASURE,
            f"{lane}, transcript of 500 MiB",
            f"{lane}, transcript of 1 MiB",
        )
        for lane in ("state", "command", "queued")
    ),
    Budget(
        "append: log of 32 MiB over none", 1.1, OVER_MEASURE, "append, log of 32 MiB", "append, log of 0 MiB"
    ),
    Budget(
        "file: the slowest of 8 at once over one alone", 6, OVER_MEASURE, "file, 8 at once", "file, 1 at once"
    ),
    Budget(
        "corpus: one way changed over a full build",
        0.05,
        OVER_MEASURE,
        "corpus, one way changed, after a full build",
        "corpus, full build",
    ),
    Budget("reconcile, nothing to change", 12, OVER_FLOOR, "reconcile, nothing to change", F),
    Budget("memory of a hook without embedding", 16, PEAK, "frozen file, nothing shown"),
    Budget("memory of a hook that shows a way", 16, PEAK, "frozen file, one way shown"),
    Budget("memory with in-process embedding", 80, PEAK, "frozen prompt, 8 sentences, cold"),
    Budget("memory of the resident embedder", 90, SIZE, RESIDENT),
    Budget("size of the archive", 45, SIZE, ARCHIVE),
)


def figure_of(budget: Budget, results: Results, sizes: Mapping[str, float]) -> Figure | None:
    """The figure that a budget limits, None when this run did not measure it."""
    if budget.kind == SIZE:
        return Figure.of([sizes[budget.measure]]) if budget.measure in sizes else None
    wanted = [budget.measure] + ([budget.other] if budget.kind in {OVER_MEASURE, BEYOND} else [])
    if any(name not in results.rounds for name in wanted):
        return None
    if budget.kind == OVER_FLOOR:
        return results.over_floor(budget.measure, budget.other)
    if budget.kind == OVER_MEASURE:
        return results.over(budget.measure, budget.other)
    if budget.kind == BEYOND:
        return results.beyond(budget.measure, budget.other, budget.floor)
    return Figure.of([results.peak_mib(budget.measure)])


def judge(limit: float, figure: Figure | None, margin: float = MARGIN) -> str:
    """Met, within the margin, or exceeded: by the median."""
    if figure is None:
        return NOT_MEASURED
    if figure.middle <= limit:
        return MET
    return WITHIN if figure.middle <= limit * (1 + margin) else EXCEEDED


def verdicts(
    results: Results,
    sizes: Mapping[str, float],
    budgets: tuple[Budget, ...] = BUDGETS,
    margin: float = MARGIN,
) -> list[Verdict]:
    """One for every budget, in the order of the table."""
    found = []
    for budget in budgets:
        figure = figure_of(budget, results, sizes)
        found.append(Verdict(budget, figure, judge(budget.limit, figure, margin)))
    return found


def exit_code(given: list[Verdict]) -> int:
    """1 when a budget is exceeded by more than its margin, else 0. What was not measured fails nothing."""
    return 1 if any(one.outcome == EXCEEDED for one in given) else 0
