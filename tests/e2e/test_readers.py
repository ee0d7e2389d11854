"""The readers on a session that was played through the real hooks, on a terminal, and in a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.session_home import PROGRAM, Home, Session, write_way
from tests.unit.readers import generated

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def play(session: Session) -> None:
    """Prompts, commands, an edit, a subagent and a compaction."""
    ways = session.project / ".claude" / "ways"
    write_way(
        ways, "shop/colours", "description: colours\npattern: colours?\nrefire: 0.05", "Use the palette."
    )
    write_way(ways, "shop/colours/dark", "description: dark\npattern: dark\nrefire: rare", "Dark mode.")
    write_way(ways, "shop/deploy", "description: deploy\ncommands: 'deploy'", "Ask first.")
    write_way(ways, "shop/helper", "description: h\npattern: palette\nscope: [subagent]", "For helpers.")
    session.start()
    session.prompt("pick colours")
    session.say("Done.", 20_000)
    session.bash("make deploy")
    session.edit(str(session.project / "a.css"))
    session.say("More.", 24_000)
    session.prompt("now dark colours")
    session.say("Yes.", 33_000)
    session.task("find the palette")
    session.subagent("helper01")
    session.prompt("colours again")
    session.say("End.", 33_500)


def data(home: Home, *arguments: str, cwd: Path | None = None) -> Any:
    return json.loads(home.ways(*arguments, "--json", cwd=cwd))


@pytest.fixture
def played(session: Session) -> Session:
    play(session)
    return session


def test_what_the_replay_says_is_what_the_hooks_recorded(home: Home, played: Session) -> None:
    replay = data(home, "session", "replay", played.id)
    last = [frame for frame in replay["frames"] if frame["agent"] == "main"][-1]
    recorded = json.loads((played.directory / "engagement.json").read_text())
    assert recorded, "the hooks recorded nothing"
    active = {way["way"]: way for way in last["active"]}
    assert set(active) == set(recorded)
    for way, counts in recorded.items():
        assert active[way]["shown_at"] == counts["token_position"], way
        assert active[way]["fires"] == counts["fires"], way
        assert played.marker(way) == counts["token_position"]
    helper = [frame for frame in replay["frames"] if frame["agent"] == "helper01"][-1]
    assert [way["way"] for way in helper["active"]] == ["shop/helper"]


def test_the_forecast_is_what_the_next_prompt_meets(home: Home, played: Session) -> None:
    def left() -> int:
        found = data(home, "session", "ways", played.id)
        return next(way["left"] for way in found["agents"][0]["ways"] if way["way"] == "shop/colours")

    assert left() == 500  # shown at 24,000, now 33,500; a twentieth of 200,000 must pass
    played.say("Nearly.", 33_999)
    assert left() == 1
    assert "palette" not in played.prompt("colours")
    played.say("Now.", 34_000)
    assert left() == 0
    assert "palette" in played.prompt("colours")


def test_explain_says_what_the_prompt_then_does(home: Home, played: Session) -> None:
    explained = data(home, "explain", "dark colours and deploy", "--session", played.id, cwd=played.project)
    told = {
        row["way"]: row["result"]
        for row in explained["ways"]
        if row["result"] not in {"held back", "not near"}
    }
    assert told == {
        "shop/colours": "inside its refire window",
        "shop/colours/dark": "inside its refire window",
    }
    assert "palette" not in played.prompt("dark colours and deploy")
    fresh = data(home, "explain", "dark colours and deploy", "--fresh", cwd=played.project)
    shown = [row["way"] for row in fresh["ways"] if row["result"] == "shown"]
    assert shown == ["shop/colours", "shop/colours/dark"]
    other = Session(home, played.project)
    other.start()
    context = other.prompt("dark colours and deploy")
    assert "Use the palette." in context and "Dark mode." in context


def test_context_is_the_transcripts_number(home: Home, played: Session) -> None:
    (main,) = data(home, "context", played.id)["agents"]
    assert (main["used"], main["left"], main["window_source"]) == (33_500, 166_500, "model_table")


def test_reset_lets_everything_show_again(home: Home, played: Session) -> None:
    assert "palette" not in played.prompt("colours")
    home.ways("session", "reset", played.id)
    assert "palette" in played.prompt("colours")


def test_stats_count_this_project(home: Home, played: Session) -> None:
    found = data(home, "tune", "stats", cwd=played.project)
    assert found["project"] == str(played.project)
    assert {row["way"]: row["fired"] for row in found["ways"]}["shop/colours"] == 1
    assert found["scopes"]["subagent"] == 1


# On a terminal


def spawn(home: Home, *arguments: str, **more: Any) -> Any:
    if sys.platform == "win32":
        pytest.skip("needs a pty")
    import pexpect

    environment = {**home.environment, "TERM": "xterm-256color", "PAGER": "cat", **more}
    return pexpect.spawn(
        str(PROGRAM), list(arguments), env=environment, timeout=120, dimensions=(36, 120), encoding="utf-8"
    )


def ended(child: Any) -> int | None:
    """The exit code, once everything that the program wrote has been read."""
    import pexpect

    child.expect(pexpect.EOF)
    child.close()
    return int(child.exitstatus) if child.exitstatus is not None else None


def test_the_screen_opens_on_a_terminal_and_q_leaves_it(home: Home, played: Session) -> None:
    pexpect = pytest.importorskip("pexpect")
    child = spawn(home, "session", "replay", played.id)
    child.expect("shop/colours/dark")
    for _ in range(20):
        child.send("q")  # again on a busy machine, where the screen may not listen yet
        if child.expect(["\x1b\\[\\?1049l", pexpect.TIMEOUT], timeout=5) == 0:
            break  # the terminal is given back
    assert ended(child) == 0


def test_a_big_log_shows_progress_on_a_terminal_and_none_off_it(home: Home, tmp_path: Path) -> None:
    generated.write(tmp_path / "state" / "events.jsonl", 30_000, 40)
    child = spawn(home, "tune", "stats", "--global", WAYS_STATE_ROOT=str(tmp_path / "state"))
    child.expect("Reading the event log")
    child.expect("30,000 events in 40 sessions")
    assert ended(child) == 0
    done = subprocess.run(
        [str(PROGRAM), "session", "list"],
        env={**home.environment, "WAYS_STATE_ROOT": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == "" and "\x1b" not in done.stdout
    assert len(re.findall(r"\d{8}-0000-4000-8000-", done.stdout)) == 40


def test_no_colour_where_none_is_wanted(home: Home, played: Session) -> None:
    child = spawn(home, "session", "ways", played.id, NO_COLOR="1")
    child.expect("shop/deploy")
    told = child.before
    assert ended(child) == 0
    assert not re.search(r"\x1b\[[0-9;]*3\dm", told)


# In a browser


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), "")
    if not found:
        pytest.skip("no headless browser is installed")
    return found


def opened(page: Path, profile: Path) -> tuple[str, str]:
    """The document after its script has run, and the browser's log."""
    done = subprocess.run(
        [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={profile}",
            "--enable-logging=stderr",
            "--virtual-time-budget=3000",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout, done.stderr


def test_the_page_works_in_a_browser_without_breaking_its_own_policy(
    home: Home, played: Session, tmp_path: Path
) -> None:
    page = tmp_path / "replay.html"
    home.ways("session", "replay", played.id, "--html", str(page))
    dom, log = opened(page, tmp_path / "profile")
    assert "CONSOLE" not in log, log
    assert f"Session {played.id}" in dom
    for words in ("shop/colours/dark", "Ways in the context of this agent", "tokens (17 %)", "By trigger"):
        assert words in dom, words
    assert dom.count("<svg") >= 2


def test_hostile_events_do_nothing_in_the_browser(home: Home, session: Session, tmp_path: Path) -> None:
    session.start()
    hostile = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    with home.events.open("a", encoding="utf-8") as file:
        line = {"ts": "2026-11-30T09:00:00.000Z", "event": "way_fired", "session": session.id, "way": hostile}
        file.write(
            json.dumps({**line, "matched_span": hostile, "trigger": hostile, "project": hostile}) + "\n"
        )
    page = tmp_path / "replay.html"
    home.ways("session", "replay", session.id, "--html", str(page))
    dom, log = opened(page, tmp_path / "profile")
    assert "<title>Replay of" in dom and "CONSOLE" not in log
    assert "<img" not in dom and "&lt;img src=x" in dom
