"""Somebody without Python: a home full of their own things, a PATH with the tools that every system has, and
two real builds of the frozen program in a signed release repository.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from build import archive as packing
from build import freeze, packages
from installer import tuf_client, versions
from projection import payload_manifest
from tests.unit.installer.release_world import Releases
from ways.core import roots as core_roots

CHECKOUT = Path(__file__).resolve().parents[2]
INSTALL = CHECKOUT / "installer" / "install.sh"
# What install.sh, the adapters and the ways' macros may call; nothing here brings a Python.
TOOLS = (
    *("sh", "bash", "env", "uname", "awk", "sed", "tr", "gzip", "xz", "tar", "mkdir", "mv", "rm", "cp", "wc"),
    *("df", "find", "grep", "sort", "head", "tail", "cat", "id", "date", "dirname", "sha256sum", "curl"),
    *("getconf", "ls", "readlink", "git", "cmp", "chmod", "ln", "rmdir", "sleep", "kill", "touch", "mktemp"),
)
SECONDS = 300


def next_version(version: str) -> str:
    """The final version whose last number is one higher."""
    found = versions.order(version)
    assert found is not None, version
    return f"{found[0]}.{found[1]}.{found[2] + 1}"


@dataclass(frozen=True)
class FrozenReleases:
    """Two frozen builds in one signed repository. `root` is the root metadata that both carry."""

    repository: Path
    old: str
    new: str
    root: bytes
    archives: tuple[Path, ...]


def frozen_releases(folder: Path) -> FrozenReleases:
    """The builds out of the build cache, with keys in them; made once in `folder`, whoever asks first."""
    done = folder / "versions.json"
    folder.mkdir(exist_ok=True)
    with packages.locked(folder, "made"):
        if not done.is_file():
            done.write_text(json.dumps(_make(folder)))
    old, new = json.loads(done.read_text())
    repository = folder / "repository"
    root = (repository / "metadata" / "1.root.json").read_bytes()
    archives = tuple(next((folder / "archives").glob(f"ways-{version}-*")) for version in (old, new))
    return FrozenReleases(repository, old, new, root, archives)


def _make(folder: Path) -> tuple[str, str]:
    named = os.environ.get("WAYS_FROZEN_ARCHIVE")
    first = Path(named).absolute() if named else freeze.cached()
    old = first.name.removeprefix("ways-").rsplit("-", 2)[0]
    second = freeze.cached(next_version(old))
    made = Releases(folder, folder / "asked")
    archives = tuple(with_root(archive, made.root, folder) for archive in (first, second))
    made.publish(*archives)
    return old, next_version(old)


def with_root(archive: Path, root: bytes, folder: Path) -> Path:
    """The same build with these release keys in it, packed quickly."""
    content = packing.unpack(archive, folder / "unpacked" / archive.name)
    (content / tuf_client.ROOT_NAME).write_bytes(root)
    manifest = payload_manifest.compute(str(content))
    (content / payload_manifest.NAME).write_bytes(payload_manifest.to_json(manifest))
    place = folder / "archives" / f"{archive.name.partition('.tar')[0]}.tar.gz"
    place.parent.mkdir(exist_ok=True)
    with gzip.open(place, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        tar.add(content, content.name)
    shutil.rmtree(content.parent)
    return place


@dataclass
class Stranger:
    """A home, its environment, and what its owner types. `environment` is all that a child gets."""

    path: Path
    extra: dict[str, str] = field(default_factory=dict)
    engine: bool = False

    def __post_init__(self) -> None:
        self.path.mkdir(mode=0o750, parents=True)
        self.tools.mkdir()
        for name in TOOLS:
            if found := shutil.which(name):
                (self.tools / name).symlink_to(found)
        self.runtime.mkdir(mode=0o700)

    @property
    def tools(self) -> Path:
        return self.path.parent / "tools"

    @property
    def runtime(self) -> Path:
        return self.path.parent / "r"

    @property
    def claude(self) -> Path:
        return self.path / ".claude"

    @property
    def events(self) -> Path:
        return self.path / ".local/state/agent-ways/events.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        values = {
            "HOME": str(self.path),
            "PATH": f"{self.path / '.local/bin'}:{self.tools}",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "XDG_RUNTIME_DIR": str(self.runtime),
        }
        if not self.engine:
            values["WAYS_ENGINE_LIB"] = "/nonexistent/ways_native.so"
        return {**values, **self.extra}

    @property
    def roots(self) -> core_roots.Roots:
        return core_roots.resolve(self.environment)

    @property
    def app(self) -> Path:
        return Path(self.roots.app)

    @property
    def program(self) -> Path:
        """The launched path."""
        return self.app / "bin" / "ways"

    def install(self, *arguments: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """install.sh, before `ways` is on anybody's PATH."""
        environment = {**self.environment, "PATH": str(self.tools), **more}
        return self._run(["sh", str(INSTALL), *arguments], environment, code)

    def ways(self, *arguments: str, code: int | None = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """A command, by the name that the shell finds."""
        return self._run([str(self.path / ".local/bin/ways"), *arguments], {**self.environment, **more}, code)

    def _run(
        self, command: list[str], environment: dict[str, str], code: int | None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            env=environment,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert code is None or done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    def version(self) -> str:
        """What the launched path reports."""
        done = self._run([str(self.program), "--version", "--json"], self.environment, 0)
        told = json.loads(done.stdout)
        assert told["build"] == "frozen"
        return str(told["version"])

    def log(self, *names: str) -> list[dict[str, str]]:
        """The events in the log, of these names when any are given."""
        rows = [json.loads(line) for line in self.events.read_text("utf-8").splitlines()]
        return [row for row in rows if not names or row["event"] in names]

    def debug(self) -> str:
        """The debug log."""
        path = Path(self.roots.state, "debug.log")
        return path.read_text("utf-8") if path.exists() else ""

    def leftovers(self) -> list[str]:
        """Half-done things in the app root."""
        return [path.name for path in (self.app / "versions").iterdir() if path.name.startswith(".")]


Tree = dict[str, tuple[Any, ...]]


def tree(folder: Path, without: Iterable[str] = ()) -> Tree:
    """Every path below a folder: mode and owner, of files the content, the time of the last change and the
    number of names, of links where they lead. `without` are paths that are left out with all below them."""
    found: Tree = {}
    left_out = {str(folder / name) for name in without}
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(parent, name) not in left_out]
        for name in [*folders, *names]:
            path = os.path.join(parent, name)
            if path in left_out:
                continue
            info = os.lstat(path)
            what: tuple[Any, ...] = (oct(info.st_mode), info.st_uid, info.st_gid)
            if stat.S_ISLNK(info.st_mode):
                what += (os.readlink(path),)
            elif stat.S_ISREG(info.st_mode):
                digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
                what += (digest, info.st_nlink, info.st_mtime_ns)
            found[os.path.relpath(path, folder)] = what
    return found


def differences(before: Tree, after: Tree, edited: Iterable[str] = ()) -> dict[str, Any]:
    """What is not as it was. Of a file in `edited`, changed and changed back, the time may differ."""
    found: dict[str, Any] = {}
    for path in sorted(before.keys() | after.keys()):
        one, other = before.get(path), after.get(path)
        if path in edited and one is not None and other is not None:
            one, other = one[:-1], other[:-1]
        if one != other:
            found[path] = (one, other)
    return found


SETTINGS = """{
    "model":"opus"   ,
  "permissions" : { "allow":[ "Bash(ls:*)" ,"Bash(ls:*)"], "deny": [] },

\t"hooks": {"UserPromptSubmit": [ {"hooks":[{"type":"command","command":"~/.claude/hooks/mine.sh",
  "timeout":5,"note":"x"}]}],
       "PreToolUse":[ ] },
   "big": 12345678901234567890, "f": 1.0, "e":1e3, "uni":"é日本\\u00e9"
}
   """
OWN_WAY = "---\npattern: \\bdeploy\\b\ncommands: ^make deploy\nscope: [agent, subagent]\n---\nDEPLOY-BODY\n"


def fill(home: Stranger) -> Path:
    """Give the home what people have in theirs; a project of theirs, which is a git repository."""

    def write(name: str, text: str | bytes, mode: int = 0o644) -> Path:
        path = home.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
        path.chmod(mode)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        return path

    write(".bashrc", b'alias ll="ls -l"\r\nexport X=1\r\nlast line without an end', 0o640)
    write("dotfiles/claude/settings.json", SETTINGS, 0o640)
    home.claude.mkdir()
    (home.claude / "settings.json").symlink_to("../dotfiles/claude/settings.json")
    write(".claude/hooks/mine.sh", "#!/bin/sh\nexit 0\n", 0o755)
    write(".claude/skills/mine/SKILL.md", "a skill of mine\n", 0o444)
    write(".claude/agents/mine.md", "an agent of mine\n")
    write(".claude/commands/mine.md", "a command of mine\n", 0o600)
    write(".claude/CLAUDE.md", "mine\n")
    write("notes/read-only.txt", "do not touch\n", 0o400)
    (home.path / "notes/dangling").symlink_to("/nonexistent")
    (home.path / "notes/empty").mkdir(mode=0o700)
    os.mkfifo(home.path / "notes/fifo")
    project = home.path / "work" / "my project"
    write("work/my project/.claude/ways/team/deploy/deploy.md", OWN_WAY)
    subprocess.run(["git", "init", "-q"], cwd=project, check=True, env=home.environment)
    return project


def prompt_hook(home: Stranger, session: str = "s") -> subprocess.CompletedProcess[str]:
    """The prompt adapter by the command in settings.json; the prompt names something that is shown."""
    document = json.loads((home.claude / "settings.json").read_text("utf-8"))
    [command] = [
        one["command"]
        for group in document["hooks"]["UserPromptSubmit"]
        for one in group["hooks"]
        if "check-prompt" in one["command"]
    ]
    payload = {"hook_event_name": "UserPromptSubmit", "prompt": "commit this", "session_id": session}
    return subprocess.run(
        ["sh", "-c", command],
        input=json.dumps({**payload, "cwd": str(home.path)}),
        env=home.environment,
        cwd=home.path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
