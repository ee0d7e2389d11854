"""Golden prompts: the file, what the pattern must not match, and whether they show their way."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.unit.embedding import parts
from ways.authoring import goldens
from ways.authoring.findings import ERROR, NOTE, WARNING, Finding
from ways.authoring.lint import Knowledge, lint
from ways.authoring.scan import Scanner, candidates_on, embedded
from ways.catalogue.cache import load
from ways.catalogue.way import Catalogue, WayRoots
from ways.cli.main import main
from ways.embedding.aliases import alias_text
from ways.matching.types import COMMAND, FILE, PROMPT, TASK

Writer = Callable[..., Path]
Loader = Callable[[], Catalogue]
FRONT = "description: Baking bread at home\nvocabulary: sourdough loaf oven crust knead\nrefire: normal"
PATTERN = f"{FRONT}\npattern: '\\bbread\\b'"
DIRECT = {"prompt": "how do I bake bread with a good crust", "kind": "direct"}
SITUATION = {"prompt": "my sourdough loaf comes out of the oven flat", "kind": "situation"}


def beside(path: Path, *rows: object) -> Path:
    """Write the golden file of the way in `path`; text stands as it is, anything else as JSON."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    target = path.parent / f"{path.parent.name}.golden.jsonl"
    target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return target


def found(catalogue: Catalogue, knowledge: Knowledge | None = None) -> list[Finding]:
    return lint(catalogue, knowledge or Knowledge())


def test_a_good_file_has_no_findings_and_is_no_way(way: Writer, catalogue: Loader) -> None:
    beside(way("bread", PATTERN), DIRECT, "", SITUATION)
    assert found(catalogue(), Knowledge(golden=True)) == []
    assert [one.id for one in catalogue().ways] == ["bread"]


@pytest.mark.parametrize(
    ("rows", "line", "message"),
    [
        (["nonsense"], 1, "is no JSON object"),
        ([["a"]], 1, "is no JSON object"),
        ([DIRECT, {"prompt": " ", "kind": "situation"}], 2, "lacks a prompt"),
        ([DIRECT, {"prompt": 3, "kind": "situation"}], 2, "lacks a prompt"),
        ([DIRECT, {"prompt": "x", "kind": "oblique"}], 2, "kind must be direct or situation"),
        ([DIRECT, SITUATION | {"note": "x"}], 2, "note has no meaning here"),
        ([DIRECT, DIRECT], 2, "is a second direct prompt; there is one of each kind"),
        ([DIRECT, {"prompt": DIRECT["prompt"], "kind": "situation"}], 2, "repeats the other prompt"),
        ([DIRECT], 0, "has no situation prompt"),
        ([SITUATION], 0, "has no direct prompt"),
        ([], 0, "has no direct and no situation prompt"),
    ],
)
def test_each_fault_names_file_and_line(
    way: Writer, catalogue: Loader, rows: Sequence[object], line: int, message: str
) -> None:
    path = beside(way("bread", FRONT), *rows)
    (only,) = found(catalogue())
    assert only == Finding("golden", ERROR, str(path), line, 1 if line else 0, "bread", message)


def test_the_situation_may_not_name_the_subject(way: Writer, catalogue: Loader) -> None:
    path = beside(way("bread", PATTERN), DIRECT, {"prompt": "My BREAD is flat", "kind": "situation"})
    (only,) = found(catalogue())
    assert (only.path, only.line, only.level) == (str(path), 2, ERROR)
    assert "the pattern matches 'BREAD'" in only.message


def test_nobody_needs_golden_prompts_unless_asked(way: Writer, catalogue: Loader, tmp_path: Path) -> None:
    way("bread", FRONT)
    way("oven", "trigger: session-start\nrefire: once")
    assert found(catalogue()) == []
    (only,) = found(catalogue(), Knowledge(golden=True))
    assert (only.way, only.level) == ("bread", WARNING), "one's own ways: a warning, and only by meaning"
    core = load(WayRoots(core=str(tmp_path / "project/.claude/ways")), str(tmp_path / "cache"))
    assert [(one.way, one.level) for one in found(core, Knowledge(golden=True))] == [("bread", ERROR)]


def test_a_corpus_without_the_way_is_no_fault_of_the_prompts(
    way: Writer, catalogue: Loader, tmp_path: Path
) -> None:
    beside(way("bread", PATTERN), DIRECT, SITUATION)
    ways = catalogue()
    roots = parts.roots_in(tmp_path / "roots")
    prompts, tasks = (Scanner(ways, candidates_on(ways, surface), roots) for surface in (PROMPT, TASK))
    levels = [(one.line, one.level) for one in found(ways, Knowledge(trial=goldens.Trial(prompts, tasks)))]
    assert levels == [(1, NOTE), (2, NOTE)]


def test_what_is_embedded_of_each_surface() -> None:
    assert embedded(FILE, "/a/b.py") == ("", ())
    whole, pieces = embedded(COMMAND, "git commit -m x. And then y.", "Commit it")
    assert "Commit it" in whole and pieces == ()
    assert len(embedded(PROMPT, "The oven is far too hot. The dough does not rise.")[1]) == 2


@pytest.mark.model
def test_golden_prompts_are_tried_on_the_real_model(
    way: Writer,
    catalogue: Loader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    parts.use(monkeypatch)
    beside(way("kitchen/bread", PATTERN), DIRECT, SITUATION)
    boats = way("kitchen/boats", "description: Sailing boats\nvocabulary: sail wind mast\nrefire: normal")
    path = beside(boats, {"prompt": "sailing a boat in strong wind", "kind": "direct"}, SITUATION)
    plates = "description: Washing plates\nvocabulary: dishes sink soap\nrefire: normal\nscope: subagent"
    beside(
        way("kitchen/plates", plates),
        {"prompt": "Wash the plates.", "kind": "direct"},
        {"prompt": "dirty dishes stand in the sink", "kind": "situation"},
    )
    texts = {one.corpus_id: ([alias_text(one.alias)], ["Body"]) for one in catalogue().ways}
    parts.write_corpus(tmp_path / "cache" / "ways-corpus-en.bin", texts)
    assert main(["author", "lint", "--golden"]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        f"{path.relative_to(Path.cwd())}:2:1: error: the situation prompt does not show the way "
        "(`ways author match` says why) [golden]"
    ], err
    assert main(["author", "lint"]) == 0, "without being asked nothing is tried"
