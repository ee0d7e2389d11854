"""A release base and a home for the tests of install.sh.

The archive holds the real payload and the real program: `bin/ways` is a script that starts the checkout's
source as the frozen program would be started (it knows its own folder, and has no other Python to offer).
The frozen program itself is installed in tests/frozen.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from build import archive as packing
from build import bundle
from projection import payload_manifest

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "installer" / "install.sh"
PLATFORM = "linux-" + bundle.facts("0.0.1").architecture
BUILT = 1_700_000_000

_PROGRAM = """\
#!/bin/sh
exec {python} -I -S -X utf8 "$(dirname "$(readlink -f "$0")")/boot.py" "$@"
"""
_BOOT = """\
import os, sys
sys.path += {paths!r}
sys.frozen = True
sys.executable = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ways")
import ways
ways.__version__ = {version!r}
from ways.entry import main
sys.exit(main())
"""


def make_content(folder: Path, version: str, minimum: Mapping[str, str] | None = None) -> Path:
    """The folder of a version: payload, program, `release.json`, manifest."""
    payload = ROOT / "projection" / "payload"
    for file in payload_manifest.compute(str(payload)).files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((payload / file.path).read_bytes())
        target.chmod(file.mode)
    program = folder / "bin" / "ways"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    paths = [str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))]
    (folder / "bin" / "boot.py").write_text(_BOOT.format(paths=paths, version=version))
    release = {"version": version, "build": "frozen", "minimum": dict(minimum or {"glibc": "2.17"})}
    (folder / "release.json").write_text(json.dumps(release))
    manifest = payload_manifest.compute(str(folder))
    (folder / payload_manifest.NAME).write_bytes(payload_manifest.to_json(manifest))
    return folder


def make_archive(folder: Path, version: str, minimum: Mapping[str, str] | None = None) -> Path:
    """The archive of a version for this machine, in `folder`."""
    content = make_content(folder / "content" / version, version, minimum)
    path = folder / f"ways-{version}-{PLATFORM}.tar.gz"
    packing.pack(content, path, f"ways-{version}", BUILT)
    return path


class Release:
    """A release base in a folder: archives under `targets/`, metadata in the form of TUF (its signatures are
    `ways update`'s to check, and install.sh does not look at them)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.targets: dict[str, dict[str, object]] = {}
        (folder / "targets").mkdir(parents=True)
        (folder / "metadata").mkdir()
        self.write()

    def add(self, path: Path, name: str = "") -> Path:
        """Publish an archive; where it lies now."""
        data = path.read_bytes()
        sha256 = hashlib.sha256(data).hexdigest()
        place = self.folder / "targets" / f"{sha256}.{name or path.name}"
        place.write_bytes(data)
        self.targets[name or path.name] = {"length": len(data), "hashes": {"sha256": sha256}}
        self.write()
        return place

    def write(self, expires: str = "2099-01-01T00:00:00Z") -> None:
        """Write the metadata anew."""
        self._role("timestamp", "timestamp.json", {"meta": {"snapshot.json": {"version": 3}}}, expires)
        self._role("snapshot", "3.snapshot.json", {"meta": {"targets.json": {"version": 7}}}, expires)
        self._role("targets", "7.targets.json", {"targets": self.targets}, expires)

    def _role(self, role: str, name: str, fields: dict[str, object], expires: str) -> None:
        signed = {"_type": role, "spec_version": "1.0.31", "version": 1, "expires": expires, **fields}
        document = {"signatures": [{"keyid": "ab", "sig": "\\"}], "signed": signed}
        (self.folder / "metadata" / name).write_text(json.dumps(document, indent=1))


class Home:
    """A fresh home, and install.sh run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.app = folder / ".local" / "share" / "agent-ways"
        self.environ = {
            "HOME": str(folder),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "SHELL": "/bin/bash",
            "XDG_RUNTIME_DIR": str(folder.parent / f"{folder.name}-run"),
        }
        Path(self.environ["XDG_RUNTIME_DIR"]).mkdir(mode=0o700)

    def run(self, *arguments: str, shell: str = "sh", **more: str) -> subprocess.CompletedProcess[str]:
        """install.sh with these options and variables, with no terminal."""
        return subprocess.run(
            [*shell.split(), str(SCRIPT), *arguments],
            env={**self.environ, **more},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def ways(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The installed program."""
        return subprocess.run(
            [str(self.app / "bin" / "ways"), *arguments],
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def version(self) -> str:
        """What the program that is launched by its stable name reports."""
        return str(json.loads(self.ways("--version", "--json").stdout)["version"])

    @property
    def leftovers(self) -> list[str]:
        """Half-done things in the app root."""
        folder = self.app / "versions"
        return (
            [path.name for path in folder.iterdir() if path.name.startswith(".")] if folder.is_dir() else []
        )

    def tree(self) -> dict[str, bytes]:
        """Every path in the home with its content (of a link: where it points)."""
        return {
            str(path.relative_to(self.folder)): os.readlink(path).encode()
            if path.is_symlink()
            else b""
            if path.is_dir()
            else path.read_bytes()
            for path in self.folder.rglob("*")
        }


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder over HTTP on the loopback; the address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing: a test reads the script's output, not the server's."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
