"""The report of a run: the tables, the JSON, and the tables in the documentation.

    python -m benchmarks.report RUN.json docs/speed.md

puts the tables of a run into a page, between its two marks.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.budgets import MARGIN, NOT_MEASURED, OVER_FLOOR, Verdict
from benchmarks.floors import F, P
from benchmarks.measure import Figure, Results

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


def as_data(
    results: Results, sizes: Mapping[str, float], given: Sequence[Verdict], machine: Mapping[str, Any]
) -> dict[str, Any]:
    """The run as JSON data. Times in milliseconds, ratios as they are, memory in MiB."""
    return {
        "machine": dict(machine),
        "sizes": dict(sizes),
        "measures": [_measure(results, name) for name in results.rounds],
        "margin": MARGIN,
        "budgets": [
            {
                "title": one.budget.title,
                "limit": one.budget.limit,
                "unit": one.budget.unit,
                "figure": _figure(one.figure),
                "cpu": _figure(_cpu(results, one)),
                "outcome": one.outcome,
            }
            for one in given
        ],
    }


def _measure(results: Results, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "runs": len(results.rounds[name]),
        "wall_ms": _figure(results.wall(name)),
        "cpu_ms": _figure(results.cpu(name)),
        "over_F": _figure(results.over_floor(name, F)),
        "over_P": _figure(results.over_floor(name, P)),
        "cpu_over_F": _figure(results.cpu_over_floor(name, F)),
        "peak_mib": round(results.peak_mib(name), 1),
    }


def _cpu(results: Results, one: Verdict) -> Figure | None:
    """The same ratio of processor times, where the budget is a ratio to a floor."""
    if one.figure is None or one.budget.kind != OVER_FLOOR:
        return None
    return results.cpu_over_floor(one.budget.measure, one.budget.other)


def _figure(figure: Figure | None) -> list[float] | None:
    """[median, lower quarter, upper quarter]."""
    if figure is None:
        return None
    return [float(f"{value:.4g}") for value in (figure.middle, figure.low, figure.high)]


MEASURE_HEADS = (
    "Measure",
    "median ms",
    "half of the runs",
    "CPU ms",
    "x F",
    "x P",
    "CPU x F",
    "peak MiB",
    "runs",
)
BUDGET_HEADS = ("Budget", "limit", "measured", "half of the runs", "CPU", "")


def measure_rows(run: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of measures."""
    return [
        (
            one["name"],
            _number(one["wall_ms"][0]),
            f"{_number(one['wall_ms'][1])} - {_number(one['wall_ms'][2])}",
            _number(one["cpu_ms"][0]),
            _ratio(one["over_F"]),
            _ratio(one["over_P"]),
            _ratio(one["cpu_over_F"]),
            f"{one['peak_mib']:.1f}",
            str(one["runs"]),
        )
        for one in run["measures"]
    ]


def budget_rows(run: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The table of budgets: those that were measured."""
    rows: list[tuple[str, ...]] = []
    for one in run["budgets"]:
        if one["outcome"] == NOT_MEASURED:
            continue
        middle, low, high = one["figure"]
        unit = one["unit"]
        spread = f"{low:.3g} - {high:.3g}" if low != high else ""
        cpu = f"{one['cpu'][0]:.3g} {unit}" if one["cpu"] else ""
        limit = f"{one['limit']:g} {unit}"
        rows.append((one["title"], limit, f"{middle:.3g} {unit}", spread, cpu, one["outcome"]))
    return rows


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(figure: Sequence[float] | None) -> str:
    return "-" if figure is None else f"{figure[0]:.2f}" if figure[0] < 100 else f"{figure[0]:.0f}"


def heading(run: Mapping[str, Any]) -> list[str]:
    """When and where it was measured."""
    about = run["machine"]
    return [
        f"{about['date']}, {about['system']}, {about['processor']}, {about['cores']} cores, "
        f"Python {about['python']}, commit {about['commit']}.",
        f"Load of the machine (1 minute) at the beginning and the end: {about['load'][0]:.1f}, "
        f"{about['load'][1]:.1f}. {about['rounds']} rounds.",
        *([f"{about['ways']} shipped ways."] if about.get("ways") else []),
    ]


def as_text(run: Mapping[str, Any]) -> str:
    """The report for a terminal."""
    parts = [*heading(run), "", *_columns(MEASURE_HEADS, measure_rows(run))]
    rows = budget_rows(run)
    if rows:
        parts += [
            "",
            f"Budgets (exceeded: more than {run['margin']:.0%} above the limit)",
            *_columns(BUDGET_HEADS, rows),
        ]
    return "\n".join(parts)


def _columns(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[index]) for row in (heads, *rows)) for index in range(len(heads))]
    return [
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def as_markdown(run: Mapping[str, Any]) -> str:
    """The tables for the documentation."""
    parts = [*heading(run), ""]
    parts += [*markdown(BUDGET_HEADS, budget_rows(run)), ""]
    parts += markdown(MEASURE_HEADS, measure_rows(run))
    return "\n".join(parts)


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]


def put_into(page: str, text: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with `text` between the marks. Raises ValueError when it has none."""
    before, found, rest = page.partition(begin)
    _old, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"the page has no {begin} … {end}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def machine(rounds: int, load_before: float, **more: Any) -> dict[str, Any]:
    """Where and when this run was made."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "commit": _commit(),
        "load": [load_before, os.getloadavg()[0]],
        "rounds": rounds,
        **more,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else "unknown processor"


def _commit() -> str:
    here = Path(__file__).resolve().parent
    done = subprocess.run(
        ["git", "-C", str(here), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def main(arguments: Sequence[str] | None = None) -> int:
    """Put the tables of a run into a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description="A run's tables into a page."
    )
    parser.add_argument("run", type=Path, help="what --json wrote")
    parser.add_argument("page", type=Path, nargs="?", help="a Markdown page with the two marks; none: print")
    options = parser.parse_args(arguments)
    text = as_markdown(json.loads(options.run.read_text("utf-8")))
    if options.page is None:
        print(text)
        return 0
    options.page.write_text(put_into(options.page.read_text("utf-8"), text), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
