"""What each millisecond of a hook is spent on, of the frozen program.

    python -m benchmarks.breakdown [--runs N] [--archive FILE] [--json FILE]

Every lane is run with a small library loaded beside it (tracing/trace.c, compiled here) that notes when it
calls the C library; the notes are sorted into phases (tracing/phases.py). The product itself holds nothing
for this and is not changed. The table gives medians of processor time, because on a busy machine the wall
time of a phase is chance; below it stand the wait for the resident (lower quarter) and the wall time
(median).

    python -m benchmarks.breakdown --page docs/speed.md RUN.json

puts the table of a run into a page.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import floors, measure, report, stage
from benchmarks.__main__ import say
from benchmarks.lanes import FROZEN
from benchmarks.measure import Call, Measure, Spawner, Unexpected
from benchmarks.tracing import phases
from ways.core.errors import UserError

SOURCE = Path(__file__).resolve().parent / "tracing" / "trace.c"
BEGIN, END = "<!-- breakdown: begin -->", "<!-- breakdown: end -->"
TITLE_OF = {
    "stop": "stop",
    "queued, nothing to do": "queued",
    "state, steady": "state",
    "file, nothing shown": "file",
    "command, nothing shown": "command",
    "prompt, 2 sentences": "prompt, 2",
    "prompt, 8 sentences": "prompt, 8",
    "prompt, 8 sentences, no resident": "prompt, 8, no resident",
    "file, one way shown": "file, shown",
}
WHOLE, PLAIN, WALL = "all, processor time", "the same without the library", "on the wall"
ROWS = (*phases.PHASES, WHOLE, PLAIN, phases.WAITING, WALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print, or put a run into a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.breakdown", description="Where a hook's time goes."
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--archive", type=Path, help="an archive, instead of a build of this checkout")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--page", type=Path, help="put the figures of RUN.json into this page and end")
    parser.add_argument("run", type=Path, nargs="?", metavar="RUN.json")
    options = parser.parse_args(arguments)
    if (options.page is None) != (options.run is None):
        parser.error("--page and RUN.json go together")
    if options.page is not None:
        text = as_markdown(json.loads(options.run.read_text("utf-8")))
        options.page.write_text(report.put_into(options.page.read_text("utf-8"), text, BEGIN, END), "utf-8")
        return 0
    try:
        run = measured(options.archive, options.runs)
    except (UserError, Unexpected) as error:
        print(f"breakdown: {error}", file=sys.stderr)
        return 2
    print(as_markdown(run))
    if options.json is not None:
        options.json.write_text(json.dumps(run, indent=1) + "\n", "utf-8")
    return 0


def measured(archive: Path | None, runs: int) -> dict[str, Any]:
    """The phases of every lane in milliseconds, as data."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ways-breakdown-") as folder, Spawner() as spawner:
        library = compiled(Path(folder))
        wanted = stage.Wanted({stage.LANES: (), stage.COLD: ()}, archive=archive)
        place = stage.Stage(Path(folder), wanted, say)
        try:
            chosen = _chosen(place)
            found: dict[str, list[dict[str, float]]] = {name: [] for name, _measure in chosen}
            for number in range(-2, runs):
                say(f"round {number + 1} of {runs}")
                for name, one in chosen:
                    figures = _once(spawner, one, number + 100, library, Path(folder) / "notes")
                    if number >= 0:
                        found[name].append(figures)
        finally:
            place.end()
        about = report.machine(runs, load, ways=place.shipped)
    lanes = {name: _medians(rows) for name, rows in found.items()}
    return {"machine": about, "phases": list(ROWS), "lanes": lanes}


def _chosen(place: stage.Stage) -> list[tuple[str, Measure]]:
    """F, then the lanes of the table."""
    floor = place.floors()[floors.F]
    found = [("F", Measure("F", lambda number: floor))]
    by_name = {one.name: one for block in place.blocks() for one in block.measures}
    return found + [(title, by_name[f"{FROZEN} {name}"]) for name, title in TITLE_OF.items()]


def _medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    found = {name: round(median(row[name] for row in rows), 3) for name in rows[0]}
    # What others do on the machine only ever adds to a wait.
    waits = [row[phases.WAITING] for row in rows]
    found[phases.WAITING] = round(measure.Figure.of(waits).low, 3)
    return found


def _once(spawner: Spawner, one: Measure, number: int, library: Path, notes: Path) -> dict[str, float]:
    """One run with the library, one without."""
    plain = _run(spawner, one, one.call, number * 64)
    notes.unlink(missing_ok=True)

    def traced(unique: int) -> Call:
        call = one.call(unique)
        more = {"LD_PRELOAD": str(library), "WAYS_TRACE": str(notes)}
        return replace(call, environment={**call.environment, **more})

    sample = _run(spawner, one, traced, number * 64 + 1)
    end_ms = sample.started * 1e3 + sample.wall_ms
    found = phases.durations(phases.read(notes.read_text("utf-8")), end_ms, sample.cpu_ms)
    return {**found, WHOLE: sample.cpu_ms, PLAIN: plain.cpu_ms, WALL: plain.wall_ms}


def _run(spawner: Spawner, one: Measure, call: Any, unique: int) -> measure.Sample:
    one.prepare()
    sample = spawner.run([call(unique)])[0]
    one.after()
    if wrong := one.check(sample):
        raise Unexpected(f"{one.name} {wrong}")
    return sample


def compiled(folder: Path) -> Path:
    """The library. Raises UserError when there is no C compiler or it refuses."""
    library = folder / "trace.so"
    command = ["cc", "-O2", "-fPIC", "-shared", "-fno-builtin", "-o", str(library), str(SOURCE), "-ldl"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise UserError("there is no C compiler (cc)", "install gcc or clang") from None
    if done.returncode != 0:
        raise UserError(f"{SOURCE.name} does not compile:\n{done.stderr[-2000:]}")
    return library


def as_markdown(run: dict[str, Any]) -> str:
    """The table: a row for each phase, a column for each lane, milliseconds."""
    lanes: dict[str, dict[str, float]] = run["lanes"]
    rows = [
        (phase, *(_cell(figures[phase]) for figures in lanes.values()))
        for phase in run["phases"]
        if any(figures[phase] >= 0.05 for figures in lanes.values())
    ]
    table = report.markdown(("ms", *lanes), rows)
    return "\n".join([*report.heading(run), "", *table])


def _cell(value: float) -> str:
    return f"{value:.1f}" if value >= 0.05 else ""


if __name__ == "__main__":
    sys.exit(main())
