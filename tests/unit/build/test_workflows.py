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


@pytest.fixture
def actionlint() -> str:
    """The linter; the tests' requirements bring it to Linux."""
    beside = Path(sys.executable).parent / "actionlint"
    found = str(beside) if beside.exists() else shutil.which("actionlint")
    if not found:
        assert sys.platform != "linux", 'python -m pip install --editable ".[test]"'
        pytest.skip("actionlint is not installed")
    return found


def linted(actionlint: str, *paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [actionlint, *map(str, paths)], capture_output=True, text=True, check=False, cwd=ROOT
    )


def test_actionlint_finds_nothing(actionlint: str) -> None:
    done = linted(actionlint, *WORKFLOWS)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("was", "is_now", "said"),
    [
        ("runs-on: ubuntu-24.04", "runs-on: ubuntu-9.04", "ubuntu-9.04"),
        ("needs: [linux, macos, windows]", "needs: [linux, amiga]", "amiga"),
        ("secrets.RELEASE_ONLINE_KEY", "secretz.RELEASE_ONLINE_KEY", "secretz"),
    ],
)
def test_actionlint_would_find_a_fault(
    actionlint: str, tmp_path: Path, was: str, is_now: str, said: str
) -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert was in text
    path = tmp_path / "release.yml"
    path.write_text(text.replace(was, is_now), "utf-8")
    done = linted(actionlint, path)
    assert done.returncode != 0 and said in done.stdout


def test_the_page_on_releases_names_what_the_workflow_uses() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    page = (ROOT / "docs/releasing.md").read_text("utf-8")
    publish = yaml.safe_load(text)["jobs"]["publish"]
    branches = {step["with"]["ref"] for step in publish["steps"] if "ref" in step.get("with", {})}
    names = set(re.findall(r"\b(?:secrets|vars)\.(\w+)", text)) | branches | {publish["environment"]}
    assert {"release-repository", "release", "RELEASE_ONLINE_KEY", "RELEASE_BASE"} <= names
    macos = (ROOT / "docs/macos.md").read_text("utf-8")
    for name in names:
        assert f"`{name}`" in (macos if name.startswith("MACOS_") else page), name


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
