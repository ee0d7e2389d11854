"""Payloads of every lane, quiet and showing, good and broken, played one after another; and all that they
leave behind. Two ways of running the hooks are the same when they leave the same."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ways.catalogue.build import SETTLE_NS

SESSION = "11111111-2222-4333-8444-555555555555"
# (lane, payload) -> stdout
Run = Callable[[str, bytes], bytes]

WAYS = {
    "deploy": "pattern: deploy\ncommands: ^make deploy\nfiles: deploy/.*\\.yaml$",
    "deploy/strict": "pattern: \\brollback\\b",
    "helpers": "pattern: .\nscope: subagent",
    "team": "pattern: review\nscope: teammate",
    "silent/never": "pattern: deploy",
    "start": "trigger: session-start",
    "start/elsewhere": "trigger: session-start\nwhen:\n  env: SOME_VARIABLE_THAT_NOBODY_SETS",
    "full": "trigger: context-threshold\nthreshold: 50",
    "adopted": "trigger: file-exists\npath: docs/adr/[0-9]*.md",
    "heard": "trigger: {type: attend, signals: [build-broken]}",
    "after": "pattern: unlikelyword\npostcheck_on: ^Bash .*\\bmake\\b",
    "always": "pattern: otherword",
}
CHECKS = {"deploy": "commands: ^make deploy\nfiles: deploy/"}
POSTCHECK = "#!/bin/sh\ngrep -q exit_me && exit 0\nexit 1\n"


def write_ways(folder: Path) -> None:
    """The ways that the payloads meet."""
    for way_id, fields in WAYS.items():
        place = folder / way_id
        place.mkdir(parents=True)
        (place / f"{place.name}.md").write_text(f"---\n{fields}\n---\nBODY OF {way_id}\n")
    for way_id, fields in CHECKS.items():
        place = folder / way_id
        (place / f"{place.name}.check.md").write_text(f"---\n{fields}\n---\n## anchor\nA\n## check\nLOOK\n")
    for way_id in ("after", "always"):
        script = folder / way_id / "postcheck.sh"
        script.write_text(POSTCHECK)
        script.chmod(0o755)
    # What changed a moment ago may change again within one tick: its cache is not trusted yet.
    time.sleep(SETTLE_NS / 1e9 + 0.2)


def transcript(path: Path, tokens: int) -> None:
    """A transcript whose newest answer used so many tokens."""
    stamp = "2026-11-30T20:45:00.000Z"
    usage = {"input_tokens": tokens, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message = {
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": "Well."}],
    }
    rows = [
        {"type": "user", "timestamp": stamp, "message": {"role": "user", "content": "hello"}},
        {"type": "assistant", "timestamp": stamp, "version": "2.1.0", "message": {**message, "usage": usage}},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def payloads(project: Path, log: Path) -> list[tuple[str, bytes]]:
    """The hooks of two sessions in order: (lane, what comes on standard input)."""
    base = {"session_id": SESSION, "transcript_path": str(log), "cwd": str(project)}

    def one(lane: str, event: str, **fields: object) -> tuple[str, bytes]:
        return lane, json.dumps({**base, "hook_event_name": event, **fields}).encode()

    def prompt(text: str, **fields: object) -> list[tuple[str, bytes]]:
        return [one(lane, "UserPromptSubmit", prompt=text, **fields) for lane in ("state", "prompt")]

    def bash(command: str, **fields: object) -> list[tuple[str, bytes]]:
        given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1", **fields}
        return [
            one("command", "PreToolUse", **given),
            one("session-link", "PreToolUse", **given),
            one("post-tool", "PostToolUse", **given, tool_response={}),
            one("queued", "PostToolUse", **given, tool_response={}),
        ]

    def edit(path: str, **fields: object) -> tuple[str, bytes]:
        return one("file", "PreToolUse", tool_name="Edit", tool_input={"file_path": path}, **fields)

    helper = {"agent_id": "a1", "agent_type": "general-purpose"}
    task = {"tool_name": "Task", "tool_use_id": "t9"}
    return [
        one("session-start", "SessionStart", source="startup"),
        one("state", "SessionStart", source="startup"),
        *prompt("Good morning, what a quiet day it is."),
        *prompt("Good morning, what a quiet day it is."),
        *prompt("please deploy it"),
        *prompt("please DEPLOY it again, and rollback"),
        *prompt("<system-reminder>deploy</system-reminder>"),
        *prompt("   "),
        *prompt("a prompt of many words. " * 900 + "rollback"),
        *bash("ls -la"),
        *bash("make deploy"),
        *bash("make deploy"),
        *bash("make all", tool_input={"command": "make all", "description": "exit_me"}),
        *bash("git commit -m x"),
        edit("/p/nothing.txt"),
        edit(str(project / "deploy/app.yaml")),
        edit(str(project / "deploy/app.yaml")),
        edit(""),
        one("file", "PreToolUse", tool_name="NotebookEdit", tool_input={"notebook_path": "deploy/n.yaml"}),
        one("task", "PreToolUse", **task, tool_input={"prompt": "look around"}),
        one("subagent-start", "SubagentStart", **helper),
        *prompt("deploy", **helper),
        *bash("make deploy", **helper),
        one("task", "PreToolUse", **task, tool_input={"prompt": "review", "team_name": "blue"}),
        one("subagent-start", "SubagentStart", agent_id="a2", agent_type="general-purpose"),
        *prompt("review", agent_id="a2", agent_type="general-purpose"),
        one("subagent-start", "SubagentStart", agent_id="a3", agent_type="general-purpose"),
        one("tasks-active", "PreToolUse", tool_name="TaskCreate", tool_input={}),
        one("stop", "Stop", last_assistant_message="Done with the deploy."),
        one("attend-drain", "Stop", stop_hook_active=False),
        one("stop", "Stop"),
        one("issues-pull", "UserPromptSubmit", prompt="deploy"),
        one("issues-task-created", "TaskCreated", task_subject="Fix it"),
        one("session-start", "SessionStart", source="compact"),
        one("state", "SessionStart", source="compact"),
        *prompt("deploy after the compaction"),
        ("prompt", b"{"),
        ("prompt", b"[]"),
        ("prompt", b'{"hook_event_name": 3}'),
        ("file", b'{"hook_event_name": "PreToolUse", "tool_input": "no object"}'),
        one("prompt", "UserPromptSubmit", prompt=["deploy"]),
        one("prompt", "UserPromptSubmit", prompt="deploy \udc80 \x00"),
        one("prompt", "UserPromptSubmit", prompt="deploy", session_id="../evil"),
        one("prompt", "UserPromptSubmit", prompt="deploy", agent_id="../evil"),
        one("no-such-lane", "UserPromptSubmit", prompt="deploy"),
    ]


@dataclass(frozen=True)
class Left:
    """What hooks have left: their answers in order, the files of the sessions, the events, the debug log."""

    answers: tuple[str, ...]
    files: dict[str, str]
    events: tuple[str, ...]
    debug: tuple[str, ...]


def play(run: Run, home: Path, project: Path) -> Left:
    """Play all payloads in this home, whose state is removed first."""
    state, sessions = home / ".local/state/agent-ways", home / "run/claude-sessions"
    for folder in (state, sessions):
        shutil.rmtree(folder, ignore_errors=True)
    log = home / "transcript.jsonl"
    transcript(log, 120_000)
    answers = [run(lane, data).decode() for lane, data in payloads(project, log)]
    files = {
        path.relative_to(sessions).as_posix(): without_times(path.read_text("utf-8"))
        for path in sorted(sessions.rglob("*"))
        if path.is_file() and not path.is_relative_to(sessions / ".embed")
    }
    return Left(tuple(answers), files, lines(state / "events.jsonl"), lines(state / "debug.log"))


def lines(path: Path) -> tuple[str, ...]:
    """The lines of a log without what differs from run to run."""
    return tuple(map(without_times, path.read_text("utf-8").splitlines())) if path.exists() else ()


def without_times(text: str) -> str:
    """A text without times, process ids and the numbers made from them."""
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z( \d+)?", "<time>", text)
    text = re.sub(r'"seconds":[\d.]+', '"seconds":0', text)
    return re.sub(r"\d{20}-\d{10}-\d{6}|:\d+\)", "<number>", text)
