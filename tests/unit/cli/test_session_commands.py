"""`ways session …`, `ways context` and `ways tune …` on a home with one real session."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.unit.cli.reader_home import OTHER, SESSION, data, fill, make, run
from tests.unit.readers.world import fire
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.core.roots import Roots
from ways.readers import page
from ways.telemetry.log import append


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    roots = make(tmp_path, monkeypatch)
    fill(roots, tmp_path / "shop")
    return roots


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    return make(tmp_path, monkeypatch)


def test_list_shows_every_session_newest_first(home: Roots) -> None:
    rows = data("session", "list")
    assert [row["session"] for row in rows] == [SESSION, OTHER, "7"]
    assert rows[0]["blocked"] == rows[0]["would_block"] == 1 and rows[0]["cost_usd"] == 0.01
    assert rows[0]["touched"] and not rows[1]["touched"]
    text = run("session", "list").output
    assert SESSION in text and "~/shop" in text and "$0.0100" in text
    assert [row["session"] for row in data("session", "list", "--limit", "1")] == [SESSION]
    assert [row["session"] for row in data("session", "list", "--project", "/elsewhere")] == [OTHER]


def test_ways_tells_epoch_distance_and_forecast(home: Roots) -> None:
    found = data("session", "ways")
    assert found["session"] == SESSION
    (agent,) = found["agents"]
    assert (agent["position"], agent["window"], agent["window_source"]) == (20_000, 200_000, "model_table")
    (way,) = agent["ways"]
    assert (way["way"], way["trigger"], way["epoch"], way["distance"]) == ("a/b", "keyword", 1, 1)
    assert way["left"] == 20_000 - 8_000
    assert "in 12,000 tokens" in run("session", "ways").output


def test_ways_of_a_session_without_state_points_to_the_log(home: Roots) -> None:
    assert data("session", "ways", OTHER)["agents"] == []
    assert "session fires" in run("session", "ways", OTHER).output


def test_fires_shows_what_was_shown_and_blocked_and_with_all_the_rest(home: Roots) -> None:
    text = run("session", "fires").output
    assert "● " in text and "⊘" in text and "◌" in text and "a/e" not in text
    assert "p(yes) 0.20 < 0.50" in text
    everything = run("session", "fires", "--all").output
    assert "a/e" in everything and "p(en) 0.47 < 0.50" in everything and "refire window" in everything
    assert {row["way"] for row in data("session", "fires", "--way", "a")["events"]} == {"a/b", "a/c", "a/d"}
    assert [row["way"] for row in data("session", "fires", OTHER)["events"]] == ["z/other"]


def test_dump_has_state_and_events(home: Roots) -> None:
    found = data("session", "dump")
    assert len(found["events"]) == 8 and found["agents"][0]["ways"][0]["way"] == "a/b"
    assert found["subagents"] is True and found["directory"].endswith(SESSION)
    text = run("session", "dump").output
    assert "event=way_fired" in text and "agent      main epoch=2" in text


def test_live_prints_the_lines_of_one_session_or_of_all(home: Roots) -> None:
    assert run("session", "live", "--once").stdout == ""
    mine = run("session", "live", "--once", "--from-start").stdout
    assert "a/b" in mine and "z/other" not in mine
    every = run("session", "live", "--once", "--from-start", "--all").stdout
    assert "z/other" in every and SESSION[:8] in every
    lines = run("session", "live", "--once", "--from-start", "--json").stdout.splitlines()
    assert json.loads(lines[0])["event"] == "session_start"


def test_a_session_may_be_named_by_its_beginning(home: Roots) -> None:
    assert data("session", "fires", "07e2")["session"] == OTHER
    append(home.events, [fire("a/b", 5, session="07e2ffff-1")])
    for wanted in ("07e2", "nothing", "../etc", "a b"):
        with pytest.raises(UserError) as caught:
            from ways.cli.session_pick import pick

            pick(home, wanted)
        assert caught.value.exit_code == USAGE and caught.value.next_command


def test_reset_forgets_and_says_so(home: Roots) -> None:
    assert data("session", "reset") == {"session": SESSION, "reset": True}
    assert data("session", "ways")["agents"][0]["ways"] == []
    run("session", "reset", OTHER, code=USAGE)
    assert data("session", "fires")["session"] == SESSION  # the log keeps what was


def test_the_subagent_switch(home: Roots) -> None:
    assert data("session", "subagents") == {"session": SESSION, "subagents": True}
    assert "are off" in run("session", "subagents", "off").output
    assert data("session", "dump")["subagents"] is False
    assert data("session", "subagents", "on")["subagents"] is True
    fresh = "ffffffff-0000-4000-8000-000000000009"
    assert data("session", "subagents", "off", fresh) == {"session": fresh, "subagents": False}


def test_replay_as_json_has_frames_with_active_ways(home: Roots) -> None:
    found = data("session", "replay")
    assert found["exact_epochs"] and found["window"] == 200_000
    second = found["frames"][1]
    assert [line["mark"] for line in second["lines"]] == ["●", "⊘", "◌", "$"]
    assert second["active"][0]["way"] == "a/b" and second["active"][0]["left"] == 20_000
    assert found["tokens"][-1][1] == 20_000 and found["agents"] == ["main", "helper"]
    # A prompt, a Bash call and the prompt of the last frame: epoch 3; shown in epoch 1.
    assert (found["frames"][-1]["epoch"], found["frames"][-1]["active"][0]["distance"]) == (3, 2)


def test_replay_as_a_page(home: Roots, tmp_path: Path) -> None:
    target = tmp_path / "replay.html"
    assert run("session", "replay", "--html", str(target)).output == ""
    text = target.read_text("utf-8")
    assert page.GENERATOR in text and SESSION in text and OTHER in text
    if os.name != "nt":
        assert target.stat().st_mode & 0o077 == 0
    run("session", "replay", SESSION, "--html", str(target))  # its own page may be replaced
    assert OTHER not in target.read_text("utf-8")


def test_replay_replaces_no_file_of_the_users(home: Roots, tmp_path: Path) -> None:
    mine = tmp_path / "mine.html"
    mine.write_text("precious")
    link = tmp_path / "dangling"
    link.symlink_to(tmp_path / "nowhere")
    for path in (mine, link):
        run("session", "replay", "--html", str(path), code=REFUSED)
    assert mine.read_text() == "precious"
    run("session", "replay", "--html", str(mine), "--force")
    assert "precious" not in mine.read_text("utf-8")
    run("session", "replay", "--html", str(tmp_path / "none" / "x.html"), code=WRITE_FAILED)


def test_replay_without_a_terminal_says_what_to_do(home: Roots) -> None:
    run("session", "replay", code=USAGE)
    run("session", "replay", "--json", "--html", "x", code=USAGE)


def test_context_tells_used_left_and_the_windows_source(home: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    found = data("context")
    (main,) = found["agents"]
    assert (main["used"], main["left"], main["percent"]) == (20_000, 180_000, 10.0)
    assert main["window_source"] == "model_table"
    assert "20,000" in run("context").output
    assert [row["agent"] for row in data("context", "--agents")["agents"]] == ["main", "helper"]
    monkeypatch.setenv("CLAUDE_CONTEXT_WINDOW", "50000")
    assert data("context")["agents"][0]["window_source"] == "env_override"
    assert "not there" in run("context", OTHER).output


def test_stats_are_of_the_project_here_unless_told_otherwise(
    home: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data("tune", "stats")["project"] == os.getcwd()
    assert data("tune", "stats")["ways"][0]["way"] == "a/b"
    assert "z/other" in {way["way"] for way in data("tune", "stats", "--global")["ways"]}
    assert [way["way"] for way in data("tune", "stats", "--project", "/elsewhere")["ways"]] == ["z/other"]
    assert data("tune", "stats", "--days", "36500")["events"] == 8
    run("tune", "stats", "--global", "--project", "/x", code=USAGE)
    assert "By trigger" in run("tune", "stats").output
    deep = Path("src/deep")
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert data("tune", "stats")["project"] == os.path.dirname(os.path.dirname(os.getcwd()))


def test_precision_and_locale_answer(home: Roots) -> None:
    found = data("tune", "precision", "--min-sessions", "1", "--global")
    assert {row["way"]: row["flag"] for row in found["ways"]}["a/b"] == "mis-targeted"
    assert "no way fired in 5 sessions" in run("tune", "precision").output
    locale = Path(".claude/ways/a/b/b.locales.jsonl")
    locale.write_text('{"lang":"de","description":"Dinge","vocabulary":"Ding"}\nbroken\n', "utf-8")
    rows = {row["language"]: row for row in data("tune", "locale", "fr")["languages"]}
    assert (rows["de"]["covered"], rows["fr"]["missing"]) == (1, ["a/b"])
    assert "No alias in fr" in run("tune", "locale", "fr").output


@pytest.mark.parametrize(
    "arguments",
    [
        ("session", "list"),
        ("tune", "stats"),
        ("tune", "precision"),
        ("tune", "locale"),
        ("session", "live", "--once", "--all"),
    ],
)
def test_an_empty_home_is_no_error(empty: Roots, arguments: tuple[str, ...]) -> None:
    run(*arguments)
    run(*arguments, "--json")
    assert not os.path.exists(empty.state) or os.listdir(empty.state) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("session", "ways"),
        ("session", "fires"),
        ("session", "dump"),
        ("session", "live", "--once"),
        ("session", "replay", "--json"),
        ("session", "reset"),
        ("context",),
    ],
)
def test_without_any_session_the_next_step_is_told(empty: Roots, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, code=USAGE)
    assert isinstance(result.exception, UserError) and result.exception.next_command


def test_nothing_of_the_log_reaches_the_terminal_as_control_codes(home: Roots) -> None:
    append(
        home.events,
        [fire("a/\x1b[31mred\x07", 7, session=SESSION, matched_span="\x1b]0;title\x07", project=os.getcwd())],
    )
    for arguments in (
        ("session", "list"),
        ("session", "fires", "--all"),
        ("session", "dump"),
        ("session", "live", "--once", "--from-start"),
        ("tune", "stats"),
        ("tune", "precision", "--min-sessions", "1"),
    ):
        assert "\x1b" not in run(*arguments).output and "\x07" not in run(*arguments).output
