"""The workflows: valid, with pinned actions, and asking for nothing that they do not need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from build import macos_sign

ROOT = Path(__file__).resolve().parents[3]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_actionlint_finds_nothing() -> None:
    beside = Path(sys.executable).parent / "actionlint"
    found = str(beside) if beside.exists() else shutil.which("actionlint")
    if not found:
        pytest.skip("actionlint is not installed")
    done = subprocess.run(
        [found, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit_and_names_its_version(path: Path) -> None:
    lines = [line.strip() for line in path.read_text("utf-8").splitlines() if "uses:" in line]
    assert lines
    for line in lines:
        assert re.fullmatch(r"- uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_a_job_says_what_more_it_needs(path: Path) -> None:
    document: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    assert document["permissions"] == {"contents": "read"}
    writing = {name for name, job in document["jobs"].items() if "permissions" in job}
    assert writing <= {"draft", "publish"}


def test_the_release_is_built_for_the_systems_that_have_archives() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert {"linux", "macos", "windows"} <= set(jobs)
    assert jobs["draft"]["needs"] == ["linux", "macos", "windows"]
    assert text.count("python build/freeze.py") == 3
    assert text.count("--archive") + text.count("-Archive") == 3


def test_a_library_is_signed_with_the_hardened_runtime() -> None:
    command = macos_sign.command(Path("/b/libllama.dylib"), "Developer ID Application: X")
    assert command[0] == "codesign"
    assert command[2:4] == ["--options", "runtime"]
    assert command[-1] == "/b/libllama.dylib"


@pytest.mark.skipif(sys.platform == "darwin", reason="what other systems do")
def test_off_macos_nothing_is_signed(tmp_path: Path) -> None:
    path = tmp_path / "lib.so"
    path.write_bytes(b"x")
    inode = path.stat().st_ino
    macos_sign.sign(path, {macos_sign.IDENTITY: "somebody"})
    assert path.stat().st_ino == inode
