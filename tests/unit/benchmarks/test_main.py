"""The command, from source: real homes, real hooks, two rounds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import __main__ as command
from benchmarks.floors import P
from benchmarks.stage import GROUPS


def test_the_lanes_from_source_are_measured_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.json"
    arguments = ["--source-only", "--no-engine", "--runs", "1", "--json", str(target)]
    arguments += ["--only", "source:file", "--only", "source:subagent-start"]
    assert command.main(arguments) == 0
    told = capsys.readouterr()
    run = json.loads(target.read_text("utf-8"))
    names = [one["name"] for one in run["measures"]]
    assert names == [
        "source file, nothing shown",
        "source file, one way shown",
        "source subagent-start, three ways",
    ]
    assert all(name in told.out for name in names)
    assert all(one["over_F"] is None and one[f"over_{P}"][0] > 1 for one in run["measures"])
    assert run["machine"]["ways"] > 0


def test_groups_and_parts_of_names_can_be_chosen() -> None:
    assert command.chosen([]) == {group: () for group in GROUPS}
    assert command.chosen(["lanes:prompt", "lanes:stop", "corpus"]) == {
        "lanes": ("prompt", "stop"),
        "corpus": (),
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "speed"], "there is no group 'speed'"),
        (["--no-engine"], "--source-only"),
        (["--source-only", "--only", "lanes"], "source, source-cold"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        command.main(arguments)
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def test_an_exceeded_budget_is_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "measured", lambda wanted, rounds: (_EMPTY, 1))
    assert command.main(["--source-only"]) == 1


_EMPTY = {
    "machine": {
        "date": "",
        "system": "",
        "processor": "",
        "cores": 2,
        "python": "",
        "commit": "",
        "load": [0, 0],
        "rounds": 1,
    },
    "measures": [],
    "margin": 0.1,
    "budgets": [],
}
