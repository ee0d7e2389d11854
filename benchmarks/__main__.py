"""Speed, measured: every lane, the corpus, reconcile, memory, and growth, against the floors and the budgets.

    python -m benchmarks [--runs N] [--quick] [--only GROUP[:PART]]... [--json FILE]

Exits with 1 when a budget is exceeded by more than its margin (10 %). What the figures mean: docs/speed.md.
`python -m benchmarks.accuracy` measures matching, `python -m benchmarks.breakdown` where a hook's time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import budgets, measure, report
from benchmarks.stage import FROM_SOURCE, GROUPS, SOURCE, Stage, Wanted
from ways.core.errors import UserError

RUNS, QUICK_RUNS, FULL_BUILDS = 20, 5, 5
FAILED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge. 1 for a budget that is exceeded by its margin, 2 when nothing was measured."""
    if sys.platform != "linux":
        print("benchmarks: they read /proc and run on Linux only", file=sys.stderr)
        return FAILED
    options = parse(arguments)
    try:
        run, code = measured(wanted_of(options), options.runs)
    except (UserError, measure.Unexpected) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return FAILED
    print(report.as_text(run))
    if options.json is not None:
        options.json.write_text(json.dumps(run, indent=1) + "\n", "utf-8")
    return code


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=(__doc__ or "").split("\n\n")[0],
        epilog=f"Groups: {', '.join(GROUPS)}.",
    )
    parser.add_argument("--runs", type=int, help=f"rounds (default {RUNS}, with --quick {QUICK_RUNS})")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; no 5,000 ways, no 500 MiB")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="GROUP[:PART]",
        help="only this group; with PART only what has PART in its name",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument(
        "--source-only", action="store_true", help="no frozen program, so no F: the lanes alone"
    )
    parser.add_argument("--no-engine", action="store_true", help="with --source-only: no matching by meaning")
    parser.add_argument("--archive", type=Path, help="measure this archive, not a build of this checkout")
    parser.add_argument("--full-builds", type=int, help=f"full builds of the corpus (default {FULL_BUILDS})")
    options = parser.parse_args(arguments)
    if options.no_engine and not options.source_only:
        parser.error("--no-engine goes with --source-only")
    if options.source_only and not options.only:
        options.only = [SOURCE]
    try:
        options.only = chosen(options.only)
    except ValueError as error:
        parser.error(str(error))
    if options.source_only and not FROM_SOURCE.issuperset(options.only):
        parser.error(f"with --source-only there are {', '.join(sorted(FROM_SOURCE))}")
    options.runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    return options


def chosen(given: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """`lanes`, `lanes:prompt` … as groups and the parts of names that are wanted of each; all without any.

    Raises ValueError for an unknown group.
    """
    found: dict[str, tuple[str, ...]] = {}
    for one in given:
        group, _, part = one.partition(":")
        if group not in GROUPS:
            raise ValueError(f"there is no group {group!r}; there are {', '.join(GROUPS)}")
        found[group] = (*found.get(group, ()), *([part] if part else []))
    return found or {group: () for group in GROUPS}


def wanted_of(options: argparse.Namespace) -> Wanted:
    """What to measure."""
    full_builds = options.full_builds or min(options.runs, 1 if options.quick else FULL_BUILDS)
    return Wanted(options.only, options.quick, not options.no_engine, options.archive, full_builds)


def measured(wanted: Wanted, rounds: int) -> tuple[dict[str, Any], int]:
    """Everything that is wanted, as data, and the exit code."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="ways-benchmarks-") as folder, measure.Spawner() as spawner:
        stage = Stage(Path(folder), wanted, say)
        try:
            floors = stage.floors()
            blocks = stage.blocks()
            say(f"{sum(len(block.measures) for block in blocks)} measures, {rounds} rounds")
            results = measure.run(spawner, blocks, floors, rounds, progress=say)
            stage.prove(results)
            sizes = stage.sizes()
        finally:
            stage.end()
        smallest = round(spawner.own_peak_kib() / 1024, 1)
        about = report.machine(results.count, load, ways=stage.shipped, smallest_peak_mib=smallest)
    given = budgets.verdicts(results, sizes)
    return report.as_data(results, sizes, given, about), budgets.exit_code(given)


def say(line: str) -> None:
    """Progress, on standard error."""
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
