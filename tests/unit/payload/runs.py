"""Running the shipped macros and postchecks as the program runs them, in real repositories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.payload import shipped

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def run_macro(path: Path, project: Path, home: Path, **environment: str) -> str:
    """What a macro prints for a project. It must succeed and say nothing on stderr."""
    variables = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [*shipped.python(), str(path)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=5,
        check=False,
        cwd=home,
        env={
            **variables,
            "HOME": str(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "WAYS_WAY_DIR": str(path.parent),
            "WAYS_PROJECT_DIR": str(project),
            **environment,
        },
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode("utf-8")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(folder), *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
    )


def postcheck(way: str, payload: object) -> int:
    path = shipped.WAYS / way / "postcheck.py"
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [*shipped.python(), str(path)], input=data, capture_output=True, timeout=5, check=False
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    return done.returncode


def bash(command: str, stdout: str = "", **extra: Any) -> dict[str, Any]:
    return {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": {"stdout": stdout, "stderr": "", "interrupted": False},
        **extra,
    }
