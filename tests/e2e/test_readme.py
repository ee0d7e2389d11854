"""A newcomer: a fresh clone, a fresh home, the first command of README.md, then a session."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from build import packages
from tests.e2e.session_home import Home, Session

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 900


def set_up_commands() -> list[str]:
    """The indented command lines of README.md."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.startswith("    ") and line.strip()]


def test_the_readme_has_exactly_two_set_up_commands() -> None:
    assert set_up_commands() == [
        "python3 build/from_source.py --activate ~/.claude",
        "python3 build/check.py",
    ]


@pytest.mark.slow
@pytest.mark.model
def test_the_first_command_ends_in_a_working_session(tmp_path: Path) -> None:
    clone = tmp_path / "a clone"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in listed.decode("utf-8").split("\0"):
        source = ROOT / name
        if name and source.is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, clone / name)
    home = Home(tmp_path / "home", engine=True)
    home.claude.mkdir()
    (home.claude / "settings.json").write_text('{"model": "opus"}\n')
    pip = {
        name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "REQUESTS_"))
    }
    home.extra |= pip | {"WAYS_BUILD_CACHE": str(packages.cache_folder())}
    command = set_up_commands()[0].replace("python3", f"'{sys.executable}'", 1)
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=clone,
        env=home.environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "You type:" in done.stdout and "shown  softwaredev/" in done.stdout, done.stdout[-3000:]
    assert (home.claude / "settings.json").read_text().startswith('{"model": "opus"')

    session = Session(home, clone)
    assert "# Ways" in session.start()
    shown = session.prompt("Please write a commit message for this change")
    session.bash("git push --force origin main", "Push")
    events = [row for row in home.log() if row.get("session") == session.id]
    assert "softwaredev/delivery/commits" in {row.get("way") for row in events if row["event"] == "way_fired"}
    assert "ommit" in shown
    assert any(row["event"] in {"way_fired", "check_fired"} and row["hook"] == "PreToolUse" for row in events)
    assert "Traceback" not in home.debug()
