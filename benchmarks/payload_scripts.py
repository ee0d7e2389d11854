"""The shipped macros and postchecks, run by the program's own runner in a small repository and timed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.goals import PAYLOAD
from ways.disclosure import scripts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WAYS = os.path.join(PAYLOAD, "hooks", "ways")
SECONDS, MAX_CHARS, TIMES = 5.0, 8_000, 3
FILES = {
    "README.md": "# Shop\n",
    "package.json": '{"name": "shop", "scripts": {"test": "vitest run", "lint": "eslint ."}}\n',
    "package-lock.json": '{"lockfileVersion": 3}\n',
    "pyproject.toml": '[project]\nname = "shop"\n\n[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "tests/test_prices.py": "def test_price():\n    assert 1 + 1 == 2\n",
    "compose.yaml": (
        "services:\n  web:\n    image: nginx\n    ports:\n      - '8080:80'\n  db:\n    image: postgres:17\n"
    ),
    ".github/workflows/ci.yml": (
        "name: CI\non: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n"
    ),
    ".env": "TOKEN=not-a-real-one\n",
    "db/migrations/0001_first.sql": "CREATE TABLE price (cents integer);\n",
    "docs/adr/0001-queue.md": "# A queue\n",
    "analysis/prices.ipynb": (
        '{"cells": [{"cell_type": "code", "execution_count": 3, "metadata": {}, "source": ["1 + 1"], '
        '"outputs": [{"output_type": "execute_result", "execution_count": 3, "metadata": {}, '
        '"data": {"text/plain": ["2"]}}]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\n'
    ),
}


@dataclass(frozen=True)
class Run:
    """One script: `way/macro.py`, the least of its times in seconds, its output (of the slowest payload for a
    postcheck: nothing), and why it failed, "" when it did not."""

    name: str
    seconds: float
    output: str
    why: str


def git(folder: str, *arguments: str) -> None:
    """Run git in a folder, without the user's configuration. Raises CalledProcessError."""
    environment = {
        **os.environ,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in _WHO.items()},
    }
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, env=environment)


_WHO = {"NAME": "A", "EMAIL": "a@example.org", "DATE": "2026-01-02T03:04:05+00:00"}


def make_repository(folder: str) -> str:
    """A small project with a tag, a commit behind it, a branch and a few uncommitted files; its path."""
    git(folder, "init", "-q", "-b", "main")
    for name, text in FILES.items():
        path = os.path.join(folder, *name.split("/"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First: the shop")
    git(folder, "tag", "-a", "v1.0.0", "-m", "v1.0.0")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Second: prices")
    git(folder, "switch", "-q", "-c", "topic")
    with open(os.path.join(folder, "new.txt"), "w", encoding="utf-8") as file:
        file.write("new\n" * 500)
    git(folder, "add", "new.txt")
    git(folder, "commit", "-q", "-m", "Third: a list")
    with open(os.path.join(folder, "README.md"), "a", encoding="utf-8") as file:
        file.write("More.\n")
    return folder


def payloads(project: str) -> list[dict[str, Any]]:
    """Hook payloads of ordinary tool calls in a project, as a postcheck gets them."""
    return [
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "cwd": project,
            "tool_input": {"command": "git add -A && git commit -m x && npm test"},
            "tool_response": {"stdout": "[topic 1a2b3c4] x\n 1 file changed\n12 passed\n" * 50, "stderr": ""},
        },
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Edit",
            "cwd": project,
            "tool_input": {"file_path": os.path.join(project, "README.md"), "new_string": "More.\n"},
            "tool_response": {"filePath": os.path.join(project, "README.md")},
        },
    ]


def shipped(ways: str = WAYS) -> Iterator[str]:
    """Paths of all macros and postchecks."""
    for folder, folders, names in os.walk(ways):
        folders.sort()
        yield from (os.path.join(folder, name) for name in ("macro.py", "postcheck.py") if name in names)


def run(path: str, project: str, home: str, payload: dict[str, Any] | None = None) -> Run:
    """Run one script once in a project, with a home of its own. Not 0 from a macro is a failure, as is a
    postcheck that answers anything but yes (0) and no (1)."""
    variables = {
        "HOME": home,
        "WAYS_PROJECT_DIR": project,
        "WAYS_WAY_DIR": os.path.dirname(path),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    begun = time.perf_counter()
    done = scripts.run(
        path,
        project,
        variables,
        SECONDS,
        MAX_CHARS,
        stdin=None if payload is None else json.dumps(payload).encode(),
    )
    seconds = time.perf_counter() - begun
    good = {0} if payload is None else {0, 1}
    why = done.why or done.stderr or ("" if done.code in good else f"exit code {done.code}")
    return Run(os.path.relpath(path, WAYS).replace(os.sep, "/"), seconds, done.output, why)


def measure(ways: str = WAYS) -> list[Run]:
    """Each script in a small repository: the best of a few runs, on the payload that takes longest."""
    found = []
    with tempfile.TemporaryDirectory(prefix="ways-scripts-") as folder:
        project, home = os.path.join(folder, "shop"), os.path.join(folder, "home")
        os.makedirs(home)
        os.makedirs(project)
        make_repository(project)
        for path in shipped(ways):
            inputs = payloads(project) if path.endswith("postcheck.py") else [None]
            found.append(max((_best(path, project, home, each) for each in inputs), key=_seconds))
    return found


def _best(path: str, project: str, home: str, payload: dict[str, Any] | None) -> Run:
    runs: Sequence[Run] = [run(path, project, home, payload) for _ in range(TIMES)]
    return next((one for one in runs if one.why), min(runs, key=_seconds))


def _seconds(one: Run) -> float:
    return one.seconds
