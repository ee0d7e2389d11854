"""A fresh home with ways in it, and a session played through the hooks that settings.json holds.

What Claude Code does is imitated: transcripts in its row format, matchers, hooks of one event in
parallel, shell form, waiting for the end of stdout, the timeout.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "ways"
MODEL = "claude-haiku-4-5"  # a window of 200,000 tokens
_MATCH_FIELD = {
    "PreToolUse": "tool_name",
    "PostToolUse": "tool_name",
    "PostToolUseFailure": "tool_name",
    "SessionStart": "source",
    "SubagentStart": "agent_type",
}

WITH_ENGINE: list[Home] = []  # homes whose hooks may leave a resident behind


@dataclass(frozen=True)
class Ran:
    """One hook's run."""

    command: str
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def context(self) -> str:
        if not self.stdout.strip():
            return ""
        answer = json.loads(self.stdout)
        assert set(answer) <= {"hookSpecificOutput"}
        return str(answer["hookSpecificOutput"]["additionalContext"])


@dataclass
class Home:
    """A home folder, its environment, and the `ways` program of this checkout."""

    path: Path
    engine: bool = False
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        (self.path / "run").mkdir(mode=0o700, exist_ok=True)
        if self.engine:
            WITH_ENGINE.append(self)

    @property
    def program(self) -> Path:
        """The program that commands are run with: this checkout's."""
        return PROGRAM

    @property
    def claude(self) -> Path:
        return self.path / ".claude"

    @property
    def events(self) -> Path:
        return self.path / ".local/state/agent-ways/events.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        values = {
            "HOME": str(self.path),
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": str(self.path / "run"),
            "LANG": "C.UTF-8",
            **self.extra,
        }
        if not self.engine:
            values["WAYS_ENGINE_LIB"] = "/nonexistent/ways_native.so"
        return values

    def ways(self, *arguments: str, code: int = 0, cwd: Path | None = None, stdin: str = "") -> str:
        """Run the program and check its exit code. Returns stdout."""
        done = subprocess.run(
            [str(self.program), *arguments],
            env=self.environment,
            cwd=cwd or self.path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def residents(self) -> list[int]:
        """The residents that run for this home, by their environment."""
        wanted = f"HOME={self.path}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if b"way-embed" in words and wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def stop_residents(self) -> None:
        """Ask what the hooks of this home have started to leave, and wait until it has."""
        for process in self.residents():
            os.kill(process, signal.SIGTERM)
        deadline = time.monotonic() + 30
        while self.residents():
            assert time.monotonic() < deadline, "a resident does not leave"
            time.sleep(0.05)

    def log(self, *names: str) -> list[dict[str, str]]:
        """The events in the log, of these names when any are given."""
        if not self.events.exists():
            return []
        rows = [json.loads(line) for line in self.events.read_text("utf-8").splitlines()]
        assert all(isinstance(value, str) for row in rows for value in row.values())
        return [row for row in rows if not names or row["event"] in names]

    def debug(self) -> str:
        """The debug log."""
        path = self.path / ".local/state/agent-ways/debug.log"
        return path.read_text("utf-8") if path.exists() else ""


class Session:
    """One Claude Code session in a project of a home."""

    def __init__(self, home: Home, project: Path, session_id: str = "", config: Path | None = None) -> None:
        self.home = home
        self.project = project
        self.config = config or home.claude
        self.id = session_id or str(uuid.uuid4())
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        self.transcript = self.config / "projects" / slug / f"{self.id}.jsonl"
        self.tokens = 12_000
        self.clock = datetime(2026, 11, 30, 8, 0, tzinfo=UTC)
        self._uses = 0
        self.notices = False  # whether the one notice a session of a missing engine may show (case h22)
        self.document: dict[str, Any] = json.loads((self.config / "settings.json").read_text("utf-8"))

    # What Claude Code writes

    def row(self, kind: str, path: Path | None = None, **fields: Any) -> None:
        """Append one transcript row."""
        self.clock += timedelta(seconds=1)
        stamp = self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        row = {
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": str(self.project),
            "sessionId": self.id,
            "version": "2.1.206",
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "timestamp": stamp,
            **fields,
        }
        path = path or self.transcript
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")

    def user(self, text: str) -> None:
        self.row("user", message={"role": "user", "content": text})

    def say(self, text: str, tokens: int | None = None, path: Path | None = None) -> None:
        """Claude answers; `tokens` of context are in use now."""
        self.tokens = self.tokens if tokens is None else tokens
        usage = {
            "input_tokens": 4,
            "cache_creation_input_tokens": 1_000,
            "cache_read_input_tokens": self.tokens - 1_004,
            "output_tokens": 60,
        }
        message = {
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": text}],
            "usage": usage,
        }
        self.row("assistant", path=path, message=message, isSidechain=path is not None)

    def enqueue(self, content: Any) -> None:
        self.row("queue-operation", operation="enqueue", content=content)

    # Events

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        return {
            "session_id": self.id,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": event,
            **fields,
        }

    def commands(self, payload: Mapping[str, Any]) -> list[tuple[str, float]]:
        """(command, timeout) of the hooks that match, identical ones once."""
        event = payload["hook_event_name"]
        value = str(payload.get(_MATCH_FIELD.get(event, ""), ""))
        found: dict[str, float] = {}
        for group in self.document["hooks"].get(event, []):
            if group.get("matcher", "") in ("", "*") or value in group["matcher"].split("|"):
                for hook in group["hooks"]:
                    assert hook["type"] == "command" and "args" not in hook
                    found.setdefault(hook["command"], hook["timeout"])
        return list(found.items())

    def fire(self, payload: Mapping[str, Any], data: bytes | None = None) -> list[Ran]:
        """Run the matching hooks at once and wait for each one's stdout to end."""
        data = json.dumps(payload, ensure_ascii=False).encode("utf-8") if data is None else data
        commands = self.commands(payload)
        assert commands, f"no hook for {payload['hook_event_name']}"
        if not self.notices and payload["hook_event_name"] in ("UserPromptSubmit", "PostToolUse"):
            self._notice_seen(str(payload["session_id"]))
        with ThreadPoolExecutor(len(commands)) as pool:
            ran = list(pool.map(lambda pair: self.run(pair[0], pair[1], data), commands))
        for one in ran:
            assert one.code == 0, (one.command, one.stderr)
            assert one.stderr == b"", (one.command, one.stderr)
        return ran

    def _notice_seen(self, session_id: str) -> None:
        if re.fullmatch(r"\w[\w-]{0,100}", session_id):
            notices = self.directory.parent / session_id / "notices"
            notices.mkdir(mode=0o700, parents=True, exist_ok=True)
            (notices / "engine").touch()

    def run(self, command: str, timeout: float, data: bytes) -> Ran:
        process = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.project if self.project.is_dir() else "/",
            env={**self.home.environment, "CLAUDE_PROJECT_DIR": str(self.project)},
            start_new_session=True,
        )
        stdout, stderr = process.communicate(data, timeout=timeout + 20)
        return Ran(command, process.returncode, stdout, stderr)

    def context(self, payload: Mapping[str, Any], data: bytes | None = None) -> str:
        """The joined context of all hooks of one event."""
        return "\n\n".join(ran.context for ran in self.fire(payload, data) if ran.context)

    def start(self, source: str = "startup") -> str:
        return self.context(self.payload("SessionStart", source=source, model=MODEL))

    def prompt(self, text: str) -> str:
        """The user types; the hooks run before the row is written, as in Claude Code."""
        shown = self.context(self.payload("UserPromptSubmit", prompt=text))
        self.user(text)
        return shown

    def before(self, tool: str, tool_input: dict[str, Any], **fields: Any) -> str:
        self._uses += 1
        return self.context(
            self.payload("PreToolUse", tool_name=tool, tool_input=tool_input, tool_use_id=self.use, **fields)
        )

    @property
    def use(self) -> str:
        """The id of the newest tool call."""
        return f"toolu_{self.id[:8]}{self._uses:04d}"

    def after(self, tool: str, tool_input: dict[str, Any], response: Any = "", **fields: Any) -> str:
        return self.context(
            self.payload(
                "PostToolUse",
                tool_name=tool,
                tool_input=tool_input,
                tool_response=response,
                tool_use_id=self.use,
                **fields,
            )
        )

    def failed(self, tool: str, tool_input: dict[str, Any], error: str) -> str:
        return self.context(
            self.payload(
                "PostToolUseFailure",
                tool_name=tool,
                tool_input=tool_input,
                error=error,
                is_interrupt=False,
                tool_use_id=self.use,
            )
        )

    def bash(self, command: str, description: str = "", **fields: Any) -> str:
        given = {"command": command, **({"description": description} if description else {})}
        return self.before("Bash", given, **fields)

    def edit(self, path: str, **fields: Any) -> str:
        return self.before("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, **fields)

    def task(self, prompt: str, kind: str = "general-purpose", **more: Any) -> str:
        given = {"prompt": prompt, "description": "sub", "subagent_type": kind, **more}
        return self.before("Task", given)

    def subagent(self, agent_id: str, kind: str = "general-purpose") -> str:
        return self.context(self.payload("SubagentStart", agent_id=agent_id, agent_type=kind))

    def stop(self, message: str = "Done.") -> str:
        return self.context(self.payload("Stop", last_assistant_message=message, stop_hook_active=False))

    # State

    @property
    def directory(self) -> Path:
        return self.home.path / "run" / "claude-sessions" / self.id

    def marker(self, way: str, agent: str = "main") -> int | None:
        path = self.directory / "ways" / way / f".marker.{agent}"
        return int(path.read_text()) if path.exists() else None


def write_way(folder: Path, way_id: str, front: str, body: str) -> Path:
    """A way file below a root of ways."""
    place = folder / way_id
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{place.name}.md"
    path.write_text(f"---\n{front.strip()}\n---\n{body}\n", "utf-8")
    return path


def tree(folder: Path) -> dict[str, str]:
    """Every path below a folder with its kind, mode and content, to compare two moments."""
    import hashlib

    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        if path.is_symlink():
            what = f"link {os.readlink(path)}"
        elif path.is_dir():
            what = "folder"
        else:
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(folder))] = f"{info.st_mode:o} {what}"
    return found
