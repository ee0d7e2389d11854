"""A scratch home and the `ways` of this checkout run in it as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]


class ScratchHome:
    """Everything that the program may touch lies below `path`."""

    def __init__(self, path: Path, **environ: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        (path / "run").mkdir(mode=0o700, exist_ok=True)
        self.environ = {
            "HOME": str(path),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_RUNTIME_DIR": str(path / "run"),
            **environ,
        }

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ways.entry", *arguments]

    def ways(self, *arguments: str, code: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run `ways` and check its exit code (None: any)."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environ,
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def json(self, *arguments: str, code: int | None = 0) -> Any:
        return json.loads(self.ways(*arguments, "--json", code=code).stdout)

    def write(self, path: str, text: str, mode: int = 0o644) -> Path:
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
        file.chmod(mode)
        return file

    def hook_commands(self, target: str = ".claude") -> list[str]:
        events = json.loads((self.path / target / "settings.json").read_text("utf-8"))["hooks"]
        return [hook["command"] for groups in events.values() for group in groups for hook in group["hooks"]]
