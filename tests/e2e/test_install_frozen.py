"""The frozen program out of its archive, by install.sh, in a home of its own: installed, activated, used, and
taken out again without a trace. Marked `frozen`: the program is built first where it has to be."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from build import freeze
from tests.unit.installer.install_world import Home, Release, served

pytestmark = [
    pytest.mark.frozen,
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="install.ps1 is for Windows"),
]


@pytest.fixture(scope="module")
def archive() -> Path:
    named = os.environ.get("WAYS_FROZEN_ARCHIVE")
    return Path(named).absolute() if named else freeze.cached()


def test_install_activate_hook_uninstall_leaves_the_home_as_it_was(tmp_path: Path, archive: Path) -> None:
    release = Release(tmp_path / "release")
    release.add(archive)
    home = Home(tmp_path / "A B&(c)' é")
    (home.folder / ".bashrc").write_bytes(b"alias ll='ls -l'")
    (home.folder / ".claude").mkdir()
    (home.folder / ".claude/settings.json").write_bytes(b'{"model": "opus"}')
    before = home.tree()
    with served(release.folder) as address:
        done = home.run("--base", address, "--activate", str(home.folder / ".claude"))
    assert done.returncode == 0, done.stderr
    assert home.version == archive.name.split("-")[1]
    settings = json.loads((home.folder / ".claude/settings.json").read_text("utf-8"))
    [command] = [
        hook["command"]
        for group in settings["hooks"]["UserPromptSubmit"]
        for hook in group["hooks"]
        if "check-prompt" in hook["command"]
    ]
    answer = subprocess.run(
        ["sh", "-c", command],
        input=json.dumps(
            {
                "session_id": "s1",
                "hook_event_name": "UserPromptSubmit",
                "cwd": str(home.folder),
                "prompt": "write a migration that adds a column to the orders table",
                "transcript_path": str(tmp_path / "none.jsonl"),
            }
        ),
        env=home.environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "additionalContext" in answer.stdout, shlex.quote(command)
    removed = home.ways("uninstall", "--yes", "--purge")
    assert removed.returncode == 0, removed.stderr
    assert home.tree() == before
