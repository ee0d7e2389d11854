"""The versions in the app root: which there are, which one runs, and how that is changed (spec: roots).

`versions/<version>/` is never changed once it is there. `current` names the active one and `previous` the
one before it; switching renames a new link over the old one, so there is always exactly one. A version
goes when it is neither, and no process holds its lock.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from installer.stage import CURRENT, PREVIOUS, STABLE_NAMES, VERSIONS
from projection import payload_manifest
from projection.scraps import other_process_runs
from projection.system import System
from ways.core import active, in_use
from ways.core.active import NAME_SUFFIX
from ways.core.errors import REFUSED, WRONG, UserError
from ways.core.files import TEMPORARY_MARK
from ways.core.roots import Roots
from windows.junctions import NoJunctions

# Windows keeps the active version's name in a file too, `current.txt`: a junction cannot be renamed over
# another. On a volume without junctions the files (then also `previous.txt`) are all there is.
NAME_FILES = (CURRENT + NAME_SUFFIX, PREVIOUS + NAME_SUFFIX)
# What `ways` starts there: the folder on the PATH holds this instead of the program.
COMMAND_NAME = "ways.cmd"
COMMAND = (
    b"@echo off\r\n"
    b"rem Starts the active version of ways; this volume takes no junctions.\r\n"
    b"setlocal\r\n"
    b'set /p ways_active=<"%~dp0..\\current.txt"\r\n'
    b'"%~dp0..\\versions\\%ways_active%\\bin\\ways.exe" %*\r\n'
    b"exit /b %ERRORLEVEL%\r\n"
)
STAGING, PROBE, REMOVING = "staging", "probe", "removing"
_TEMPORARY = re.compile(rf"^\.({STAGING}|{PROBE}|{REMOVING})-.+-(\d+)$")
_NAME = re.compile(r"[0-9][0-9A-Za-z.+_-]{0,63}")
_RELEASE = re.compile(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:[-.]?(dev|alpha|a|beta|b|rc)[-.]?(\d{0,9}))?")
_STAGES = {"dev": 0, "alpha": 1, "a": 1, "beta": 2, "b": 2, "rc": 3}
_FINAL = 4

Order = tuple[int, int, int, int, int]


@dataclass(frozen=True)
class Installed:
    """The names of the active version, the one before it ("" when there is none), and of all, sorted."""

    current: str
    previous: str
    names: tuple[str, ...]


def checked_name(version: str) -> str:
    """A version that may name a folder. Raises UserError for anything else."""
    if not _NAME.fullmatch(version) or version.endswith("."):
        raise UserError(f"{version!r} is not a version like 1.2.3", "ways update --check")
    return version


def order(version: str) -> Order | None:
    """The place of a version among others, None for one that is no release's (a source install's)."""
    found = _RELEASE.fullmatch(version)
    if found is None:
        return None
    stage = _STAGES[found[4]] if found[4] else _FINAL
    return int(found[1]), int(found[2]), int(found[3]), stage, int(found[5] or 0)


def is_final(version: str) -> bool:
    """True for a version of the stable channel: one without alpha, beta or rc."""
    found = order(version)
    return found is not None and found[3] == _FINAL


def folder(roots: Roots, version: str) -> str:
    """Where a version lies."""
    return os.path.join(roots.app, VERSIONS, version)


def program(content: str) -> str:
    """The program in a version's folder or, through the stable names, in the app root."""
    return active.program(content)


def look(system: System, roots: Roots) -> Installed:
    """What is installed. Raises OSError."""
    versions = os.path.join(roots.app, VERSIONS)
    names = system.names(versions) if system.kind(versions) == "folder" else []
    found = tuple(name for name in names if _NAME.fullmatch(name))
    return Installed(_pointed(system, roots, CURRENT), _pointed(system, roots, PREVIOUS), found)


def _pointed(system: System, roots: Roots, link: str) -> str:
    path = os.path.join(roots.app, link)
    if system.kind(path) in {"link", "junction"}:
        return os.path.basename(system.read_link(path).replace("\\", "/").rstrip("/"))
    named = path + NAME_SUFFIX
    if system.kind(named) == "file":
        return system.read_bytes(named, 256).decode("ascii", "replace").strip()
    return ""


def check_places(system: System, roots: Roots) -> None:
    """Raises UserError (exit 3) when a place in the app root holds something that is not a link of ours."""
    for name in (CURRENT, PREVIOUS, *STABLE_NAMES):
        path = os.path.join(roots.app, name)
        if system.kind(path) not in {None, "link", "junction"} and not _is_command_folder(system, path):
            what = f"{path} is in the way: ways keeps a link of its own there"
            raise UserError(what, f"move {path} away", REFUSED)


def point(system: System, roots: Roots, link: str, version: str) -> None:
    """Make `current` or `previous` name a version, or nothing ("", for `previous` only)."""
    path = os.path.join(roots.app, link)
    if not version:
        for place in (path, path + NAME_SUFFIX):
            if system.kind(place):
                system.remove(place)
    elif os.name == "nt":
        if link == CURRENT:
            system.write_atomic(path + NAME_SUFFIX, f"{version}\n".encode("ascii"))
        try:
            system.junction(folder(roots, version), path)
        except NoJunctions:
            system.write_atomic(path + NAME_SUFFIX, f"{version}\n".encode("ascii"))
    else:
        wanted = f"{VERSIONS}/{version}"
        if system.kind(path) is None or system.read_link(path) != wanted:
            system.symlink(wanted, path, folder=True)


