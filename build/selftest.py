"""Try the frozen program out, as somebody without Python has it.

    python build/selftest.py ARCHIVE

Unpacks the archive into an empty home, lays it out as the installer does, and runs it with a PATH that holds
a shell and a few tools and no Python: its version, a target, reconcile, the corpus, every hook through the
merged settings.json, doctor and the demo. Also the release job runs it, on every system.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import archive, bundle
from installer import stage
from projection import payload_manifest
from projection.system import RealSystem
from ways.core import roots as core_roots
from ways.core.errors import UserError

# What the adapters and the demo's project need of a POSIX system; nothing here brings a Python.
TOOLS = ("bash", "cat", "env", "git", "sh", "uname")
STEP_SECONDS = 300.0
PROMPT = "Please write a commit message and commit the change."


@dataclass(frozen=True)
class Place:
    """An installed program in a home of its own. `home` is absolute; the rest follows from it."""

    home: Path

    @property
    def claude(self) -> Path:
        """The config directory that ways is put into."""
        return self.home / ".claude"

    @property
    def app(self) -> Path:
        """The app root."""
        return Path(core_roots.resolve(self.environment()).app)

    @property
    def program(self) -> Path:
        """The program by its stable name, as users and hooks reach it."""
        return self.app / "bin" / ("ways.exe" if sys.platform == "win32" else "ways")

    def environment(self) -> dict[str, str]:
        """A login's environment without Python: nothing of this process's own but what Windows needs."""
        if sys.platform == "win32":
            kept = (
                "SYSTEMROOT",
                "SYSTEMDRIVE",
                "WINDIR",
                "COMSPEC",
                "PATHEXT",
                "TEMP",
                "TMP",
                "PROGRAMFILES",
            )
            values = {name: os.environ[name] for name in kept if name in os.environ}
            return values | {
                "USERPROFILE": str(self.home),
                "LOCALAPPDATA": str(self.home / "AppData" / "Local"),
                "PATH": os.path.join(values.get("SYSTEMROOT", r"C:\Windows"), "System32"),
            }
        return {
            "HOME": str(self.home),
            "PATH": str(self.home / "tools"),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "LANG": "C.UTF-8",
        }

    def run(self, *arguments: str, stdin: bytes = b"", extra: Mapping[str, str] | None = None) -> str:
        """Run the program; its output. Raises UserError when it fails, with what it said."""
        try:
            done = subprocess.run(
                [str(self.program), *arguments],
                env=self.environment() | dict(extra or {}),
                cwd=self.home,
                input=stdin,
                capture_output=True,
                timeout=STEP_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise UserError(f"ways {' '.join(arguments)} did not end in {STEP_SECONDS:g} s") from error
        if done.returncode != 0:
            said = (done.stdout + done.stderr).decode("utf-8", "replace")[-3000:]
            raise UserError(f"ways {' '.join(arguments)} ended with {done.returncode}:\n{said}")
        return done.stdout.decode("utf-8")

    def debug_log(self) -> str:
        """The debug log of the hooks, "" when there is none."""
        path = Path(core_roots.resolve(self.environment()).state) / "debug.log"
        return path.read_text("utf-8") if path.exists() else ""


def install(packed: Path, home: Path) -> Place:
    """The archive laid out in the app root of an empty `home`, as the installer leaves it."""
    place = Place(home)
    home.mkdir(parents=True, exist_ok=True)
    if sys.platform != "win32":
        (home / "run").mkdir(mode=0o700)
        (home / "tools").mkdir()
        for name in TOOLS:
            if found := shutil.which(name):
                (home / "tools" / name).symlink_to(found)
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=home) as folder:
        content = archive.unpack(packed, Path(folder))
        roots = core_roots.resolve(place.environment())
        stage.stage(RealSystem(), roots, _version(content, roots.app))
    return place


def _version(content: Path, app: str) -> stage.Version:
    """The unpacked bundle as a version to stage."""
    name = str(json.loads((content / bundle.RELEASE).read_text("utf-8"))["version"])
    manifest = payload_manifest.from_json(
        (content / payload_manifest.NAME).read_bytes(), payload_manifest.NAME
    )
    listed = manifest.plus([payload_manifest.shipped_file(str(content), payload_manifest.NAME)])
    files = tuple(stage.Staged(file, str(content / file.path)) for file in listed.files)
    return stage.Version(name, os.path.join(app, stage.VERSIONS, name), files, ())


def run(packed: Path) -> None:
    """Every check, one line each. Raises UserError at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="ways selftest é ", ignore_cleanup_errors=True) as folder:
        place = install(packed, Path(folder) / "home")
        for name, check in CHECKS:
            started = time.monotonic()
            check(place)
            print(f"  {name}: {time.monotonic() - started:.1f} s", flush=True)
    print("the frozen program works", flush=True)


