"""The tables of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import budgets, report
from benchmarks.measure import Figure
from tests.unit.benchmarks.test_budgets import results


def run_data() -> dict[str, object]:
    given = results(**{"frozen stop": [(20.0, 10.0), (22.0, 11.0), (21.0, 10.0)]})
    about = report.machine(3, 0.5, ways=110)
    found: dict[str, object] = report.as_data(given, {}, budgets.verdicts(given, {}), about)
    return json.loads(json.dumps(found))  # type: ignore[no-any-return]


def test_the_table_holds_times_ratios_and_runs() -> None:
    rows = report.measure_rows(run_data())
    assert rows == [("frozen stop", "21.0", "20.5 - 21.5", "10.5", "2.00", "21.00", "2.00", "10.0", "3")]


def test_the_budgets_that_were_measured_are_told_with_their_outcome() -> None:
    rows = report.budget_rows(run_data())
    assert rows == [("stop", "1.6 F", "2 F", "2 - 2.05", "2 F", budgets.EXCEEDED)]


def test_the_text_says_when_where_and_how_loaded() -> None:
    text = report.as_text(run_data())
    assert "3 rounds" in text
    assert "110 shipped ways" in text
    assert "0.5" in text
    assert "EXCEEDED" in text


def test_the_page_gets_the_tables_between_its_marks(tmp_path: Path) -> None:
    run, page = tmp_path / "run.json", tmp_path / "speed.md"
    run.write_text(json.dumps(run_data()), "utf-8")
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", "utf-8")
    assert report.main([str(run), str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| frozen stop | 21.0 |" in text


def test_a_page_without_the_marks_is_left_alone() -> None:
    with pytest.raises(ValueError, match="figures: begin"):
        report.put_into("a page", "tables")


def test_one_value_has_no_spread() -> None:
    assert Figure.of([3.0]) == Figure(3.0, 3.0, 3.0)
    assert Figure.of([1.0, 2.0, 3.0, 4.0, 5.0]) == Figure(3.0, 2.0, 4.0)
