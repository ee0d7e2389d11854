"""The lanes that start our own program in the background: the Windows wiring has no adapters to do it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
NOTICE = '{"systemMessage": "ways 9.9.9 is available"}\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".local/state/agent-ways").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    return tmp_path


def hook(home: Path, lane: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """One call as the Windows wiring spells it. The pipe ends with the hook, whatever it has started."""
    project = str(home / "project")
    payload = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "cwd": project}
    return subprocess.run(
        [sys.executable, "-m", "ways.entry", "hook", lane, "--target", str(home / ".claude")],
        input=json.dumps(payload).encode(),
        env={
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "WAYS_ENGINE_LIB": "/nonexistent/ways_native.so",
            "CLAUDE_PROJECT_DIR": project,
            **environ,
        },
        cwd=home / "project",
        capture_output=True,
        timeout=60,
        check=True,
    )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not happen within a minute"
        time.sleep(0.05)


def test_the_corpus_is_refreshed_by_a_process_of_its_own(home: Path) -> None:
    """Without an engine `ways corpus --if-stale --quiet` says so in the debug log: it ran, and here."""
    done = hook(home, "corpus-refresh")
    assert (done.stdout, done.stderr) == (b"", b"")
    log = home / ".local/state/agent-ways/debug.log"
    wait_for(lambda: log.is_file() and "corpus" in log.read_text("utf-8"))
    assert "/nonexistent/ways_native.so" in log.read_text("utf-8")


def test_the_notice_is_shown_and_the_next_look_up_started(home: Path) -> None:
    """The look-up of a development build takes a notice away: that is what shows that it ran."""
    notice = home / ".local/state/agent-ways/update-notice.json"
    notice.write_text(NOTICE)
    done = hook(home, "update-notice")
    assert (done.stdout.decode(), done.stderr) == (NOTICE, b"")
    wait_for(lambda: not notice.exists())
    assert hook(home, "update-notice").stdout == b""


@pytest.mark.parametrize("switch", [{"DISABLE_UPDATES": "1"}, {"CI": "true"}])
def test_no_notice_where_updates_are_off(home: Path, switch: dict[str, str]) -> None:
    (home / ".local/state/agent-ways/update-notice.json").write_text(NOTICE)
    assert hook(home, "update-notice", **switch).stdout == b""


def test_a_trial_of_the_hooks_starts_nothing(home: Path) -> None:
    for lane in ("corpus-refresh", "update-notice"):
        assert hook(home, lane, WAYS_SAMPLE="1").stdout == b""
    assert not (home / ".local/state/agent-ways/debug.log").exists()
    assert not (home / ".cache").exists()
