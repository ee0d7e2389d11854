"""The shipped macros and postchecks under Wine, by a real CPython for Windows (no git is there)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import payload_scripts
from build import wine_python
from build.wine_python import WinePython, shown
from tests.unit.payload import shipped

pytestmark = [pytest.mark.wine, pytest.mark.slow]
SECONDS = 300
# Starts each script as the program does and tells what it did.
DRIVER = """
import json, os, subprocess, sys
scripts, project, payloads = json.load(sys.stdin)
found = []
for path in scripts:
    inputs = payloads if path.endswith("postcheck.py") else [None]
    for each in inputs:
        variables = dict(os.environ, WAYS_PROJECT_DIR=project, WAYS_WAY_DIR=os.path.dirname(path))
        done = subprocess.run(
            [sys.executable, "-I", "-X", "utf8", path],
            input=b"" if each is None else json.dumps(each).encode(),
            capture_output=True, cwd=project, env=variables, timeout=60,
        )
        errors = done.stderr.decode("utf-8", "replace")
        found.append([path, done.returncode, done.stdout.decode("utf-8"), errors])
print(json.dumps(found))
"""


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


def test_every_macro_and_postcheck_runs_on_windows_python(wine: WinePython, tmp_path: Path) -> None:
    project = tmp_path / "shop é"
    project.mkdir()
    payload_scripts.make_repository(str(project))
    paths = [shown(path) for name in ("macro.py", "postcheck.py") for path in shipped.scripts(name)]
    work = json.dumps([paths, shown(project), payload_scripts.payloads(shown(project))])
    done = subprocess.run(
        ["wine", str(wine.executable), "-X", "utf8", "-c", DRIVER],
        env=wine.environment,
        input=work.encode(),
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-2000:]
    found = json.loads(done.stdout.decode("utf-8").strip().splitlines()[-1])
    said = {}
    for path, code, output, errors in found:
        way = path.replace("\\", "/").partition("/hooks/ways/")[2].rpartition("/")[0]
        assert (code, errors) == (int(path.endswith("postcheck.py")), ""), path
        said[way] = said.get(way, "") + output
    assert "- `npm test`, which is `vitest run`" in said["softwaredev/code/testing"]
    assert "`web` (`nginx`), `db` (`postgres:17`)" in said["softwaredev/environment/containers"]
    assert "`db/migrations/`: `0001_first.sql`" in said["data/migrations"]
    assert "`.github/workflows/`: `ci.yml`" in said["softwaredev/delivery/ci"]
    assert said["softwaredev/delivery/commits"] == "", "there is no git under Wine"
