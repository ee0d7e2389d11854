"""Where the merge base of one target is kept, and how it survives a crash.

`settings-base.json` is saved only after the settings file has been written and checked. Just before
the write, `settings-pending.json` says what is about to be true; after a crash the content of the
settings file tells which of the two holds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from projection.claude_settings import base as bases
from projection.claude_settings.base import Base
from projection.claude_settings.ownership import entries_of
from projection.claude_settings.text import Plain
from projection.system import System

BASE = "settings-base.json"
PENDING = "settings-pending.json"


@dataclass(frozen=True)
class Known:
    """The base that holds for a file's content. `tidy` is False when the files should be rewritten to
    say so; `damaged` names a base file that could not be understood, "" when there is none."""

    base: Base | None
    tidy: bool
    damaged: str


def digest(content: bytes | None) -> str:
    """The SHA-256 of a file's content, "absent" when there is no file."""
    return "absent" if content is None else hashlib.sha256(content).hexdigest()


def load(system: System, folder: str, target: str, content: bytes | None, document: Plain) -> Known:
    """The base that holds for this content of the target's settings file."""
    path = os.path.join(folder, BASE)
    stored = _read(system, path)
    base = bases.from_bytes(stored, target) if stored is not None else None
    damaged = path if stored is not None and base is None else ""
    pending = _pending(system, folder)
    if pending is None:
        tidy = not damaged and _read(system, os.path.join(folder, PENDING)) is None
        return Known(base, tidy, damaged)
    announced = bases.unsealed(pending.get("base"), target)
    if digest(content) == pending.get("after"):
        return Known(announced, False, damaged)
    unwritten = digest(content) == pending.get("before")
    if not unwritten and announced is not None and _holds(document, announced):
        return Known(announced, False, damaged)
    return Known(base, False, damaged)


def announce(
    system: System, folder: str, base: Base | None, before: bytes | None, after: bytes | None
) -> None:
    """Say what is about to be written. Raises OSError."""
    note = {
        "base": bases.sealed(base) if base else None,
        "before": digest(before),
        "after": digest(after),
    }
    _write(system, os.path.join(folder, PENDING), (json.dumps(note) + "\n").encode("ascii"))


def save(system: System, folder: str, base: Base | None) -> None:
    """Make `base` the one that holds (None: forget). Writes only what differs. Raises OSError."""
    path = os.path.join(folder, BASE)
    stored = _read(system, path)
    if base is None:
        if system.kind(path):
            system.remove(path)
    elif stored is None or not base.says_the_same(bases.from_bytes(stored, base.target)):
        _write(system, path, bases.to_bytes(base))
    pending = os.path.join(folder, PENDING)
    if system.kind(pending):
        system.remove(pending)


def _holds(document: Plain, announced: Base) -> bool:
    """Whether the file, which somebody changed since, has everything that was announced."""
    present = {entry.identity for entry in entries_of(document)}
    if any(entry.identity not in present for entry in announced.hooks):
        return False
    permissions = document.get("permissions") if isinstance(document, dict) else None
    for name, listed in announced.permissions.items():
        there = permissions.get(name) if isinstance(permissions, dict) else None
        if any(entry not in (there if isinstance(there, list) else []) for entry in listed.written):
            return False
    return True


def _pending(system: System, folder: str) -> Mapping[str, Any] | None:
    stored = _read(system, os.path.join(folder, PENDING))
    if stored is None:
        return None
    try:
        note = json.loads(stored)
    except ValueError:
        return None
    return note if isinstance(note, dict) else None


def _read(system: System, path: str) -> bytes | None:
    found = system.info(path)
    return system.read_bytes(path) if found and found.kind == "file" else None


def _write(system: System, path: str, data: bytes) -> None:
    system.make_folders(os.path.dirname(path), 0o700)
    system.write_atomic(path, data, 0o600, durable=True)
