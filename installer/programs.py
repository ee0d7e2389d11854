"""Running the programs of installed versions: what they report, and whether a new one works at all."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from installer import versions
from installer.stage import CURRENT, STABLE_NAMES, VERSIONS
from projection import payload_manifest
from projection.system import System
from ways.core.active import NAME_SUFFIX
from ways.core.environment import child_environment
from ways.core.roots import Roots
from windows.junctions import NoJunctions

VERSION_SECONDS = 30.0
PROBE_SECONDS = 120.0
BACKGROUND_SECONDS = 30.0
RECONCILE_SECONDS = 300.0
# What would lead a probe to the user's files instead of its own empty home.
_ROOT_VARIABLES = (
    *("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"),
    *("CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR", "WAYS_TARGET", "WAYS_APP_ROOT", "WAYS_CONFIG_ROOT"),
    *("WAYS_STATE_ROOT", "WAYS_CACHE_ROOT", "WAYS_SESSIONS_ROOT", "HOMEDRIVE", "HOMEPATH"),
)


@dataclass(frozen=True)
class Ran:
    """How a program ended: its exit code (None: it could not be started or was ended for want of time),
    its output, and its last line of complaint."""

    code: int | None
    output: str
    complaint: str


def run(program: str, arguments: list[str], seconds: float, environ: Mapping[str, str] | None = None) -> Ran:
    """Run a program to its end, with the user's environment and without input."""
    try:
        done = subprocess.run(
            [program, *arguments],
            env=dict(child_environment(environ)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Ran(None, "", f"it did not end within {seconds:g} seconds")
    except OSError as error:
        return Ran(None, "", f"it cannot be started: {error.strerror or error}")
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    complaint = lines[-1][:500] if lines else ""
    if done.returncode < 0:
        complaint = complaint or f"it was ended by signal {-done.returncode}"
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), complaint)


def reported_version(program: str, environ: Mapping[str, str] | None = None) -> tuple[str, str]:
    """What `--version --json` of a program says, and why it says nothing (one of the two is "")."""
    ran = run(program, ["--version", "--json"], VERSION_SECONDS, environ)
    if ran.code != 0:
        return "", ran.complaint or f"it left with {ran.code}"
    try:
        return str(json.loads(ran.output)["version"]), ""
    except (ValueError, KeyError, TypeError):
        return "", "it does not tell its version"


def launched_path(environ: Mapping[str, str]) -> str:
    """The `ways` that the user's shell would start, "" when there is none on the PATH."""
    return shutil.which("ways", path=environ.get("PATH", "")) or ""


def probe(system: System, roots: Roots, content: str, version: str) -> str:
    """Try a staged version in an empty home of its own: why it does not work, "" when it does.

    It must tell its version, set itself up there and pass its own examination. What the user has (targets,
    settings, a shared cache) does not come into it: an update may be what mends that. Raises OSError.
    """
    program = versions.program(content)
    reported, why = reported_version(program)
    if reported != version:
        return why or f"it reports the version {reported}"
    home = os.path.join(roots.app, VERSIONS, f".{versions.PROBE}-{version}-{os.getpid()}")
    try:
        environ = _empty_home(system, home, content)
        through = versions.program(os.path.join(home, ".local", "share", "agent-ways"))
        if os.name == "nt":
            through = program
        set_up = run(through, ["reconcile", "--quiet"], PROBE_SECONDS, environ)
        if set_up.code != 0:
            return f"it cannot set itself up in an empty home: {set_up.complaint or set_up.code}"
        found = _examined(run(through, ["doctor", "--offline", "--json"], PROBE_SECONDS, environ))
        _wait_for_background(system, content)
        return found
    finally:
        if system.kind(home) == "folder":
            system.remove_tree(home)


def _wait_for_background(system: System, content: str) -> None:
    """Wait until what the probe's hooks started has ended: the folder is about to be renamed."""
    deadline = time.monotonic() + BACKGROUND_SECONDS
    while time.monotonic() < deadline:
        with versions.claimed(system, content) as free:
            if free:
                return
        time.sleep(0.1)


def _empty_home(system: System, home: str, content: str) -> dict[str, str]:
    """A home with nothing in it but the version to try; the environment that leads there."""
    environ = {name: value for name, value in os.environ.items() if name not in _ROOT_VARIABLES}
    environ["WAYS_PROBE"] = "1"
    if os.name == "nt":
        local = os.path.join(home, "AppData", "Local")
        app, config = os.path.join(local, "agent-ways", "app"), os.path.join(local, "agent-ways", "config")
        environ |= {"USERPROFILE": home, "LOCALAPPDATA": local}
    else:
        app = os.path.join(home, ".local", "share", "agent-ways")
        config = os.path.join(home, ".config", "agent-ways")
        environ |= {"HOME": home, "XDG_RUNTIME_DIR": os.path.join(home, "run")}
        system.make_folders(os.path.join(home, "run"), 0o700)
    # A program in its final place would take the app root around it for its own.
    environ["WAYS_APP_ROOT"] = app
    system.make_folders(app)
    system.make_folders(config)
    # Nothing that outlives the probe is started from a folder that is about to be renamed.
    system.write_atomic(os.path.join(config, "config.yaml"), b"engine:\n  resident: false\n", 0o600)
    if os.name == "nt":
        try:
            system.junction(content, os.path.join(app, CURRENT))
        except NoJunctions:
            _copy_version(system, app, content)
        return environ
    system.symlink(content, os.path.join(app, CURRENT), folder=True)
    for name in STABLE_NAMES:
        system.symlink(f"{CURRENT}/{name}", os.path.join(app, name), folder=True)
    return environ


def _copy_version(system: System, app: str, content: str) -> None:
    """Where no link can lead to the version: a copy of it, as the only one of its app root."""
    path = os.path.join(content, payload_manifest.NAME)
    listed = payload_manifest.from_json(system.read_bytes(path), path)
    facts = versions.release_facts(system, content)
    name = versions.checked_name(str(facts.get("version", "")))
    copy = os.path.join(app, VERSIONS, name)
    for inside in (*(file.path for file in listed.files), payload_manifest.NAME):
        place = os.path.join(copy, *inside.split("/"))
        system.make_folders(os.path.dirname(place))
        system.copy(os.path.join(content, *inside.split("/")), place)
    system.write_atomic(os.path.join(app, CURRENT + NAME_SUFFIX), f"{name}\n".encode("ascii"))


def _examined(ran: Ran) -> str:
    """What is wrong, from the output of `doctor --json`. Only a fault of the program or its hooks counts:
    without an engine, say on an old processor, patterns still work, as in the version before."""
    try:
        findings: list[dict[str, Any]] = json.loads(ran.output)["findings"]
        faults = [one for one in findings if one["state"] == "fault"]
        grave = [one for one in faults if one["subject"] == "app" or str(one["subject"]).startswith("hook")]
    except (ValueError, KeyError, TypeError):
        return f"its doctor does not work: {ran.complaint or ran.code}"
    return f"its doctor finds: {grave[0]['message']}" if grave else ""
