"""`ways explain`: every way that a prompt concerns, each number against its gate, what held it back."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.unit.cli.reader_home import SESSION, data, fill, make, run
from ways.cli import explain as explain_command
from ways.cli import explain_steps, place
from ways.cli.explain_steps import Reader, Ruling
from ways.core.errors import USAGE
from ways.core.roots import Roots
from ways.embedding import paths
from ways.gate import client
from ways.gate.types import GateOutcome
from ways.telemetry import log

LONG = "x" * 9_990


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    roots = make(tmp_path, monkeypatch)
    fill(roots, tmp_path / "shop")
    return roots


def way(way_id: str, front: str, body: str = "Body.") -> None:
    path = Path(".claude/ways") / way_id / f"{way_id.rsplit('/', 1)[-1]}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{front}\n---\n{body}\n", "utf-8")


def told(*arguments: str) -> dict[str, dict[str, object]]:
    return {row["way"]: row for row in data("explain", *arguments)["ways"]}


def test_a_way_that_was_shown_lately_is_inside_its_window(home: Roots) -> None:
    found = data("explain", "do things")
    assert found["session"] == SESSION and found["position"] == 20_000
    (row,) = found["ways"]
    assert (row["way"], row["result"], row["channel"], row["matched"]) == (
        "a/b",
        explain_steps.INSIDE_REFIRE,
        "keyword",
        "things",
    )
    gates = {gate["name"]: gate for gate in row["gates"]}
    assert (gates["refire tokens"]["value"], gates["refire tokens"]["threshold"]) == (8_000, 20_000)
    assert gates["refire tokens"]["passed"] is False
    assert "refire 8,000 < 20,000 tokens" in run("explain", "do things").output


def test_for_a_new_session_it_is_shown_and_fits(home: Roots) -> None:
    row = told("do things", "--fresh")["a/b"]
    assert row["result"] == explain_steps.SHOWN
    assert row["gates"] == [{"name": "room", "value": 5, "threshold": 10_000, "passed": True}]


def test_scope_switches_and_preconditions_are_named(home: Roots) -> None:
    way("k/sub", "description: x\npattern: things\nscope: [subagent]")
    way("k/off", "description: x\npattern: things")
    way("k/never", "description: x\npattern: things\nwhen: {env: [NO_SUCH_VARIABLE]}")
    Path(".claude/ways.yaml").write_text("ways: {k/off: false}\n", "utf-8")
    rows = told("do things", "--fresh")
    assert {name: rows[name]["why"] for name in ("k/sub", "k/off", "k/never")} == {
        "k/sub": "its scope is subagent",
        "k/off": "it is switched off",
        "k/never": "its `when` does not hold here",
    }
    assert all(rows[name]["result"] == "held back" for name in ("k/sub", "k/off", "k/never"))


def test_what_does_not_fit_is_told_and_a_smaller_one_still_fits(home: Roots) -> None:
    way("a/a", "description: x\npattern: things", LONG)
    way("z/z", "description: x\npattern: things", "y" * 50)
    rows = told("do things", "--fresh")
    assert [rows[name]["result"] for name in ("a/a", "a/b", "z/z")] == [
        explain_steps.SHOWN,
        explain_steps.SHOWN,
        explain_steps.NO_ROOM,
    ]
    assert rows["z/z"]["gates"][-1]["passed"] is False


def test_everything_switched_off_names_the_file(home: Roots) -> None:
    Path(".claude/ways.yaml").write_text("enabled: false\n", "utf-8")
    assert data("explain", "do things")["switched_off"] == os.path.join(os.getcwd(), ".claude", "ways.yaml")
    assert "switched off in" in run("explain", "do things").output


@pytest.mark.parametrize("prompt", ["<system-reminder>things", "   "])
def test_what_no_person_typed_is_not_matched(home: Roots, prompt: str) -> None:
    found = data("explain", prompt)
    assert found["ways"] == [] and found["not_matched"]
    assert "is not matched" in run("explain", prompt).output


def test_a_way_whose_file_has_gone_is_told(home: Roots) -> None:
    here = place.here(home)
    assert here.catalogue.find("a/b") is not None
    Path(".claude/ways/a/b/b.md").unlink()
    reader = Reader(None, 0, 200_000, "")
    _found, rows = explain_steps.explain(here, "things", here.rules("agent"), reader, 5, lambda hits: {})
    assert rows[0].result == explain_steps.GONE


@pytest.mark.parametrize(
    ("ruling", "result"),
    [
        (Ruling("block", 0.2, 0.5, ""), explain_steps.BLOCKED),
        (Ruling("would_block", 0.2, 0.5, ""), explain_steps.WOULD_BLOCK),
        (Ruling("pass", 0.8, 0.5, ""), explain_steps.SHOWN),
        (Ruling("block", None, 0.5, "a"), explain_steps.BLOCKED),
    ],
)
def test_the_judges_ruling_decides(home: Roots, ruling: Ruling, result: str) -> None:
    here = place.here(home)
    reader = Reader(None, 0, 200_000, "")
    asked = []

    def judge(hits):
        asked.extend(hit.way.id for hit in hits)
        return {"a/b": ruling}

    _found, rows = explain_steps.explain(here, "things", here.rules("agent"), reader, 5, judge)
    assert asked == ["a/b"] and rows[0].result == result
    assert [gate.name for gate in rows[0].gates if gate.name == "judge"] == (
        ["judge"] if ruling.p_yes else []
    )


def test_a_strict_pattern_is_never_judged(home: Roots) -> None:
    way("a/b", "description: x\npattern: things\npattern_strict: true")
    row = told("do things", "--fresh")["a/b"]
    assert row["result"] == explain_steps.SHOWN and "never judged" in row["why"]


def test_only_the_judges_cost_is_logged(home: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = log.event("way_judged", way="a/b", verdict="block", p_yes="0.1", threshold="0.5")
    call = log.event("judge_call", outcome="ok", cost_usd="0.001")
    monkeypatch.setattr(client, "judge", lambda request: GateOutcome(events=(verdict, call)))
    before = Path(home.events).read_bytes()
    here = place.here(home)
    hits = explain_steps.author_match.examine(here, "prompt", "things", here.rules("agent"))[1].hits
    rulings = explain_command.ask_judge(home, here, "things", "", "", hits)
    assert rulings["a/b"].verdict == "block" and rulings["a/b"].p_yes == 0.1
    added = Path(home.events).read_bytes()[len(before) :].splitlines()
    assert [json.loads(line)["event"] for line in added if line] == ["judge_call"]


def test_without_a_key_the_judge_is_not_asked_even_when_wanted(
    home: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "judge", lambda request: pytest.fail("asked"))
    found = data("explain", "do things", "--fresh", "--judge")
    assert found["judge"] == "no key, so no way is judged"


def contents(home: Roots) -> dict[str, bytes]:
    """Every file of the home but the cache, which any command may fill."""
    every = (path for path in Path(home.home).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in every if not path.is_relative_to(home.cache)}


def test_explaining_changes_nothing(home: Roots) -> None:
    before = contents(home)
    run("explain", "do things")
    run("explain", "do things", "--fresh", "--json")
    assert contents(home) == before


def test_what_the_log_holds_of_the_prompt_is_shown(home: Roots) -> None:
    common = {"session": SESSION, "agent_id": "main", "hook": "UserPromptSubmit", "project": os.getcwd()}
    fired = {"trigger": "semantic:embedding:en", "fire_score": "0.6"}
    log.append(
        home.events,
        [
            log.event("way_judged", way="a/q", verdict="block", p_yes="0.1", threshold="0.5", **common),
            log.event("way_fired", way="a/b", surface="do things now", **fired, **common),
        ],
    )
    found = data("explain", "do things now")["recorded"]
    assert [(row["event"], row["way"]) for row in found] == [("way_judged", "a/q"), ("way_fired", "a/b")]
    assert "On record" in run("explain", "do things now").output
    assert data("explain", "something else")["recorded"] == []


def test_the_numbers_of_meaning_are_those_of_author_match(
    home: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = Path(__file__).parents[3] / "build" / "out"
    library = top / "lib" / paths.library_name()
    if not library.is_file() or not (top / "models" / "en.gguf").is_file():
        pytest.skip("engine and model are not built")
    monkeypatch.setenv("WAYS_ENGINE_LIB", str(library))
    monkeypatch.setenv("WAYS_MODELS_DIR", str(top / "models"))
    way("m/cook", "description: cooking dinner\nvocabulary: oven recipe", "Heat the oven before you chop.")
    way("m/git", "description: making git commits\nvocabulary: commit message", "Write in the imperative.")
    run("corpus", "--quiet")
    compared = 0
    for prompt in ("cook dinner in the oven", "Cook dinner in the oven. Then make a git commit of it."):
        found = data("explain", prompt, "--fresh")
        match = json.loads(run("author", "match", prompt, "--json").stdout)
        rows = {row["way"]: row for row in match["rows"]}
        assert found["decides"] == match["decides"] != "none"
        names = {"p(en)": "prob_en", "share": "share", "peak": "peak", "body": "body"}
        for one in found["ways"]:
            for gate in one["gates"]:
                if gate["name"] in names:
                    assert gate["value"] == rows[one["way"]][names[gate["name"]]]
                    assert gate["passed"] == (gate["value"] >= gate["threshold"])
                    compared += 1
    assert compared >= 3


def test_usage(home: Roots) -> None:
    run("explain", code=USAGE)
    run("explain", "x", "--fresh", "--session", "y", code=USAGE)
    run("explain", "x", "--session", "nothing", code=USAGE)
    assert "Judge: no key" in run("explain", "-", stdin="do things").output
