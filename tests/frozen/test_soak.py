"""Two thousand hooks of 20 sessions in 5 projects, side by side: nothing is lost, doubled or left behind."""

from __future__ import annotations

import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.e2e.session_home import Ran, Session, write_way
from tests.frozen.conftest import FrozenHome
from ways.core.files import TEMPORARY_MARK

pytestmark = pytest.mark.frozen

SESSIONS, PROJECTS, WAYS = 20, 5, 12
HOOKS_EACH = 100
_SHOWN = re.compile(r"BODY-(\d+)-(\d+)")  # project, way


@dataclass
class Played:
    """What one session saw: its hooks' runs and how many prompts were typed."""

    session: Session
    runs: list[Ran] = field(default_factory=list)
    epochs: int = 0

    @property
    def shown(self) -> list[str]:
        """The ids of the ways in what the hooks printed."""
        return [f"soak/w{way}" for ran in self.runs for _project, way in _SHOWN.findall(ran.context)]


def make_project(home: FrozenHome, number: int) -> Path:
    """A project with ways of its own, one for each word and file name."""
    folder = home.path / "soak" / f"project {number}"
    (folder / ".git").mkdir(parents=True)
    for way in range(WAYS):
        front = f"pattern: \\bword{way}\\b\ncommands: \\brun{way}\\b\nfiles: file{way}\\.txt$\nrefire: 1.0"
        write_way(folder / ".claude/ways", f"soak/w{way}", front, f"BODY-{number}-{way}")
    return folder


def play(session: Session, seed: int) -> Played:
    """A session at random: prompts, commands, edits and answers, until it has run its share of hooks."""
    rng = random.Random(seed)
    played = Played(session)
    session.start()
    while len(played.runs) < HOOKS_EACH:
        way = rng.randrange(WAYS)
        kind = rng.choice(("prompt", "bash", "edit", "after", "stop"))
        if kind == "prompt":
            text = f"please look at word{way} and nothing else"
            payload = session.payload("UserPromptSubmit", prompt=text)
        elif kind == "bash":
            payload = session.payload("PreToolUse", tool_name="Bash", tool_input={"command": f"./run{way}"})
        elif kind == "edit":
            given = {"file_path": str(session.project / f"file{way}.txt")}
            payload = session.payload("PreToolUse", tool_name="Edit", tool_input=given)
        elif kind == "after":
            payload = session.payload(
                "PostToolUse", tool_name="Bash", tool_input={"command": "true"}, tool_response="fine"
            )
        else:
            payload = session.payload("Stop", last_assistant_message="Done.", stop_hook_active=False)
        played.runs += session.fire(payload)
        if kind in ("prompt", "bash", "edit"):
            played.epochs += 1
        session.say("I have looked.")
    return played


@pytest.fixture(scope="module")
def all_played(home: FrozenHome) -> list[Played]:
    projects = [make_project(home, number) for number in range(PROJECTS)]
    sessions = [Session(home, projects[index % PROJECTS]) for index in range(SESSIONS)]
    with ThreadPoolExecutor(6) as pool:
        return list(pool.map(play, sessions, range(SESSIONS)))


def test_every_showing_is_printed_once_and_logged_once(home: FrozenHome, all_played: list[Played]) -> None:
    assert sum(len(played.runs) for played in all_played) >= SESSIONS * HOOKS_EACH
    rows = home.log("way_fired", "way_redisclosed")
    for played in all_played:
        shown = played.shown
        assert shown, "a session of a hundred hooks meets its words"
        assert len(set(shown)) == len(shown), "no way is shown twice inside its window"
        logged = [row["way"] for row in rows if row["session"] == played.session.id]
        assert sorted(logged) == sorted(shown)
        project = played.session.project.name.removeprefix("project ")
        foreign = [ran for ran in played.runs for found in _SHOWN.findall(ran.context) if found[0] != project]
        assert not foreign, "a session sees its own project's ways only"


def test_no_prompt_or_tool_call_is_lost_from_the_count(all_played: list[Played]) -> None:
    for played in all_played:
        assert int((played.session.directory / "epoch").read_text()) == played.epochs


def test_every_session_is_logged(home: FrozenHome, all_played: list[Played]) -> None:
    started = [row["session"] for row in home.log("session_start")]
    for played in all_played:
        assert started.count(played.session.id) == 1


def test_nothing_is_left_behind(home: FrozenHome, all_played: list[Played]) -> None:
    left = [path for path in home.path.rglob("*") if TEMPORARY_MARK in path.name]
    assert left == []
    assert processes_of(home) == []
    for played in all_played:
        files = [path for path in played.session.directory.rglob("*") if path.is_file()]
        # At most three small files for each way and a handful of records, whatever the number of hooks.
        assert len(files) <= 3 * WAYS + 12, sorted(map(str, files))
        assert sum(path.stat().st_size for path in files) < 64 * 1024


def processes_of(home: FrozenHome) -> list[str]:
    """The command lines of processes that run with this home."""
    wanted = f"HOME={home.path}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                found.append((entry / "cmdline").read_bytes().decode("utf-8", "replace"))
        except OSError:
            continue  # it has ended, or belongs to somebody else
    return found
