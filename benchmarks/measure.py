"""Running what is measured: fresh processes, in rounds in which the floors run beside everything else.

The machine may be busy with other work. So every block of measures begins, in every round, with the
floors, and what is reported are medians of ratios within a round: load that lasts longer than a
block falls on both sides of the ratio.
"""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles

SPAWNER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "spawner.py")


@dataclass(frozen=True)
class Call:
    """One process: absolute program and arguments, its whole environment, its folder, its standard input."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    folder: str
    stdin: bytes = b""


@dataclass(frozen=True)
class Sample:
    """What one process took. `code` is the exit code, negative for a signal; `started` is on the
    monotonic clock of the machine, in seconds."""

    wall_ms: float
    cpu_ms: float
    peak_kib: int
    code: int
    stdout: bytes
    stderr: bytes
    started: float = 0.0


def silent(sample: Sample) -> str:
    """What is wrong with a run that must end well and print nothing, "" when nothing is."""
    return ended_well(sample) or (f"printed {sample.stdout[:200]!r}" if sample.stdout else "")


def shown(sample: Sample) -> str:
    """What is wrong with a run that must end well and show something, "" when nothing is."""
    return ended_well(sample) or ("" if b"additionalContext" in sample.stdout else "showed nothing")


def ended_well(sample: Sample) -> str:
    """What is wrong with a run that must exit with 0 and complain of nothing, "" when nothing is."""
    if sample.code != 0:
        return f"exited with {sample.code}: {sample.stderr[-300:]!r}"
    return f"said {sample.stderr[-300:]!r}" if sample.stderr else ""


def nothing() -> None:
    """No preparation."""


@dataclass(frozen=True)
class Measure:
    """One thing to measure. `call` makes the process of a run from a number that no other run has; `prepare`
    runs before it and `after` behind it, both untimed. `check` says what is wrong with a run, "" when it did
    what its name says: a figure of something else is worse than none, so then the whole run ends. `copies`
    processes run at once; the slowest counts. `rounds_at_most` limits how often something dear is done (0:
    as often as all)."""

    name: str
    call: Callable[[int], Call]
    check: Callable[[Sample], str] = silent
    prepare: Callable[[], None] = nothing
    after: Callable[[], None] = nothing
    copies: int = 1
    rounds_at_most: int = 0


@dataclass(frozen=True)
class Block:
    """Measures that are compared with each other: they run one after the other in each round."""

    name: str
    measures: tuple[Measure, ...]


@dataclass(frozen=True)
class Round:
    """The figures of one measure in one round, and of the floors that ran just before its block."""

    wall_ms: float
    cpu_ms: float
    peak_kib: int
    floors: Mapping[str, tuple[float, float]]  # name -> (wall ms, cpu ms)
    number: int = 0


@dataclass(frozen=True)
class Figure:
    """Median, and the quarter points between which half of the values lie."""

    middle: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Figure:
        """The figure of at least one value."""
        given = list(values)
        if len(given) < 2:
            return Figure(given[0], given[0], given[0])
        low, middle, high = quantiles(given, n=4, method="inclusive")
        return Figure(middle, low, high)


@dataclass
class Results:
    """The rounds of every measure by name, in the order in which they were first measured."""

    rounds: dict[str, list[Round]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many rounds there were."""
        return max((len(rounds) for rounds in self.rounds.values()), default=0)

    def wall(self, name: str) -> Figure:
        """Milliseconds on the wall."""
        return Figure.of(one.wall_ms for one in self.rounds[name])

    def cpu(self, name: str) -> Figure:
        """Milliseconds of processor time."""
        return Figure.of(one.cpu_ms for one in self.rounds[name])

    def peak_mib(self, name: str) -> float:
        """The highest peak of memory that was seen, in MiB."""
        return max(one.peak_kib for one in self.rounds[name]) / 1024

    def over_floor(self, name: str, floor: str) -> Figure | None:
        """Wall time over that of a floor, round by round; None where that floor was not measured."""
        found = [one.wall_ms / one.floors[floor][0] for one in self.rounds[name] if floor in one.floors]
        return Figure.of(found) if found else None

    def cpu_over_floor(self, name: str, floor: str) -> Figure | None:
        """As over_floor, of the processor time."""
        found = [one.cpu_ms / one.floors[floor][1] for one in self.rounds[name] if floor in one.floors]
        return Figure.of(found) if found else None

    def over(self, name: str, other: str) -> Figure:
        """Wall time over that of another measure, round by round."""
        others = {one.number: one.wall_ms for one in self.rounds[other]}
        pairs = [(one.wall_ms, others[one.number]) for one in self.rounds[name] if one.number in others]
        return Figure.of(mine / its for mine, its in pairs)

    def beyond(self, name: str, other: str, floor: str) -> Figure:
        """What a measure takes more than another one, as a multiple of a floor, round by round."""
        others = {one.number: one.wall_ms for one in self.rounds[other]}
        return Figure.of(
            (one.wall_ms - others[one.number]) / one.floors[floor][0]
            for one in self.rounds[name]
            if one.number in others
        )


