"""A home of its own for a test: roots, a small source to install from, and what can be said of both."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from installer.stage import Source, plan_version, stage
from projection.reconcile import Options, Outcome, TargetPlan, plan_targets, reconcile, withdraw_all
from projection.system import DryRunSystem, RealSystem, System
from projection.target_store import load_targets
from projection.wants import App
from ways.core import roots as core_roots

ADAPTER = "#!/bin/sh\necho ran\nexit 0\n"
CONFIG = ".config/agent-ways/config.yaml"


def hooks_block(*names: str) -> dict[str, Any]:
    """A template that registers these adapters."""
    hooks = [{"type": "command", "command": "{hooks}/" + name, "timeout": 10} for name in names]
    return {"hooks": {"UserPromptSubmit": [{"hooks": hooks}]}}


class World:
    """Everything below `base`; made anew at the same paths as often as a test wants."""

    def __init__(self, base: Path, home: str = "home") -> None:
        self.base = base
        self.home = base / home
        self.payload = base / "source" / "payload"
        shutil.rmtree(base, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.roots = core_roots.resolve({"HOME": str(self.home), "XDG_RUNTIME_DIR": str(base / "run")})
        self.adapters("ways/check-prompt.sh", "ways/check-state.sh", "check-config-updates.sh")
        self.ship("hooks/ways/core.md", "core")
        self.ship("hooks/ways/code/testing/testing.md", "test first")
        self.ship("skills/ways/SKILL.md", "a skill")
        self.ship("skills/ways/more/notes.md", "notes")
        self.ship("agents/reviewer.md", "an agent")
        self.ship("commands/ways.md", "a command")

    def ship(self, path: str, text: str | None, mode: int = 0o644) -> None:
        """Put a file into the payload, or take it out."""
        file = self.payload / path
        if text is None:
            file.unlink()
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def adapters(self, *names: str) -> None:
        """Ship these adapters, and a hooks block that names just them."""
        for name in names:
            self.ship(f"hooks/{name}", ADAPTER, 0o755)
        self.ship("settings.json", json.dumps(hooks_block(*names)))

    def target(self, name: str = ".claude") -> Path:
        return self.home / name

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        """A file of the user's, below the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return file

    def list_targets(self, *rows: str | dict[str, Any]) -> None:
        self.write(CONFIG, "# mine\ntargets: " + json.dumps(list(rows)) + "\n")

    def prepare(self, system: System) -> App:
        version = plan_version(
            Source(str(self.base / "source"), sys.executable, (), str(self.payload)), self.roots
        )
        stage(system, self.roots, version)
        return App(self.roots.app, version.folder, version.manifest, version.name)

    def reconcile(self, system: System | None = None, **options: Any) -> list[Outcome]:
        using = system or RealSystem()
        return reconcile(using, self.roots, lambda: self.prepare(using), Options(**options))

    def plans(self, **options: Any) -> list[TargetPlan]:
        system = DryRunSystem()
        app = self.prepare(system)
        return plan_targets(system, self.roots, app, Options(**options), load_targets(system, self.roots))

    def withdraw(self, system: System | None = None) -> list[Outcome]:
        using = system or RealSystem()
        return withdraw_all(using, self.roots, self.prepare(using), Options())

    def hook_commands(self, target: str = ".claude") -> list[str]:
        """Every command that the target's settings.json registers."""
        file = self.target(target) / "settings.json"
        if not file.exists():
            return []
        events = json.loads(file.read_text()).get("hooks", {})
        return [hook["command"] for groups in events.values() for group in groups for hook in group["hooks"]]

    def unresolved(self, target: str = ".claude") -> list[str]:
        """Registered commands of ours that lead to no program."""
        words = (shlex.split(command)[0] for command in self.hook_commands(target))
        return [word for word in words if "/hooks/" in word and not os.access(word, os.X_OK)]


def tree(folder: Path | str, without: str = "") -> dict[str, tuple[Any, ...]]:
    """Everything below a folder: kind, mode and content or link text. `without` is a pattern of relative
    paths to leave out."""
    found: dict[str, tuple[Any, ...]] = {}
    for at, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(at, name)
            inside = os.path.relpath(path, folder)
            if without and re.search(without, inside):
                continue
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                found[inside] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[inside] = ("folder", oct(mode))
            else:
                found[inside] = ("file", oct(mode), Path(path).read_bytes())
    return found


def times(folder: Path | str) -> dict[str, int]:
    """The mtime of everything below a folder, links themselves included."""
    return {
        os.path.join(at, name): os.lstat(os.path.join(at, name)).st_mtime_ns
        for at, folders, files in os.walk(folder)
        for name in folders + files
    }
