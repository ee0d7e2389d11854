"""The Windows code under Wine, with a real CPython for Windows. What Wine can show and what not:
docs/decisions/windows.md. Set it up with `python build/wine_python.py`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from build import wine_python
from build.wine_python import WinePython

pytestmark = [pytest.mark.wine, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 300


@pytest.fixture(scope="module")
def wine() -> Iterator[WinePython]:
    if sys.platform == "win32":
        pytest.skip("this is Windows itself")
    found, why = wine_python.found()
    if found is None:
        pytest.skip(why)
    yield found
    # A lingering server would hold our pipes; it is the one of this prefix only.
    subprocess.run(["wineserver", "-k"], env=found.environment, check=False, timeout=60)


def run(
    wine: WinePython, *arguments: str, stdin: bytes = b"", **more: str
) -> subprocess.CompletedProcess[bytes]:
    """Windows' Python with these arguments, through pipes."""
    return subprocess.run(
        ["wine", str(wine.executable), "-X", "utf8", *arguments],
        env=wine.environment | more,
        cwd=ROOT,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


def on_windows(path: Path) -> str:
    """A path of this machine as Wine shows it."""
    return "Z:" + str(path).replace("/", "\\")


def test_the_tests_of_the_windows_code_pass(wine: WinePython) -> None:
    done = run(wine, "-m", "pytest", "-p", "no:cacheprovider", "--capture=no", "-rs", "tests/unit/windows")
    assert done.returncode == 0, done.stdout.decode("utf-8", "replace")[-4000:]


@pytest.fixture
def home(wine: WinePython, tmp_path: Path) -> dict[str, str]:
    """Variables that lead every root into a fresh folder with an awkward name. (Wine sets USERPROFILE and
    LOCALAPPDATA itself.)"""
    folder = tmp_path / "A B&(c)' é"
    folder.mkdir()
    names = ("APP", "CONFIG", "STATE", "CACHE", "SESSIONS")
    roots = {f"WAYS_{name}_ROOT": on_windows(folder / name.lower()) for name in names}
    return roots | {"CLAUDE_CONFIG_DIR": on_windows(folder / ".claude"), "PYTHONPATH": on_windows(ROOT)}


def test_a_hook_answers_through_pipes(wine: WinePython, home: dict[str, str], tmp_path: Path) -> None:
    project = tmp_path / "project"
    way = project / ".claude/ways/deploy/blue/blue.md"
    way.parent.mkdir(parents=True)
    way.write_text("---\ndescription: how to deploy\npattern: zebra\n---\nDeploy in two steps é.\n", "utf-8")
    payload = {
        "session_id": "s1",
        "hook_event_name": "UserPromptSubmit",
        "cwd": on_windows(project),
        "prompt": "please zebra it",
        "transcript_path": on_windows(tmp_path / "none.jsonl"),
    }
    target = home["CLAUDE_CONFIG_DIR"]
    done = run(
        wine,
        "-m",
        "ways.entry",
        "hook",
        "prompt",
        "--target",
        target,
        stdin=json.dumps(payload).encode(),
        **home,
        CLAUDE_PROJECT_DIR=on_windows(project),
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    answer = json.loads(done.stdout.decode("utf-8"))["hookSpecificOutput"]
    assert answer["additionalContext"].startswith("Deploy in two steps é.")


_RECONCILE = """
import json, os, shutil, sys
from projection import payload_manifest, preferences
from projection.reconcile import reconcile
from projection.system import RealSystem
from projection.wants import App
from ways.core import roots as core_roots
roots = core_roots.resolve()
payload = os.path.join(sys.argv[1], "projection", "payload")
shipped = payload_manifest.compute(payload)
app = App(roots.app, payload, shipped, "1.0.0")
# Wine makes no junctions, so the app's stable names are copies and the targets are served by copies too.
for name in ("hooks", "skills", "agents", "commands"):
    if os.path.isdir(os.path.join(payload, name)) and not os.path.isdir(os.path.join(roots.app, name)):
        shutil.copytree(os.path.join(payload, name), os.path.join(roots.app, name))
options = preferences.options(roots, mode="copy")
outcomes = reconcile(RealSystem(), roots, lambda: app, options)
faults = [text for one in outcomes for text in (*one.plan.refusals, one.plan.error, one.error) if text]
print(json.dumps({"faults": faults, "codes": [one.exit_code for one in outcomes], "app": roots.app}))
"""


def test_reconcile_wires_the_program_with_its_target(
    wine: WinePython, home: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(2):
        done = run(wine, "-c", _RECONCILE, on_windows(ROOT), **home)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        answer = json.loads(done.stdout.decode("utf-8").strip().splitlines()[-1])
        assert (answer["faults"], answer["codes"]) == ([], [0])
    folder = tmp_path / "A B&(c)' é"
    settings = json.loads((folder / ".claude/settings.json").read_text("utf-8"))
    [entry] = [
        hook
        for group in settings["hooks"]["UserPromptSubmit"]
        for hook in group["hooks"]
        if hook.get("args", [])[:2] == ["hook", "prompt"]
    ]
    assert entry["command"] == answer["app"] + "\\bin\\ways.exe"
    assert entry["args"] == ["hook", "prompt", "--target", home["CLAUDE_CONFIG_DIR"]]
    assert os.path.isfile(folder / ".claude/hooks/ways/core.md")