class Spawner:
    """The small parent (spawner.py); used as a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", SPAWNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C stops the measuring, and what was measured is told
        )

    def __enter__(self) -> Spawner:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, calls: Sequence[Call]) -> list[Sample]:
        """Run the processes at once and wait for all. Raises RuntimeError when the parent has died."""
        data = marshal.dumps(
            [(list(call.arguments), dict(call.environment), call.folder, call.stdin) for call in calls]
        )
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(len(data).to_bytes(4, "little") + data)
        self._process.stdin.flush()
        head = self._process.stdout.read(4)
        if len(head) < 4:
            raise RuntimeError(f"the parent of the measured processes died at {calls[0].arguments}")
        answer = marshal.loads(self._process.stdout.read(int.from_bytes(head, "little")))
        return [
            Sample(wall * 1e3, cpu * 1e3, peak, os.waitstatus_to_exitcode(status), out, err, started)
            for wall, cpu, peak, status, out, err, started in answer
        ]

    def own_peak_kib(self) -> int:
        """The parent's own memory: a smaller peak than this cannot be measured."""
        with open(f"/proc/{self._process.pid}/status", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


class Unexpected(Exception):
    """A measured process did something else than what its measure is called."""


def run(
    spawner: Spawner,
    blocks: Sequence[Block],
    floors: Mapping[str, Call],
    rounds: int,
    warm_up: int = 2,
    progress: Callable[[str], None] = lambda line: None,
) -> Results:
    """Measure all blocks `rounds` times, one round after the other, after `warm_up` uncounted rounds.

    After Ctrl-C the results so far come back. Raises Unexpected, and KeyboardInterrupt before the first round
    is complete.
    """
    results = Results()
    for number in range(-warm_up, rounds):
        progress(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        try:
            for block in blocks:
                _block(spawner, block, floors, number, results)
        except KeyboardInterrupt:
            if number < 1:
                raise
            progress("stopped: only the rounds so far count")
            break
    return results


def _block(spawner: Spawner, block: Block, floors: Mapping[str, Call], number: int, results: Results) -> None:
    """One block in one round: the floors, then its measures."""
    wanted = [measure for measure in block.measures if _is_due(measure, number)]
    if not wanted:
        return
    found = {}
    for name, call in floors.items():
        [sample] = spawner.run([call])
        found[name] = (sample.wall_ms, sample.cpu_ms)
    for measure in wanted:
        one = _once(spawner, measure, number, found, checked=number >= 0)
        if number >= 0:
            results.rounds.setdefault(measure.name, []).append(one)


def _is_due(measure: Measure, number: int) -> bool:
    return not measure.rounds_at_most or 0 <= number < measure.rounds_at_most


def _once(
    spawner: Spawner, measure: Measure, number: int, floors: Mapping[str, tuple[float, float]], checked: bool
) -> Round:
    measure.prepare()
    # Rounds before the first have texts of their own as well: an embedder remembers those it has seen.
    calls = [measure.call((number + 100) * 64 + copy) for copy in range(measure.copies)]
    samples = spawner.run(calls)
    measure.after()
    if checked:
        for sample in samples:
            if wrong := measure.check(sample):
                raise Unexpected(f"{measure.name}: {' '.join(calls[0].arguments)} {wrong}")
    slowest = max(samples, key=lambda sample: sample.wall_ms)
    return Round(
        slowest.wall_ms,
        median(sample.cpu_ms for sample in samples),
        max(sample.peak_kib for sample in samples),
        floors,
        number,
    )
