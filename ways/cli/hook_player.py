"""Running the hooks that a target's settings.json really holds, the way Claude Code runs them.

`ways doctor` proves the wiring with it and `ways demo` plays a session. Only what those two need is
imitated: matchers, shell and exec form, the timeout, waiting for the end of stdout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ways.core.errors import REFUSED, UserError

_MATCH_FIELD = {
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "SessionStart": "source",
    "SubagentStart": "agent_type",
}
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True)
class Handler:
    """One hook command of one event. `args` None means shell form. `timeout` in seconds."""

    event: str
    matcher: str
    command: str
    args: tuple[str, ...] | None
    timeout: float

    @property
    def label(self) -> str:
        """The last part of the command, short enough for a table."""
        words = [self.command, *(self.args or ())]
        return " ".join([os.path.basename(words[0].strip('"')), *words[1:]])


@dataclass(frozen=True)
class Outcome:
    """What one run did: exit code (None when it was killed), seconds, and its streams."""

    handler: Handler
    code: int | None
    seconds: float
    stdout: bytes
    stderr: bytes

    @property
    def problem(self) -> str:
        """What Claude Code would hold against this run, "" when nothing."""
        if self.code is None:
            return f"was killed after {self.handler.timeout:g} s"
        if self.code != 0:
            detail = self.stderr.decode("utf-8", "replace").strip().splitlines()
            return f"exited {self.code}" + (f" ({detail[-1]})" if detail else "")
        if not self.stdout.strip():
            return ""
        try:
            answer = json.loads(self.stdout)
        except ValueError:
            return "printed something that is not one JSON object"
        if not isinstance(answer, dict):
            return "printed something that is not one JSON object"
        specific = answer.get("hookSpecificOutput")
        if isinstance(specific, dict) and specific.get("hookEventName") != self.handler.event:
            return f"answered for {specific.get('hookEventName')!r}"
        return ""

    @property
    def context(self) -> str:
        """The context that the run adds, "" when none."""
        if self.problem or not self.stdout.strip():
            return ""
        specific = json.loads(self.stdout).get("hookSpecificOutput")
        value = specific.get("additionalContext", "") if isinstance(specific, dict) else ""
        return value if isinstance(value, str) else ""


@dataclass
class Player:
    """Plays events into the hooks of one target. `environment` is complete: nothing is inherited."""

    target: str
    project: str
    environment: Mapping[str, str]
    handlers: list[Handler] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.handlers:
            self.handlers = read_handlers(os.path.join(self.target, "settings.json"))

    def matching(self, payload: Mapping[str, Any]) -> list[Handler]:
        """The handlers that Claude Code would run for this payload, identical ones once."""
        event = payload["hook_event_name"]
        value = str(payload.get(_MATCH_FIELD.get(event, ""), ""))
        found: dict[tuple[str, tuple[str, ...] | None], Handler] = {}
        for handler in self.handlers:
            if handler.event == event and _matches(handler.matcher, value):
                found.setdefault((handler.command, handler.args), handler)
        return list(found.values())

    def play(self, payload: Mapping[str, Any]) -> list[Outcome]:
        """Run every matching hook, one after the other, and wait for each one's stdout to end."""
        return [self.run(handler, payload) for handler in self.matching(payload)]

    def run(self, handler: Handler, payload: Mapping[str, Any]) -> Outcome:
        """Run one hook on a payload."""
        data = json.dumps(payload).encode("utf-8")
        started = time.monotonic()
        process = subprocess.Popen(
            argv(handler),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project if os.path.isdir(self.project) else None,
            env={**self.environment, "CLAUDE_PROJECT_DIR": self.project},
            start_new_session=os.name != "nt",
        )
        code: int | None
        try:
            stdout, stderr = process.communicate(data, timeout=handler.timeout)
            code = process.returncode
        except subprocess.TimeoutExpired:
            _kill(process)
            stdout, stderr = process.communicate()
            code = None
        return Outcome(handler, code, time.monotonic() - started, stdout, stderr)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if os.name == "nt":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        process.kill()


def argv(handler: Handler) -> list[str]:
    """The argument list for a handler: itself in exec form, else the shell that Claude Code uses."""
    if handler.args is not None:
        return [handler.command, *handler.args]
    if os.name == "nt":
        bash = shutil.which("bash")
        shell = [bash, "-c"] if bash else ["powershell", "-NoProfile", "-Command"]
        return [*shell, handler.command]
    return ["sh", "-c", handler.command]


def _matches(matcher: str, value: str) -> bool:
    if matcher in ("", "*"):
        return True
    if re.fullmatch(r"[A-Za-z0-9_\- ,|]*", matcher):
        return value in [part.strip() for part in re.split(r"[|,]", matcher)]
    try:
        return re.search(matcher, value) is not None
    except re.error:
        return False


def read_handlers(path: str) -> list[Handler]:
    """The command hooks in a settings.json. Raises UserError when it cannot be used."""
    try:
        with open(path, "rb") as file:
            document = json.loads(file.read().decode("utf-8-sig"))
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", "ways reconcile", REFUSED) from None
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read: {error}", "repair the file, then ways reconcile", REFUSED
        ) from error
    hooks = document.get("hooks", {}) if isinstance(document, dict) else {}
    found: list[Handler] = []
    for event, groups in hooks.items():
        for group in groups if isinstance(groups, list) else []:
            for hook in group.get("hooks", []) if isinstance(group, dict) else []:
                if not isinstance(hook, dict) or hook.get("type", "command") != "command":
                    continue
                args = hook.get("args")
                found.append(
                    Handler(
                        event,
                        str(group.get("matcher", "")),
                        str(hook.get("command", "")),
                        tuple(map(str, args)) if isinstance(args, list) else None,
                        float(hook.get("timeout", DEFAULT_TIMEOUT)),
                    )
                )
    return found
