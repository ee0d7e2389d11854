"""Byte copies of a settings file, taken before each write (spec: projection, "Writing").

In the target's state folder, never in the target: `original.json` is the first one and stays for
good, later ones are `<utc>-<n>.json`, of which the newest ROTATION stay. Each has its SHA-256
beside it. `original.absent` says that there was no file when we first wrote one.
"""

from __future__ import annotations

import hashlib
import os
import re

from projection.system import System
from ways.core import clock

FOLDER = "settings-backups"
ORIGINAL = "original.json"
ABSENT = "original.absent"
SIDECAR = ".sha256"
ROTATION = 5

_LATER = re.compile(r"\d{8}T\d{6}Z-(\d+)\.json")


def back_up(system: System, folder: str, content: bytes | None, mode: int) -> str:
    """Keep a copy of `content` (None: note that there was no file) unless the original or the newest
    copy is the same.

    `mode` is the original's; the copy is for its owner alone and no wider. Returns the copy's path,
    "" for none. Raises OSError.
    """
    if content is None:
        if not _has_original(system, folder):
            system.make_folders(folder, 0o700)
            system.write_atomic(os.path.join(folder, ABSENT), b"", 0o600)
        return ""
    system.make_folders(folder, 0o700)
    if not _has_original(system, folder):
        return _keep(system, os.path.join(folder, ORIGINAL), content, mode)
    later = _later(system, folder)
    for name in (ORIGINAL, *later[-1:]):
        if _holds(system, os.path.join(folder, name), content):
            return os.path.join(folder, name)
    number = _number(later[-1]) + 1 if later else 1
    path = os.path.join(folder, f"{clock.utc_stamp()}-{number:06d}.json")
    _keep(system, path, content, mode)
    for name in [*later, os.path.basename(path)][:-ROTATION]:
        system.remove(os.path.join(folder, name))
        if system.kind(os.path.join(folder, name + SIDECAR)):
            system.remove(os.path.join(folder, name + SIDECAR))
    return path


def intact(system: System, path: str) -> bool:
    """Whether a copy still has the hash that was noted when it was taken."""
    noted = system.read_bytes(path + SIDECAR).split(b" ")[0].decode("ascii", "replace")
    return system.sha256(path) == noted


def _has_original(system: System, folder: str) -> bool:
    return any(system.kind(os.path.join(folder, name)) for name in (ORIGINAL, ABSENT))


def _holds(system: System, path: str, content: bytes) -> bool:
    """Whether a complete copy holds just this content."""
    complete = system.kind(path) and system.kind(path + SIDECAR)
    return bool(complete) and system.read_bytes(path) == content


def _keep(system: System, path: str, content: bytes, mode: int) -> str:
    # The hash first: a copy without one would otherwise be what a crash leaves behind.
    noted = f"{hashlib.sha256(content).hexdigest()}  {os.path.basename(path)}\n".encode("ascii")
    system.write_atomic(path + SIDECAR, noted, 0o600)
    system.write_atomic(path, content, mode & 0o600 or 0o400, durable=True)
    return path


def _later(system: System, folder: str) -> list[str]:
    found = [name for name in system.names(folder) if _LATER.fullmatch(name)]
    return sorted(found, key=_number)


def _number(name: str) -> int:
    found = _LATER.fullmatch(name)
    return int(found.group(1)) if found else 0