def place_stable_names(system: System, roots: Roots) -> None:
    """The names in the app root that lead through `current` to whatever version is active."""
    if os.name == "nt" and system.kind(os.path.join(roots.app, CURRENT)) is None:
        _place_command(system, roots)
        return
    for name in STABLE_NAMES:
        path = os.path.join(roots.app, name)
        if os.name == "nt":
            # A file cannot be a junction; Windows reads settings.json through `current`.
            if name != "settings.json" and system.kind(path) is None:
                system.junction(os.path.join(roots.app, CURRENT, name), path)
            continue
        wanted = f"{CURRENT}/{name}"
        if system.kind(path) is None or system.read_link(path) != wanted:
            system.symlink(wanted, path, folder=True)


def _place_command(system: System, roots: Roots) -> None:
    """Without junctions: `ways` for the PATH. It never changes, so it may run while a version is switched."""
    bin_folder = os.path.join(roots.app, "bin")
    path = os.path.join(bin_folder, COMMAND_NAME)
    if system.kind(bin_folder) is None:
        system.mkdir(bin_folder)
    if not system.exists(path) or system.read_bytes(path) != COMMAND:
        system.write_atomic(path, COMMAND, 0o755)


def _is_command_folder(system: System, path: str) -> bool:
    return (
        os.name == "nt"
        and os.path.basename(path) == "bin"
        and system.kind(path) == "folder"
        and system.names(path) == [COMMAND_NAME]
    )


def damage(system: System, content: str) -> str:
    """Why a version's folder is not whole, "" when every shipped file is there as it was shipped."""
    path = os.path.join(content, payload_manifest.NAME)
    if not system.exists(path):
        return f"{path} is missing"
    try:
        listed = payload_manifest.from_json(system.read_bytes(path), path)
    except UserError as error:
        return error.message
    for file in listed.files:
        place = os.path.join(content, *file.path.split("/"))
        found = system.info(place)
        if found is None or found.kind != "file":
            return f"{place} is missing"
        if found.size != file.size or system.sha256(place) != file.sha256:
            return f"{place} is not as it was shipped"
        if os.name != "nt" and bool(found.mode & 0o100) != file.executable:
            return f"{place} has the wrong mode"
    return ""


def longest_path(system: System, content: str) -> int:
    """The length of the longest path inside a version's folder, 0 when its manifest cannot be read."""
    path = os.path.join(content, payload_manifest.NAME)
    try:
        listed = payload_manifest.from_json(system.read_bytes(path), path)
    except (OSError, UserError):
        return 0
    return max((len(file.path) for file in listed.files), default=0)


def sweep(system: System, roots: Roots) -> None:
    """Remove what a killed run left in the app root. Call it under the update lock. Raises OSError.

    The number at a name's end is the process that made it: the installer's script holds no lock.
    """
    versions = os.path.join(roots.app, VERSIONS)
    if system.kind(versions) == "folder":
        for name in system.names(versions):
            found = _TEMPORARY.match(name)
            if found is not None and not other_process_runs(int(found[2])):
                system.remove_tree(os.path.join(versions, name))
    if system.kind(roots.app) == "folder":
        for name in system.names(roots.app):
            if any(
                name.startswith(f".{known}{TEMPORARY_MARK}") for known in (CURRENT, PREVIOUS, *STABLE_NAMES)
            ):
                system.remove(os.path.join(roots.app, name))


def prune(system: System, roots: Roots) -> tuple[str, ...]:
    """Remove the versions that are neither current nor previous and that nobody runs; those kept because
    somebody does. Raises OSError."""
    installed = look(system, roots)
    kept: list[str] = []
    for name in installed.names:
        if name in {installed.current, installed.previous}:
            continue
        with claimed(system, folder(roots, name)) as free:
            try:
                if free:
                    remove_version(system, roots, name)
            except PermissionError:
                free = False  # Windows: a process runs from it
            if not free:
                kept.append(name)
    return tuple(kept)


def remove_version(system: System, roots: Roots, name: str) -> None:
    """Out of the way in one step first, so that no half version is ever seen."""
    aside = os.path.join(roots.app, VERSIONS, f".{REMOVING}-{name}-{os.getpid()}")
    system.rename(folder(roots, name), aside)
    system.remove_tree(aside)


@contextmanager
def claimed(system: System, content: str) -> Iterator[bool]:
    """Holds the exclusive lock of a version's folder inside the block; False when a process runs from it,
    or when that cannot be told. (On Windows renaming the folder fails while one runs; True here.)"""
    if os.name == "nt" or not system.changes_disk:
        yield True
        return
    import fcntl

    try:
        descriptor = os.open(os.path.join(content, in_use.NAME), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except OSError:
            free = False
        yield free
    finally:
        os.close(descriptor)


def release_facts(system: System, content: str) -> dict[str, object]:
    """What `release.json` in a version's folder says, empty when there is none or it is damaged."""
    import json

    path = os.path.join(content, "release.json")
    try:
        found = json.loads(system.read_bytes(path, 1 << 16))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def need_installed(system: System, roots: Roots) -> Installed:
    """As look, with an active version. Raises UserError when none is installed."""
    found = look(system, roots)
    if not found.current:
        raise UserError(f"{roots.app} holds no installed version", "run the ways installer", WRONG)
    return found