def check_no_python(place: Place) -> None:
    """The PATH that the program gets leads to no Python."""
    for name in ("python", "python3", "python.exe", "py.exe"):
        if found := shutil.which(name, path=place.environment()["PATH"]):
            raise UserError(f"the trial would find a Python: {found}")


def check_version(place: Place) -> None:
    """The program starts and knows its own version, commit and kind."""
    place.run("--noop")
    told = json.loads(place.run("--version", "--json"))
    release = json.loads((place.app / "current" / bundle.RELEASE).read_text("utf-8"))
    for name, wanted in (("version", release["version"]), ("commit", release["commit"]), ("build", "frozen")):
        if told[name] != wanted:
            raise UserError(f"--version says {name} {told[name]!r}, release.json {wanted!r}")


def check_target(place: Place) -> None:
    """A target is served, and a second reconcile finds nothing to do."""
    place.run("target", "add", str(place.claude))
    place.run("reconcile")
    before = (place.claude / "settings.json").read_bytes()
    place.run("reconcile")
    if (place.claude / "settings.json").read_bytes() != before:
        raise UserError("a second reconcile changed settings.json")


def check_corpus(place: Place) -> None:
    """The engine and the model in the bundle embed the shipped ways."""
    place.run("corpus")
    told = json.loads(place.run("status", "--json"))
    if not told:
        raise UserError("status says nothing")


def check_hooks(place: Place) -> None:
    """A session through the commands in settings.json: it starts, shows what fits, and logs no fault."""
    project = place.home / "project"
    (project / ".git").mkdir(parents=True)
    start = play(place, project, "SessionStart", source="startup", model="claude-haiku-4-5")
    if "Available ways" not in start:
        raise UserError(f"the session's start showed no table of ways (a macro in Python): {start[:500]!r}")
    if "commit" not in play(place, project, "UserPromptSubmit", prompt=PROMPT).lower():
        raise UserError("a prompt about a commit showed nothing")
    play(place, project, "PreToolUse", tool_name="Bash", tool_input={"command": "git commit -m wip"})
    play(place, project, "PreToolUse", tool_name="Edit", tool_input={"file_path": str(project / ".env")})
    play(place, project, "Stop", last_assistant_message="Done.", stop_hook_active=False)
    if "Error" in place.debug_log() or "Traceback" in place.debug_log():
        raise UserError(f"a hook noted a fault:\n{place.debug_log()[-3000:]}")


def play(place: Place, project: Path, event: str, **fields: Any) -> str:
    """Run the hooks of one event as Claude Code does; the context that they add. Raises UserError for a
    hook that fails or says what is no answer."""
    from ways.cli.hook_player import Player

    player = Player(str(place.claude), str(project), place.environment())
    payload = {
        "session_id": "11111111-2222-4333-8444-555555555555",
        "transcript_path": str(project / "none.jsonl"),
        "cwd": str(project),
        "hook_event_name": event,
        **fields,
    }
    found = []
    for outcome in player.play(payload):
        if outcome.problem or outcome.stderr:
            raise UserError(f"{event}: {outcome.handler.label} {outcome.problem} {outcome.stderr!r}")
        found.append(outcome.context)
    return "\n\n".join(text for text in found if text)


def check_doctor(place: Place) -> None:
    """Doctor finds nothing to fix."""
    told = json.loads(place.run("doctor", "--offline", "--json"))
    if not told["ok"]:
        raise UserError(f"doctor: {[one for one in told['findings'] if one['state'] == 'fault']}")


def check_demo(place: Place) -> None:
    """The demo shows something and ends well."""
    place.run("demo", "--target", str(place.claude))


CHECKS = (
    ("no Python on the PATH", check_no_python),
    ("version", check_version),
    ("target and reconcile", check_target),
    ("corpus", check_corpus),
    ("hooks", check_hooks),
    ("doctor", check_doctor),
    ("demo", check_demo),
)


def main(argv: list[str] | None = None) -> int:
    """The command `python build/selftest.py`."""
    parser = argparse.ArgumentParser(description="Try the frozen program out.")
    parser.add_argument("archive", type=Path)
    options = parser.parse_args(argv)
    try:
        run(options.archive)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
