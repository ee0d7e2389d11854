"""A home with a log, a session directory and a transcript, for the tests of commands that read them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.unit.readers.world import event, fire, said, typed, write_log, write_transcript
from ways.cli.main import program
from ways.core.errors import UserError
from ways.core.roots import Roots, resolve
from ways.session.state import Session

SESSION = "5e551017-0000-4000-8000-000000000001"
OTHER = "07e20000-0000-4000-8000-000000000002"
CLEARED = (
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_CONFIG_DIR",
    "CLAUDE_CONTEXT_WINDOW",
    "CLAUDE_CODE_DISABLE_1M_CONTEXT",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "WAYS_APP_ROOT",
    "WAYS_CONFIG_ROOT",
    "WAYS_STATE_ROOT",
    "WAYS_CACHE_ROOT",
    "WAYS_SESSIONS_ROOT",
    "WAYS_TARGET",
)


def make(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    """An empty home in `folder`, with the current folder a project in it."""
    for name in CLEARED:
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "HOME": folder,
        "USERPROFILE": folder,
        "LOCALAPPDATA": folder / "local",
        "XDG_RUNTIME_DIR": folder / "run",
        "WAYS_ENGINE_LIB": "/nonexistent/engine",
        "WAYS_MODELS_DIR": "/nonexistent",
        "COLUMNS": "80",
    }.items():
        monkeypatch.setenv(name, str(value))
    (folder / "run").mkdir(mode=0o700)
    project = folder / "shop"
    (project / ".claude" / "ways").mkdir(parents=True)
    monkeypatch.chdir(project)
    return resolve()


def fill(roots: Roots, project: Path) -> None:
    """Two sessions in the log; SESSION has state and a transcript, OTHER is of another project."""
    place = {
        "session": SESSION,
        "project": str(project),
        "config_dir": roots.projection,
        "model": "claude-haiku-4-5",
    }
    write_log(
        Path(roots.events),
        [
            fire("z/other", -5_000, session=OTHER, project="/elsewhere"),
            event("session_start", 0, hook="SessionStart", source="startup", **place),
            fire("a/b", 1, 12_000, **place),
            event("way_judged", 1.1, way="a/c", verdict="block", p_yes="0.2", threshold="0.5", **place),
            event("way_judged", 1.1, way="a/d", verdict="would_block", p_yes="0.3", threshold="0.5", **place),
            event(
                "judge_call",
                1.2,
                outcome="ok",
                provider="anthropic",
                input_tokens="900",
                cost_usd="0.01",
                **place,
            ),
            fire("x/sub", 3, 2_000, **{**place, "agent_id": "helper"}),
            event("way_suppressed", 5, way="a/b", kind="way", reason="refire", **place),
            event("way_nearmiss", 6, way="a/e", prob_en="0.47", tau_s="0.5", trigger="prompt", **place),
        ],
        b"torn {\n",
        b'{"event": "way_fired", "session": 7}\n',
    )
    session = Session(roots.sessions, SESSION)
    session.make()
    agent = session.agent("main")
    assert agent is not None
    agent.bump_epoch()
    agent.record_fire("a/b", 12_000, 1)
    agent.bump_epoch()
    write_transcript(
        Path(roots.projection) / "projects" / "-shop" / f"{SESSION}.jsonl",
        [typed(1.5), said(2.0, 14_000, "Bash"), said(4.0, 20_000)],
        b'{"torn',
    )
    way = project / ".claude" / "ways" / "a" / "b" / "b.md"
    way.parent.mkdir(parents=True)
    way.write_text(
        "---\ndescription: things\nvocabulary: thing\nrefire: 0.1\npattern: things?\n---\nBody.\n", "utf-8"
    )


def run(*arguments: str, code: int = 0, stdin: str | None = None) -> Result:
    """Run `ways …` in this process and check its exit code."""
    result = CliRunner().invoke(program, list(arguments), input=stdin)
    if isinstance(result.exception, UserError):
        assert result.exception.exit_code == code, result.exception
        return result
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def data(*arguments: str) -> object:
    """What `ways … --json` prints."""
    return json.loads(run(*arguments, "--json").stdout)
