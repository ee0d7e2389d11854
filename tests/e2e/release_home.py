"""A home with an installed release whose program is this checkout's, and releases to update to.

The program of a release is a script that runs the sources as the frozen program would (`sys.frozen`, its own
path as the executable, the release's version); everything else in the release is the real payload.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from build import archive as packing
from installer import tuf_client, update, versions
from installer.stage import CURRENT, VERSIONS
from projection import payload_manifest
from projection.system import RealSystem
from tests.unit.installer.release_world import Releases
from ways.core import roots as core_roots

CHECKOUT = Path(__file__).resolve().parents[2]
PAYLOAD = CHECKOUT / "projection" / "payload"
SMALL = ("hooks/ways/meta", "hooks/ways/core.md", "agents", "commands", "settings.json")

PROGRAM = """\
#!{python}
import os
import sys

sys.path[:0] = [{checkout!r}]
sys.dont_write_bytecode = True
sys.frozen = True
sys.executable = os.path.abspath(__file__)
import ways

ways.__version__ = {version!r}
from ways.entry import main

sys.exit(main())
"""


def build(releases: Releases, version: str, program: str = "") -> Path:
    """The archive of a release."""
    content = releases.folder / "build" / version
    shutil.rmtree(content, ignore_errors=True)
    wanted = [path for path in PAYLOAD.rglob("*") if path.is_file()]
    for path in wanted:
        name = path.relative_to(PAYLOAD).as_posix()
        if not name.startswith(SMALL) and not (path.suffix == ".sh" and name.count("/") <= 2):
            continue
        place = content / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    (content / "bin").mkdir()
    text = program or PROGRAM.format(python=sys.executable, checkout=str(CHECKOUT), version=version)
    (content / "bin/ways").write_text(text)
    (content / "bin/ways").chmod(0o755)
    facts = {"version": version, "build": "frozen", "commit": "0" * 40}
    (content / "release.json").write_text(json.dumps(facts) + "\n")
    (content / tuf_client.ROOT_NAME).write_bytes(releases.root)
    listed = payload_manifest.to_json(payload_manifest.compute(str(content)))
    (content / payload_manifest.NAME).write_bytes(listed)
    place = releases.folder / "archives" / f"ways-{version}-{'-'.join(update.this_machine())}.tar.gz"
    packing.pack(content, place, f"ways-{version}", 1_700_000_000)
    return place


class ReleaseHome:
    """A home of its own; `ways` is the launched path of what is installed there."""

    def __init__(self, path: Path, releases: Releases, base: str) -> None:
        self.path = path
        self.releases = releases
        path.mkdir(parents=True)
        (path.parent / "run").mkdir(mode=0o700)
        self.environ = {
            "HOME": str(path),
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": str(path.parent / "run"),
            "WAYS_RELEASE_BASE": base,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.roots = core_roots.resolve(self.environ)
        self.app = Path(self.roots.app)

    def install(self, version: str) -> None:
        """As the installer leaves it."""
        shutil.copytree(self.releases.folder / "build" / version, self.app / VERSIONS / version)
        versions.point(RealSystem(), self.roots, CURRENT, version)
        versions.place_stable_names(RealSystem(), self.roots)

    def ways(self, *arguments: str, code: int | None = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run the launched path and check its exit code (None: any)."""
        done = subprocess.run(
            [self.app / "bin/ways", *arguments],
            env={**self.environ, **environ},
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    def version(self) -> str:
        return str(json.loads(self.ways("--version", "--json").stdout)["version"])

    def hook(self, name: str, payload: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run one registered adapter of the target as Claude Code does."""
        events = json.loads((self.path / ".claude/settings.json").read_text("utf-8"))["hooks"]
        commands = [hook["command"] for rows in events.values() for row in rows for hook in row["hooks"]]
        command = next(one for one in commands if one.endswith(f'{name}"'))
        return subprocess.run(
            ["sh", "-c", command],
            input=json.dumps(payload),
            env=self.environ,
            cwd=self.path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
