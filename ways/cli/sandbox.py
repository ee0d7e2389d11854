"""A place where the real hooks of a target run without touching the user's state."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ways.core import roots
from ways.core.environment import child_environment


@dataclass(frozen=True)
class Sandbox:
    """A sample project and the environment that sends session state and events to a temporary folder."""

    folder: str
    project: str
    events: str
    environment: dict[str, str]


@contextmanager
def sandbox(target: str) -> Iterator[Sandbox]:
    """A temporary project, state and sessions root; app, config and cache stay the real ones."""
    with tempfile.TemporaryDirectory(prefix="ways-sample-", ignore_cleanup_errors=True) as folder:
        project = os.path.join(folder, "project")
        state = os.path.join(folder, "state")
        os.makedirs(os.path.join(project, ".git"))
        os.makedirs(os.path.join(project, "src"))
        with open(os.path.join(project, "README.md"), "w", encoding="utf-8") as file:
            file.write("# Sample project\n")
        real = roots.resolve()
        environment = child_environment()
        environment.update(
            WAYS_STATE_ROOT=state,
            WAYS_SESSIONS_ROOT=os.path.join(folder, "sessions"),
            WAYS_APP_ROOT=real.app,
            WAYS_CONFIG_ROOT=real.config,
            WAYS_CACHE_ROOT=real.cache,
            WAYS_SAMPLE="1",
            CLAUDE_CONFIG_DIR=target,
        )
        yield Sandbox(folder, project, os.path.join(state, "events.jsonl"), environment)
