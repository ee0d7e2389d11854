"""The shipped hooks block (spec: hooks, the lanes; projection, hook wiring)."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.payload import shipped

BLOCK: dict[str, Any] = json.loads((shipped.PAYLOAD / "settings.json").read_text(encoding="utf-8"))
TOOLS = "Edit|Write|NotebookEdit|Bash|PowerShell|Task|Agent"
WIRING = {
    ("SessionStart", "startup|compact|clear", "ways/clear-markers.sh", 10),
    ("SessionStart", None, "ways/check-state.sh", 10),
    ("SessionStart", "startup", "ways/check-setup.sh", 10),
    ("SessionStart", "startup", "check-config-updates.sh", 30),
    ("SessionStart", "startup", "ways/corpus-refresh.sh", 30),
    ("SessionStart", "startup|clear", "ways/init-project.sh", 30),
    ("UserPromptSubmit", None, "ways/check-prompt.sh", 15),
    ("UserPromptSubmit", None, "ways/check-state.sh", 10),
    ("UserPromptSubmit", None, "ways/issues-pull.sh", 10),
    ("SessionStart", None, "ways/issues-pull.sh", 10),
    ("PostToolUse", "Bash|PowerShell", "ways/issues-pull.sh", 10),
    ("PreToolUse", "Bash|PowerShell", "ways/strip-session-link-pre.sh", 10),
    ("Stop", None, "ways/attend-drain-stop.sh", 10),
    ("TaskCreated", None, "ways/issues-task-created.sh", 10),
    ("PreToolUse", "Bash|PowerShell", "ways/check-bash-pre.sh", 10),
    ("PreToolUse", "Edit|Write|NotebookEdit", "ways/check-file-pre.sh", 10),
    ("PreToolUse", "Task|Agent", "ways/check-task-pre.sh", 10),
    ("PreToolUse", "TaskCreate", "ways/mark-tasks-active.sh", 10),
    ("SubagentStart", None, "ways/inject-subagent.sh", 10),
    ("PostToolUse", f"{TOOLS}|mcp__ways__ways_read", "ways/check-post.sh", 10),
    ("PostToolUse", None, "ways/check-queued.sh", 15),
    ("PostToolUseFailure", TOOLS, "ways/check-post.sh", 10),
    ("Stop", None, "ways/check-response.sh", 10),
}


def entries() -> Iterator[tuple[str, str | None, dict[str, Any]]]:
    for event, groups in BLOCK["hooks"].items():
        for group in groups:
            for hook in group["hooks"]:
                yield event, group.get("matcher"), hook


def test_every_entry_is_an_adapter_with_its_matcher_and_timeout() -> None:
    found = [(event, matcher, hook["command"], hook["timeout"]) for event, matcher, hook in entries()]
    assert len(found) == len(set(found)) == len(WIRING)
    assert set(found) == {
        (event, matcher, f"{{hooks}}/{name}", seconds) for event, matcher, name, seconds in WIRING
    }


def test_entries_carry_no_key_of_our_own() -> None:
    assert set(BLOCK) == {"hooks"}
    for groups in BLOCK["hooks"].values():
        for group in groups:
            assert set(group) <= {"matcher", "hooks"}
    for _, _, hook in entries():
        assert set(hook) == {"type", "command", "timeout"}
        assert hook["type"] == "command"


def test_wired_and_shipped_adapters_are_the_same() -> None:
    wired = {hook["command"].removeprefix("{hooks}/") for _, _, hook in entries()}
    on_disk = {
        path.relative_to(shipped.HOOKS).as_posix() for path in shipped.files() if path.suffix == ".sh"
    } - {"ways/require-ways.sh"}
    assert wired == on_disk


@pytest.mark.skipif(os.name == "nt", reason="Windows has no execute bit")
def test_every_wired_file_can_be_run() -> None:
    for _, _, hook in entries():
        assert os.access(hook["command"].replace("{hooks}", str(shipped.HOOKS)), os.X_OK)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("clear-markers", "hook session-start"),
        ("check-state", "hook state"),
        ("check-prompt", "hook prompt"),
        ("check-bash-pre", "hook command"),
        ("check-file-pre", "hook file"),
        ("check-task-pre", "hook task"),
        ("mark-tasks-active", "hook tasks-active"),
        ("inject-subagent", "hook subagent-start"),
        ("check-post", "hook post-tool"),
        ("check-queued", "hook queued"),
        ("check-response", "hook stop"),
        ("strip-session-link-pre", "hook session-link"),
        ("attend-drain-stop", "hook attend-drain"),
        ("issues-pull", "hook issues-pull"),
    ],
)
def test_an_adapter_is_one_call(name: str, arguments: str) -> None:
    text = (shipped.WAYS / f"{name}.sh").read_text(encoding="utf-8")
    assert re.findall(r"^run_ways (.*)$", text, re.MULTILINE) == [arguments]
    assert len(text.splitlines()) <= 6
