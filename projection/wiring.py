"""The hooks block as one target and one platform need it (spec: projection, "Hook wiring").

The shipped `settings.json` names each adapter as `{hooks}/ways/check-prompt.sh`. On POSIX that becomes
the quoted absolute path inside the target, which both `sh -c` and `bash -c` take as one word whatever
the home is called (case s16). On Windows it becomes the app's own executable in exec form, without a
shell, so that no quoting is left to get wrong; the target, which an adapter knows from its own path, is an
argument there, so that two targets work at once.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from projection import program_check
from projection.targets import Target
from projection.wants import App
from ways.core.errors import REFUSED, UserError

TEMPLATE = "settings.json"
PLACEHOLDER = "{hooks}/"
WINDOWS_PROGRAM = "bin/ways.exe"

# What each adapter runs. None: not our program, because it tells that this one is missing (program_check.py).
WINDOWS_ARGUMENTS: Mapping[str, tuple[str, ...] | None] = {
    "ways/clear-markers.sh": ("hook", "session-start"),
    "ways/check-state.sh": ("hook", "state"),
    "ways/check-prompt.sh": ("hook", "prompt"),
    "ways/check-bash-pre.sh": ("hook", "command"),
    "ways/check-file-pre.sh": ("hook", "file"),
    "ways/check-task-pre.sh": ("hook", "task"),
    "ways/mark-tasks-active.sh": ("hook", "tasks-active"),
    "ways/inject-subagent.sh": ("hook", "subagent-start"),
    "ways/check-post.sh": ("hook", "post-tool"),
    "ways/check-queued.sh": ("hook", "queued"),
    "ways/check-response.sh": ("hook", "stop"),
    "ways/strip-session-link-pre.sh": ("hook", "session-link"),
    "ways/attend-drain-stop.sh": ("hook", "attend-drain"),
    "ways/issues-pull.sh": ("hook", "issues-pull"),
    "ways/issues-task-created.sh": ("hook", "issues-task-created"),
    "ways/init-project.sh": ("init", "--project-only", "--quiet"),
    "ways/corpus-refresh.sh": ("hook", "corpus-refresh"),
    "ways/check-setup.sh": None,
    "check-config-updates.sh": ("hook", "update-notice"),
}

_SPECIAL = str.maketrans({character: "\\" + character for character in '\\"$`'})


def render(template: Mapping[str, Any], target: Target, app: App, platform: str) -> dict[str, Any]:
    """The block to merge: `template` with every command made for this target.

    Raises UserError when a command names no adapter that this release knows.
    """
    events = {
        event: [
            group for group in (_group(group, target, app, platform) for group in groups) if group["hooks"]
        ]
        for event, groups in template.get("hooks", {}).items()
    }
    block = {key: value for key, value in template.items() if key != "hooks"}
    return {**block, "hooks": {event: groups for event, groups in events.items() if groups}}


def load_template(app: App, data: bytes) -> dict[str, Any]:
    """Parse the shipped settings.json. Raises UserError when the app is damaged."""
    try:
        template = json.loads(data)
        if not isinstance(template["hooks"], dict):
            raise TypeError("hooks is not an object")
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{app.file(TEMPLATE)} is damaged: {error}", "ways update --force", REFUSED
        ) from error
    return dict(template)


def quoted(path: str) -> str:
    """A path as one double-quoted word of a POSIX shell."""
    return f'"{path.translate(_SPECIAL)}"'


def _group(group: Mapping[str, Any], target: Target, app: App, platform: str) -> dict[str, Any]:
    hooks = (_hook(hook, target, app, platform) for hook in group["hooks"])
    return {**group, "hooks": [hook for hook in hooks if hook is not None]}


def _for_target(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    """What makes a hook know its target; init and corpus work on the project and the cache, not on one."""
    return ("--target", target.path) if arguments[0] == "hook" else ()


def _hook(hook: Mapping[str, Any], target: Target, app: App, platform: str) -> dict[str, Any] | None:
    command = hook["command"]
    adapter = command.removeprefix(PLACEHOLDER)
    if adapter == command:
        raise UserError(f"{app.file(TEMPLATE)}: {command} does not begin with {PLACEHOLDER}", "", REFUSED)
    if platform != "windows":
        return {**hook, "command": quoted(os.path.join(target.path, "hooks", *adapter.split("/")))}
    if adapter not in WINDOWS_ARGUMENTS:
        raise UserError(f"{app.file(TEMPLATE)}: no program is known for {adapter}", "", REFUSED)
    program = app.stable(WINDOWS_PROGRAM)
    arguments = WINDOWS_ARGUMENTS[adapter]
    if arguments is not None:
        return _exec_form(hook, program, (*arguments, *_for_target(arguments, target)))
    asking = program_check.arguments(program)
    return None if asking is None else _exec_form(hook, program_check.shell(os.environ), asking)


def _exec_form(hook: Mapping[str, Any], program: str, arguments: tuple[str, ...]) -> dict[str, Any]:
    rendered: dict[str, Any] = {}
    for name, value in hook.items():
        rendered[name] = value
        if name == "command":
            rendered["command"] = program
            rendered["args"] = list(arguments)
    return rendered
