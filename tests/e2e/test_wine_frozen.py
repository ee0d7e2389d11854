"""The frozen `ways.exe` under Wine, from its installation to its removal, through the command lines that
people and settings files hold. Wine takes no junctions, so this is also life on a volume without them.

Two builds of several minutes each, so it runs only when it is asked for: `WAYS_WINE_FROZEN=1` builds them and
keeps them in the build cache; `WAYS_WINE_ARCHIVES=OLD.zip:NEW.zip` takes builds that exist (with one alone,
nothing is updated). The tests follow one another on one machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from build import wine_python
from tests.e2e import wine_machine
from tests.e2e.wine_machine import ARCHIVES, ASKED, Machine, WineReleases

pytestmark = [pytest.mark.wine, pytest.mark.slow]
PROMPT = "Please write a commit message and commit the change."
EVENTS: list[tuple[str, str, dict[str, object]]] = [
    ("UserPromptSubmit", "", {"prompt": "please zebra it é"}),
    ("PreToolUse", "Bash", {"tool_name": "Bash", "tool_input": {"command": "git commit -m wip"}}),
    ("PreToolUse", "Edit", {"tool_name": "Edit", "tool_input": {"file_path": "C:\\x\\.env"}}),
    ("PreToolUse", "Task", {"tool_name": "Task", "tool_input": {"prompt": "deploy", "description": "d"}}),
    ("PreToolUse", "TaskCreate", {"tool_name": "TaskCreate", "tool_input": {"subject": "x"}}),
    ("SubagentStart", "", {"agent_id": "a1", "agent_type": "general-purpose"}),
    ("PostToolUse", "Bash", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {}}),
    ("PostToolUseFailure", "Bash", {"tool_name": "Bash", "tool_input": {"command": "ls"}, "error": "x"}),
    ("Stop", "", {"last_assistant_message": "Done.", "stop_hook_active": False}),
    ("TaskCreated", "", {"task_id": "1", "task_subject": "Fix the parser"}),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> WineReleases:
    if sys.platform == "win32":
        pytest.skip("this is Windows itself")
    if not (os.environ.get(ARCHIVES) or os.environ.get(ASKED)):
        pytest.skip(f"two builds of several minutes: {ASKED}=1, or {ARCHIVES}=OLD.zip:NEW.zip")
    if (found := wine_python.found())[0] is None:
        pytest.skip(found[1])
    return wine_machine.releases(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="module")
def machine(built: WineReleases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """The older version is installed, nothing is served yet."""
    made = Machine(tmp_path_factory.mktemp("wine") / "prefix")
    folder = made.place(built.archives[built.old], built.old)
    program = made.shown(folder / "bin" / "ways.exe")
    made.run(program, "finish-install", "--check")
    made.run(program, "finish-install", "--method", "install.ps1")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def project(machine: Machine) -> Path:
    folder = machine.home / "A B&(c)' é"
    way = folder / ".claude/ways/deploy/blue/blue.md"
    way.parent.mkdir(parents=True)
    way.write_text("---\ndescription: how to deploy\npattern: zebra\n---\nDeploy in two steps é.\n", "utf-8")
    (folder / ".git").mkdir()
    return folder


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline, f"not within three minutes: {what}"
        time.sleep(0.2)


def test_it_tells_what_it_is(machine: Machine, built: WineReleases) -> None:
    machine.ways("--noop")
    told = json.loads(machine.ways("--version", "--json"))
    assert (told["version"], told["build"]) == (built.old, "frozen")
    assert machine.ways("--version").startswith(f"ways {built.old}, frozen build")
    assert machine.ways("no-such-command", code=2) == ""


def test_the_installation_is_on_the_path_and_among_the_apps(machine: Machine, built: WineReleases) -> None:
    assert machine.active == built.old
    entry = machine.shown(machine.app / "bin")
    assert entry in machine.registered(wine_machine.REGISTRY_PATH, "Path")
    listed = machine.registered(wine_machine.REGISTRY_ENTRY)
    assert built.old in listed and "uninstall --yes" in listed
    # By its name, as a shell finds it there: this volume takes no junctions.
    told = machine.run("cmd.exe", "/c", entry + "\\ways.cmd", "--version", "--json")
    assert json.loads(told)["version"] == built.old


def test_init_serves_a_config_directory_by_copies_and_says_so(machine: Machine) -> None:
    settings = machine.claude / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{\n    "model": "opus"\n}\n', "utf-8")
    said = machine.ways("init", "--yes", "--target", machine.shown(machine.claude))
    assert "takes no junctions" in said
    for path in ("hooks/ways/core.md", "hooks/ways/macro.py"):
        assert (machine.claude / path).is_file()
    document = json.loads(settings.read_text("utf-8"))
    assert document["model"] == "opus" and next(iter(document)) == "model"
    before = settings.read_bytes()
    machine.ways("reconcile")
    assert settings.read_bytes() == before
    [row] = json.loads(machine.ways("target", "list", "--json"))
    assert (row["path"], row["state"]) == (machine.shown(machine.claude), "active")


def test_the_corpus_is_built_and_doctor_finds_nothing_to_fix(machine: Machine) -> None:
    machine.ways("corpus")
    told = json.loads(machine.ways("doctor", "--offline", "--json"))
    assert told["ok"], [one for one in told["findings"] if one["state"] == "fault"]
    assert "not been built" not in machine.ways("status")


def test_every_hook_of_a_session_by_its_own_command_line(machine: Machine, project: Path) -> None:
    start = machine.play("SessionStart", project, "startup", source="startup", model="claude-haiku-4-5")
    assert {"hook corpus-refresh", "hook update-notice", "/d /v:off", "init --project-only"} <= set(start)
    assert start["/d /v:off"] == start["hook corpus-refresh"] == ""
    # A macro in Python ran, on the interpreter inside the program.
    assert "Available ways" in start["hook state"]
    answers = [machine.play(event, project, wanted, **fields) for event, wanted, fields in EVENTS]
    first = json.loads(answers[0]["hook prompt"])["hookSpecificOutput"]
    assert first["additionalContext"].startswith("Deploy in two steps é.")
    assert "commit" in machine.play("UserPromptSubmit", project, prompt=PROMPT)["hook prompt"].lower()
    for answer in answers:
        for said in answer.values():
            assert not said or isinstance(json.loads(said), dict)
    log = machine.state / "debug.log"
    noted = log.read_text("utf-8") if log.is_file() else ""
    assert "Error" not in noted and "Traceback" not in noted, noted


def test_a_program_that_does_not_start_is_told_by_the_system(machine: Machine, project: Path) -> None:
    """The one hook that is not our program: Windows' own command processor."""
    internal = machine.app / "versions" / machine.active / "bin" / "_internal"
    aside = internal.with_name("aside")
    internal.rename(aside)
    try:
        [hook] = [one for one in machine.hooks("SessionStart") if one["command"].endswith("cmd.exe")]
        said = machine.run(hook["command"], *hook["args"], stdin=b"{}")
    finally:
        aside.rename(internal)
    assert "running the ways installer again repairs this" in said
    assert machine.run(hook["command"], *hook["args"], stdin=b"{}") == ""


