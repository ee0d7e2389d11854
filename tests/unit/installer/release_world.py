"""A home with an installed release, and a real signed release repository served on loopback.

The programs in the releases are small shell scripts that answer as `ways` does: enough to see which version
runs, to fail where a test wants it, and to say what they were asked.
"""

from __future__ import annotations

import functools
import http.server
import io
import json
import os
import shutil
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from build import archive as packing
from build import release
from installer import tuf_client, update, versions
from installer.stage import CURRENT, VERSIONS
from projection import payload_manifest
from projection.system import RealSystem, System
from ways.core import roots as core_roots

PROGRAM = """\
#!/bin/sh
# Version {version}. `asked` in the app root's parent notes what was asked of whom.
printf '%s %s\\n' {version} "$*" >>"{log}"
{first}
case $1 in
--version) printf '{{"version": "{version}", "build": "frozen"}}\\n' ;;
doctor) printf '{{"ok": true, "findings": []}}\\n' ;;
reconcile) [ "$2" != --json ] || printf '{{"targets": [], "exit_code": 0}}\\n' ;;
hook) cat >/dev/null; sleep 0.01; . "${{0%/*}}/../lib/late.sh"; printf '%s\\n' "$late" ;;
esac
exit 0
"""


class Releases:
    """A repository in `folder`, with its keys: two of three for root and targets, one for the rest."""

    def __init__(self, folder: Path, log: Path) -> None:
        self.folder = folder
        self.repository = folder / "repository"
        self.log = log
        self.now = datetime.now(UTC)
        self.keys = {role: [release.new_key() for _ in range(3)] for role in ("root", "targets")}
        self.online = release.new_key()
        self.stage_root()
        self.publish_root()
        self.root = (self.repository / "metadata" / "1.root.json").read_bytes()

    def stage_root(self) -> None:
        public: dict[str, list[Any]] = {
            role: [key.public_key for key in keys] for role, keys in self.keys.items()
        }
        public |= {role: [self.online.public_key] for role in ("snapshot", "timestamp")}
        release.stage_root(self.repository, public, {"root": 2, "targets": 2}, self.now)

    def publish_root(self) -> None:
        path = release.staged(self.repository, "root")
        for key in self.keys["root"][:2]:
            release.sign(path, key)
        (self.repository / "metadata").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, self.repository / "metadata" / "1.root.json")
        path.unlink()

    def build(self, version: str, first: str = "", broken: str = "", **more: str) -> Path:
        """An archive of a release. `first` is put at the program's start; `more` are further files."""
        content = self.folder / "build" / version
        shutil.rmtree(content, ignore_errors=True)
        program = PROGRAM.format(version=version, log=self.log, first=first)
        files = {
            "bin/ways": broken or program,
            "lib/late.sh": f"late={version}\n",
            "hooks/ways/check-prompt.sh": "#!/bin/sh\nexit 0\n",
            f"hooks/ways/only-{version}.sh": "#!/bin/sh\nexit 0\n",
            "skills/ways/SKILL.md": f"skill of {version}\n",
            "agents/reviewer.md": "agent\n",
            "commands/ways.md": "command\n",
            "settings.json": '{"hooks": {}}\n',
            "release.json": json.dumps({"version": version, "build": "frozen"}) + "\n",
            tuf_client.ROOT_NAME: self.root.decode(),
            **more,
        }
        for name, text in files.items():
            path = content / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755 if name.endswith(".sh") or name.startswith("bin/") else 0o644)
        listed = payload_manifest.to_json(payload_manifest.compute(str(content)))
        (content / payload_manifest.NAME).write_bytes(listed)
        (content / payload_manifest.NAME).chmod(0o644)
        place = self.folder / "archives" / f"ways-{version}-{'-'.join(update.this_machine())}.tar.gz"
        packing.pack(content, place, f"ways-{version}", 1_700_000_000)
        return place

    def publish(self, *archives: Path) -> None:
        """Sign and publish archives as a maintainer does."""
        self.now += timedelta(seconds=1)
        path = release.stage_archives(self.repository, archives, self.now)
        for key in self.keys["targets"][:2]:
            release.sign(path, key)
        release.finish(self.repository, [self.online], self.now)

    def add(self, *names: str) -> None:
        """Build and publish plain releases of these versions."""
        self.publish(*(self.build(name) for name in names))

    @property
    def served(self) -> str:
        """The repository as a folder for the client."""
        return self.repository.as_uri() + "/"


class Server(http.server.ThreadingHTTPServer):
    """Serves a folder; `asked` are the paths that were asked for, `change` may spoil an answer."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
        self.asked: list[str] = []
        self.ranges: list[str] = []
        self.change: dict[str, bytes] = {}
        self.stop_after: dict[str, int] = {}
        self.stall: dict[str, int] = {}
        self.stalled = threading.Event()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class Handler(http.server.SimpleHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name = self.path.lstrip("/")
        self.server.asked.append(name)
        wanted = self.headers.get("Range", "")
        self.server.ranges.append(wanted)
        path = Path(self.translate_path(self.path))
        key = next((one for one in self.server.change if name.endswith(one)), "")
        if not path.is_file() and not key:
            self.send_error(404)
            return
        data = self.server.change[key] if key else path.read_bytes()
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = next((n for one, n in self.server.stop_after.items() if name.endswith(one)), len(data))
        stall = next((n for one, n in self.server.stall.items() if name.endswith(one)), 0)
        if stall:
            self.wfile.write(data[start:stall])
            self.wfile.flush()
            self.server.stalled.set()
            time.sleep(30)
        self.wfile.write(data[start:end])

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class World:
    """A home with `installed` in place, made anew at the same paths as often as a test wants."""

    def __init__(self, base: Path, releases: Releases, installed: str = "1.0.0") -> None:
        self.releases = releases
        self.base = base
        self.home = base / "h ome"
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)
        self.environ = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(base / "run")}
        self.roots = core_roots.resolve(self.environ)
        if installed:
            self.install(installed)

    @property
    def app(self) -> Path:
        return Path(self.roots.app)

    def install(self, version: str) -> None:
        """Put a version in place as the installer leaves it."""
        source = self.releases.folder / "build" / version
        if not source.is_dir():
            self.releases.build(version)
        shutil.copytree(source, self.app / VERSIONS / version)
        system = RealSystem()
        versions.point(system, self.roots, CURRENT, version)
        versions.place_stable_names(system, self.roots)

    def update(self, system: System | None = None, **wish: Any) -> Any:
        """What `ways update` does, from the repository's folder unless another base is named."""
        wished = update.Wish(**{"base": self.releases.served, **wish})
        return update.run(system or RealSystem(), self.roots, wished, self.environ)

    def launched(self) -> str:
        """The version that the launched path reports."""
        import subprocess

        done = subprocess.run(
            [self.app / "bin/ways", "--version", "--json"], capture_output=True, text=True, check=True
        )
        return str(json.loads(done.stdout)["version"])

    def names(self) -> list[str]:
        """Everything in `versions/`, leftovers included."""
        return sorted(os.listdir(self.app / VERSIONS))

    def pointed(self, link: str) -> str:
        path = self.app / link
        return os.path.basename(os.readlink(path)) if path.is_symlink() else ""


def packed(members: dict[str, Any], path: Path) -> Path:
    """A .tar.gz with just these members: bytes, or a TarInfo for anything that is no file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, what in members.items():
            if isinstance(what, tarfile.TarInfo):
                what.name = name
                tar.addfile(what)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(what)
                tar.addfile(info, io.BytesIO(what))
    return path
