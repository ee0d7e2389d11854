"""A config directory with history in Claude Code's row format."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DAY = 86_400


@dataclass
class History:
    """`config` is a config directory; rows are written as Claude Code writes them."""

    top: Path

    @property
    def config(self) -> Path:
        return self.top / "claude"

    @property
    def root(self) -> Path:
        return self.config / "projects"

    @property
    def state(self) -> Path:
        return self.top / "state"

    def session(
        self,
        cwd: str,
        session_id: str,
        *,
        days: float = 200,
        prompts: tuple[str, ...] = ("hello",),
        beside: bool = False,
        slug: str = "",
    ) -> Path:
        from ways.projects.slug import slug_of

        folder = self.root / (slug or slug_of(cwd))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{session_id}.jsonl"
        rows: list[dict[str, Any]] = [{"type": "summary", "summary": "A title"}]
        for number, prompt in enumerate(prompts):
            common = {
                "cwd": cwd,
                "sessionId": session_id,
                "timestamp": f"2026-05-0{number + 1}T10:00:00.000Z",
                "isSidechain": False,
            }
            rows.append({**common, "type": "user", "message": {"role": "user", "content": prompt}})
            usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100}
            message = {"id": f"m{number}", "model": "claude-x", "usage": usage}
            for text in ("Thinking about it.", f"Answer to {prompt}"):
                block = {**message, "content": [{"type": "text", "text": text}]}
                rows.append({**common, "type": "assistant", "message": block})
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
        path.chmod(0o600)
        if beside:
            inner = folder / session_id / "subagents" / "agent-1.jsonl"
            inner.parent.mkdir(parents=True)
            inner.write_text("{}\n")
            self.age(inner, days)
        self.age(path, days)
        return path

    def age(self, path: Path, days: float) -> None:
        at = time.time() - days * DAY
        os.utime(path, (at, at))

    def tree(self) -> dict[str, bytes]:
        """Every file of the history with its content."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> History:
    for name in ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS"):
        monkeypatch.setenv(f"WAYS_{name}_ROOT", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    made = History(tmp_path)
    made.root.mkdir(parents=True)
    return made