def test_the_resident_embedder_answers_through_its_pipe(machine: Machine, project: Path) -> None:
    """A prompt starts it; `status` asks it through the named pipe."""

    def runs() -> bool:
        machine.play("UserPromptSubmit", project, prompt=PROMPT)
        [line] = [one for one in machine.ways("status").splitlines() if one.startswith("resident")]
        return "not running" not in line

    wait_for(runs, "a resident embedder")


def test_the_judges_agent_answers_through_its_pipe_and_ends(machine: Machine) -> None:
    def status() -> object:
        return json.loads(machine.ways("agent", "status", "--json"))["agent"]

    assert status() is None
    program = machine.shown(machine.app / "versions" / machine.active / "bin" / "ways.exe")
    serving = subprocess.Popen(
        ["wine", program, "agent", "serve"],
        env=machine.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    wait_for(lambda: status() is not None, "an agent that answers")
    machine.ways("agent", "unload")
    assert serving.wait(120) == 0
    assert status() is None


def test_every_macro_and_postcheck_runs_on_the_interpreter_inside(machine: Machine, project: Path) -> None:
    scripts = sorted((machine.claude / "hooks/ways").rglob("*.py"))
    ran = []
    for script in scripts:
        if script.name not in {"macro.py", "postcheck.py"}:
            continue
        started = time.monotonic()
        machine.ways(
            "run-script",
            machine.shown(script),
            WAYS_PROJECT_DIR=machine.shown(project),
            WAYS_WAY_DIR=machine.shown(script.parent),
        )
        ran.append(f"{script.parent.name}/{script.name} {time.monotonic() - started:.2f} s")
    print("\n".join(ran))
    assert len(ran) > 5


def test_update_rollback_and_a_version_in_use(machine: Machine, built: WineReleases, project: Path) -> None:
    if built.new == built.old:
        pytest.skip("there is one build only")
    base = wine_python.shown(built.repository)
    assert built.new in machine.ways("update", "--check", "--from", base, code=1)
    old = machine.app / "versions" / built.old
    # Somebody runs the old version meanwhile: it waits for its input.
    running = subprocess.Popen(
        ["wine", machine.shown(old / "bin" / "ways.exe"), "hook", "prompt"],
        env=machine.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    machine.ways("update", "--from", base)
    assert machine.active == built.new
    assert json.loads(machine.ways("--version", "--json"))["version"] == built.new
    assert (old / "bin" / "ways.exe").is_file()
    assert running.communicate(b"{}", timeout=120)[0] == b"" and running.returncode == 0
    commands = {hook["command"] for hook in machine.hooks("UserPromptSubmit")}
    assert commands == {machine.shown(machine.app / "versions" / built.new / "bin" / "ways.exe")}
    assert (
        "Deploy in two steps"
        in machine.play("SessionStart", project, "clear", source="clear").get("hook session-start", "")
        + machine.play("UserPromptSubmit", project, prompt="zebra again")["hook prompt"]
    )
    listed = machine.registered(wine_machine.REGISTRY_ENTRY, "DisplayVersion")
    assert built.new in listed
    machine.ways("rollback")
    assert machine.active == built.old
    assert json.loads(machine.ways("--version", "--json"))["version"] == built.old
    commands = {hook["command"] for hook in machine.hooks("UserPromptSubmit")}
    assert commands == {machine.shown(old / "bin" / "ways.exe")}


def test_uninstall_takes_back_what_was_edited(machine: Machine) -> None:
    machine.ways("uninstall")
    assert (machine.claude / "hooks/ways/core.md").is_file(), "without --yes it only shows the plan"
    said = machine.ways("uninstall", "--yes")
    assert "goes when this program has ended" in said
    document = json.loads((machine.claude / "settings.json").read_text("utf-8"))
    assert document == {"model": "opus"}
    assert not (machine.claude / "hooks").exists()
    assert machine.shown(machine.app / "bin") not in machine.registered(wine_machine.REGISTRY_PATH, "Path")
    assert machine.registered(wine_machine.REGISTRY_ENTRY) == ""
