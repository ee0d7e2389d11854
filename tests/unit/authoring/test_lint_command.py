"""`ways author lint` from the outside: what it looks at, formats, exit codes, --fix."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ways.cli.main import main

Writer = Callable[..., Path]
GOOD = "description: Deploying to production\nvocabulary: ship rollout\nrefire: normal"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["author", "lint", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_exit_codes(way: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys) == (0, "There are no ways of yours here; --all looks at the shipped ones.\n", "")
    way("good", GOOD)
    assert run(capsys, "--check") == (0, "", "")
    way("note", "description: Baking bread\nvocabulary: oven")
    assert run(capsys, "--check")[0] == 0
    way("warned", "description: Sailing boats\nrefire: once")
    code, out, _ = run(capsys)
    assert code == 0 and ".claude/ways/warned/warned.md:2:14: warning: add vocabulary" in out
    assert run(capsys, "--check")[0] == 1
    way("wrong", "description: Renting bikes\nvocabulary: wheel\nrefire: once\npattern: '('")
    assert run(capsys)[0] == 1
    assert run(capsys, "good") == (0, "", "")
    assert run(capsys, "nothing")[0] == 2


def test_a_broken_file_is_named_with_line_and_column(way: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    path = way("bad", "a: [")
    code, out, _ = run(capsys)
    assert code == 1 and out.count("bad/bad.md:3:1: error:") == 1
    code, _, err = run(capsys, str(path))
    assert code == 1 and ":3:1: is not valid YAML" in err


def test_a_file_may_be_named(way: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    path = way("warned", "description: Sailing boats\nrefire: once")
    assert "warned.md:2:14" in run(capsys, str(path))[1]


def test_shipped_ways_only_with_all(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "hooks" / "ways" / "core-way"
    folder.mkdir(parents=True)
    (folder / "core-way.md").write_text("---\ndescripton: x\n---\nB\n")
    assert run(capsys)[0] == 0
    code, out, _ = run(capsys, "--all", "--fix")
    assert code == 1 and "unknown-field" in out
    assert (folder / "core-way.md").read_text() == "---\ndescripton: x\n---\nB\n", "never repaired"


def test_a_folder_of_ways_without_a_project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "lib" / "x").mkdir(parents=True)
    (tmp_path / "lib" / "x" / "x.md").write_text("---\nrefire: once\n---\nB\n")
    code, out, _ = run(capsys, "--root", str(tmp_path / "lib"))
    assert code == 1 and "no-trigger" in out
    assert run(capsys, "--root", str(tmp_path / "none"))[0] == 2


def test_fix_repairs_and_then_lints(way: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    path = way("team", f"{GOOD}\nscop: [agent]")
    code, out, err = run(capsys, "--fix", "--check")
    assert (code, out) == (0, "") and "scop is now scope" in err
    assert "\nscope: [agent]\n" in path.read_text()


def test_formats_for_ci(way: Writer, capsys: pytest.CaptureFixture[str]) -> None:
    way("wrong", f"{GOOD}\npattern: '('")
    assert run(capsys, "--format", "github")[1].startswith("::error file=.claude/ways/wrong/wrong.md,line=5,")
    document = json.loads(run(capsys, "--format", "sarif")[1])
    assert [one["ruleId"] for one in document["runs"][0]["results"]] == ["field"]
    assert json.loads(run(capsys, "--format", "json")[1])[0]["rule"] == "field"


def test_escape_codes_of_a_cloned_project_stay_off_the_terminal(
    way: Writer, capsys: pytest.CaptureFixture[str]
) -> None:
    way("evil", f'{GOOD}\n"col\\e[31mour": x')
    assert "\x1b" not in run(capsys)[1]
