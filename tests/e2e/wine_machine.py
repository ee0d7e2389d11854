"""A Windows machine under Wine with the frozen program installed on it, as `install.ps1` leaves it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from build import archive as packing
from build import wine_freeze
from installer import tuf_client
from projection import payload_manifest
from tests.e2e.stranger_home import next_version
from tests.unit.installer.release_world import Releases
from ways import __version__

SECONDS = 300
ARCHIVES, ASKED = "WAYS_WINE_ARCHIVES", "WAYS_WINE_FROZEN"
REGISTRY_PATH = r"HKCU\Environment"
REGISTRY_ENTRY = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\agent-ways"


@dataclass(frozen=True)
class WineReleases:
    """Two Windows builds in one signed repository, by version."""

    repository: Path
    old: str
    new: str
    archives: dict[str, Path]


def builds() -> tuple[Path, Path]:
    """The two archives: named ones, else out of the build cache."""
    named = os.environ.get(ARCHIVES)
    if named:
        paths = [Path(one).absolute() for one in named.split(os.pathsep)]
        return paths[0], paths[-1]
    return wine_freeze.cached(__version__, wine_freeze.has_compiler()), wine_freeze.cached(
        next_version(__version__), wine_freeze.has_compiler()
    )


def releases(folder: Path) -> WineReleases:
    """Both builds with the keys of a repository in them, published there."""
    made = Releases(folder, folder / "asked")
    packed = [_with_root(path, made.root, folder) for path in builds()]
    made.publish(*dict.fromkeys(packed))
    old, new = (path.name.split("-")[1] for path in packed)
    return WineReleases(made.repository, old, new, {old: packed[0], new: packed[1]})


def _with_root(archive: Path, root: bytes, folder: Path) -> Path:
    content = packing.unpack(archive, folder / "unpacked" / archive.stem)
    (content / tuf_client.ROOT_NAME).write_bytes(root)
    manifest = payload_manifest.compute(str(content))
    (content / payload_manifest.NAME).write_bytes(payload_manifest.to_json(manifest))
    place = folder / "archives" / archive.name
    place.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(content.rglob("*")):
            if path.is_file():
                packed.write(path, f"{content.name}/{path.relative_to(content).as_posix()}")
    shutil.rmtree(content.parent)
    return place


class Machine:
    """A Wine prefix of its own. Paths that programs get are Windows' (`shown`)."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        # No window, no .NET, no browser: nothing here needs them.
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(prefix.parent),
            "WINEPREFIX": str(prefix),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
            "LC_ALL": "C.UTF-8",
        }
        # Wine's server and services keep the pipes of whatever program started them: they are started on no
        # pipes at all, and an idle program keeps them until the end.
        nothing = subprocess.DEVNULL
        prefix.mkdir()
        for command in (["wineserver", "-p"], ["wineboot", "-i"]):
            subprocess.run(
                command,
                env=self.environment,
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                check=True,
                timeout=SECONDS,
            )
        self._idle = subprocess.Popen(
            ["wine", "cmd.exe", "/k"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=nothing,
            stderr=nothing,
        )
        users = prefix / "drive_c" / "users"
        [self.home] = [path for path in users.iterdir() if path.name != "Public"]
        self.local = self.home / "AppData" / "Local"
        self.app = self.local / "agent-ways" / "app"
        self.state = self.local / "agent-ways" / "state"
        self.claude = self.home / ".claude"

    def shown(self, path: Path) -> str:
        """A path in the prefix as Windows programs see it."""
        return "C:\\" + str(path.relative_to(self.prefix / "drive_c")).replace("/", "\\")

    def start(self, *command: str, stdin: bytes = b"", **environ: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command through pipes: on plain files standard streams fail under Wine."""
        return subprocess.run(
            command,
            env=self.environment | environ,
            cwd=self.prefix.parent,
            input=stdin,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )

    def run(self, program: str, *arguments: str, stdin: bytes = b"", code: int = 0, **environ: str) -> str:
        """Run a Windows program by its Windows path; its output, when it ends with `code`."""
        done = self.start("wine", program, *arguments, stdin=stdin, **environ)
        said = done.stdout.decode("utf-8")
        told = done.stderr.decode("utf-8", "replace")
        assert done.returncode == code, f"{program} {arguments}: {done.returncode}\n{said}{told}"
        assert "Traceback" not in told, told
        return said

    def place(self, archive: Path, version: str) -> Path:
        """Unpack a version as the install script does; its folder."""
        folder = self.app / "versions" / version
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder.parent / ".staging-install-1")
        (folder.parent / ".staging-install-1" / f"ways-{version}").rename(folder)
        (folder.parent / ".staging-install-1").rmdir()
        return folder

    @property
    def active(self) -> str:
        """The version that `current.txt` names."""
        return (self.app / "current.txt").read_text("ascii").strip()

    def ways(self, *arguments: str, code: int = 0, **environ: str) -> str:
        """The active version's program."""
        program = self.app / "versions" / self.active / "bin" / "ways.exe"
        return self.run(self.shown(program), *arguments, code=code, **environ)

    def registered(self, key: str, name: str = "") -> str:
        """What `reg query` prints of a key or a value of it, "" when it is not there."""
        done = self.start("wine", "reg", "query", key, *(["/v", name] if name else []))
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""

    def hooks(self, event: str) -> list[dict[str, Any]]:
        """The hook entries of an event in the target's settings.json."""
        groups = json.loads((self.claude / "settings.json").read_text("utf-8"))["hooks"].get(event, [])
        return [{**hook, "matcher": group.get("matcher", "")} for group in groups for hook in group["hooks"]]

    def play(self, event: str, project: Path, wanted: str = "", **fields: Any) -> dict[str, str]:
        """Run every hook of an event by the command line in settings.json whose matcher holds `wanted`; what
        each printed, by its arguments."""
        payload = {
            "session_id": "11111111-2222-4333-8444-555555555555",
            "transcript_path": self.shown(project / "none.jsonl"),
            "cwd": self.shown(project),
            "hook_event_name": event,
            **fields,
        }
        found = {}
        for hook in self.hooks(event):
            if hook["matcher"] and wanted not in hook["matcher"].split("|"):
                continue
            said = self.run(
                hook["command"],
                *hook["args"],
                stdin=json.dumps(payload).encode(),
                CLAUDE_PROJECT_DIR=self.shown(project),
            )
            found[" ".join(hook["args"][:2])] = said
        return found

    def stop(self) -> None:
        """End everything that runs in this prefix."""
        self._idle.kill()
        self.start("wineserver", "-k")
        self._idle.wait(SECONDS)
