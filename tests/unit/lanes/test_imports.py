"""What a hook may load: the list that keeps hooks quick (docs/architecture.md, The hook's path)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from build.pyinstaller import units
from ways.catalogue.build import SETTLE_NS

ROOT = Path(__file__).resolve().parents[3]
HEAVY = {
    "argparse",
    "asyncio",
    "click",
    "concurrent.futures",
    "contextlib",
    "ctypes",
    "dataclasses",
    "email",
    "enum",
    "hashlib",
    "httpx",
    "importlib.metadata",
    "inspect",
    "json",
    "logging",
    "numpy",
    "pathlib",
    "platformdirs",
    "portalocker",
    "questionary",
    "re",
    "rich",
    "ruamel",
    "shutil",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "typing",
    "urllib.parse",
    "yaml",
}
# Library modules that cost a hook one more file to open, which only what shows something may.
DEAR = {"array", "binascii", "collections", "math", "mmap", "select", "struct", "zlib"}
# Without an engine these try to embed in their own process.
WITH_MEANING = {"prompt", "command", "task"}
# Wanted by the frozen program, and by the quiet hooks of most homes: not in this one, whose ways are few.
NOT_ALWAYS = {
    *("ways.core.environment", "ways.core.in_use"),
    *("ways.session.transcript", "ways.session.backwards", "ways.session.stamps", "ways.session.window"),
    *("ways.lanes.rules", "ways.matching", "ways.matching.candidates", "ways.lanes.showing"),
    *("ways.catalogue.preconditions", "ways.catalogue.globs", "ways.disclosure", "ways.disclosure.scope"),
}
# A hook that shows nothing. What it may load besides what Python itself has loaded at start.
QUIET = {
    "session-start": {"hook_event_name": "SessionStart", "source": "startup"},
    "state": {"hook_event_name": "UserPromptSubmit", "prompt": "hello"},
    "prompt": {"hook_event_name": "UserPromptSubmit", "prompt": "hello"},
    "command": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}},
    "file": {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "/p/a"}},
    "task": {"hook_event_name": "PreToolUse", "tool_name": "Task", "tool_input": {"prompt": "hello"}},
    "subagent-start": {"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "x"},
    "post-tool": {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}},
    "queued": {"hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}},
    "stop": {"hook_event_name": "Stop", "last_assistant_message": "Done."},
    "session-link": {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "true"}},
    "attend-drain": {"hook_event_name": "Stop", "stop_hook_active": False},
    "issues-pull": {"hook_event_name": "UserPromptSubmit", "prompt": "hello"},
    "issues-task-created": {"hook_event_name": "TaskCreated", "task_subject": "Fix the parser"},
    "tasks-active": {"hook_event_name": "PreToolUse", "tool_name": "TaskCreate", "tool_input": {}},
}
PROBE = """
import sys
sys.path[:0] = [sys.argv[1], sys.argv[3]]
before = set(sys.modules)
sys.argv = ["ways", "hook", sys.argv[2]]
from ways.entry import main
code = main()
loaded = sorted(set(sys.modules) - before)
import json
sys.stderr.write(json.dumps([code, loaded]))
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home with one way, warm caches, no engine."""
    home = tmp_path_factory.mktemp("home")
    way = home / ".claude/hooks/ways/team/deploy"
    way.mkdir(parents=True)
    (way / "deploy.md").write_text("---\npattern: deploy\ndescription: Deploying\n---\nBODY\n")
    (home / ".claude/hooks/ways/core.md").write_text("---\n---\nCORE\n")
    # What changed a moment ago may change again within one tick: its cache is not trusted yet.
    time.sleep(SETTLE_NS / 1e9 + 0.1)
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "WAYS_SESSIONS_ROOT": str(home / "sessions"),
        "WAYS_ENGINE_LIB": "/nonexistent/ways_native.so",
    }


def run(environment: dict[str, str], lane: str, payload: dict[str, object]) -> tuple[str, list[str]]:
    document = {"session_id": f"s-{lane}", "transcript_path": "", "cwd": environment["HOME"], **payload}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROBE, str(ROOT), lane, sysconfig.get_paths()["purelib"]],
        input=json.dumps(document),
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    code, loaded = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    return done.stdout, loaded


@pytest.mark.parametrize("lane", QUIET)
def test_a_hook_that_shows_nothing_loads_nothing_heavy(environment: dict[str, str], lane: str) -> None:
    run(environment, "state", QUIET["state"])
    for _ in range(2):  # fill the caches, show core.md
        run(environment, lane, QUIET[lane])
    shown, loaded = run(environment, lane, QUIET[lane])
    assert shown == ""
    assert not [name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY]


@pytest.mark.parametrize("lane", [lane for lane in QUIET if lane not in WITH_MEANING])
def test_a_hook_that_shows_nothing_opens_no_library_that_it_can_do_without(
    environment: dict[str, str], lane: str
) -> None:
    run(environment, "state", QUIET["state"])
    for _ in range(2):
        run(environment, lane, QUIET[lane])
    _shown, loaded = run(environment, lane, QUIET[lane])
    assert not DEAR & set(loaded)


@pytest.mark.parametrize("lane", units.LANES)
def test_the_unit_of_a_lane_is_what_its_quiet_hook_loads(environment: dict[str, str], lane: str) -> None:
    run(environment, "state", QUIET["state"])
    for _ in range(2):
        run(environment, lane, QUIET[lane])
    _shown, loaded = run(environment, lane, QUIET[lane])
    unit = set(units.modules_of(lane, ROOT))
    ours = {name for name in loaded if name.split(".")[0] == "ways"}
    if lane in WITH_MEANING:
        missing = {"ways.embedding.near", "ways.embedding.client", "ways.embedding.header"} - unit
        assert not missing
        ours &= unit
        unit -= {"ways.core.local_socket"}  # there is no resident to connect to
    assert ours <= unit, "named in build/pyinstaller/units.py: slow without"
    assert unit <= ours | NOT_ALWAYS, "named in build/pyinstaller/units.py, and not needed"


def test_a_unit_names_each_module_after_those_that_it_imports() -> None:
    for lane in units.LANES:
        known: set[str] = set()
        for name in units.modules_of(lane, ROOT):
            path = units.file_of(name, ROOT)
            assert path is not None
            wanted = set(units.imported_at_load(path.read_text("utf-8")))
            assert {one for one in wanted if units.file_of(one, ROOT)} <= known, name
            known.add(name)


def test_a_hook_that_shows_a_way_loads_no_yaml(environment: dict[str, str]) -> None:
    run(environment, "state", QUIET["state"])
    run(environment, "prompt", QUIET["prompt"])
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "deploy"}
    shown, loaded = run(environment, "prompt", payload)
    assert "BODY" in shown
    heavy = [name for name in loaded if name in HEAVY or name.split(".")[0] in HEAVY]
    assert not {"yaml", "dataclasses", "typing", "pathlib", "subprocess", "click", "numpy"} & set(heavy), (
        heavy
    )
