"""The server's parts that need no client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from build.pyinstaller.contents import EXCLUDED
from ways.cli import mcp as command
from ways.lanes.post_tool import READ_TOOL
from ways.mcp import pulls
from ways.mcp.server import NAME, tools

ROOT = Path(__file__).resolve().parents[3]
PROBE = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in sys.argv[1:] or name.split(".")[0] in sys.argv[1:]:
            raise ImportError(f"{name} is not in the frozen program")
sys.meta_path.insert(0, Blocked())
import ways.mcp.server
from ways.authoring.reflow import wrapped
assert wrapped("a b", 40) == "a b"
"""


def test_it_starts_without_what_the_frozen_program_leaves_out() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *EXCLUDED], capture_output=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_hook_and_the_settings_know_the_read_tool() -> None:
    assert READ_TOOL == pulls.READ_TOOL == f"mcp__{NAME}__ways_read"
    assert "ways_read" in [tool.name for tool in tools()]
    shipped = json.loads((ROOT / "projection/payload/settings.json").read_text("utf-8"))
    matchers = [group.get("matcher", "") for group in shipped["hooks"]["PostToolUse"]]
    assert any(READ_TOOL in matcher.split("|") for matcher in matchers)


@pytest.mark.parametrize(
    ("settings", "wired"),
    [
        (None, False),
        ("{", False),
        ("[]", False),
        ('{"hooks": {"PostToolUse": 5}}', False),
        ('{"hooks": {"PostToolUse": [{"matcher": "Bash", "hooks": [{"command": "check-post.sh"}]}]}}', False),
        (
            f'{{"hooks": {{"PostToolUse": [{{"matcher": "{READ_TOOL}", "hooks": [{{"command": "x"}}]}}]}}}}',
            False,
        ),
        (
            f'{{"hooks": {{"PostToolUse": [5, {{"matcher": "Bash|{READ_TOOL}", '
            '"hooks": [{"command": "/x/check-post.sh"}]}]}}',
            True,
        ),
    ],
)
def test_whether_a_hook_records_pulls(tmp_path: Path, settings: str | None, wired: bool) -> None:
    if settings is not None:
        (tmp_path / "settings.json").write_text(settings, "utf-8")
    assert pulls.hook_is_wired(str(tmp_path)) is wired
    assert pulls.is_left_to_the_hook("claude-code", str(tmp_path)) is wired
    assert not pulls.is_left_to_the_hook("another", str(tmp_path))


def test_the_registration_names_a_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("WAYS_APP_ROOT", str(tmp_path / "a b"))
    assert command.registration() == f"claude mcp add --scope user ways -- '{tmp_path}/a b/bin/ways' mcp"
    (tmp_path / "ways").write_text("#!/bin/sh\n")
    (tmp_path / "ways").chmod(0o755)
    assert command.registration() == "claude mcp add --scope user ways -- ways mcp"
