"""What we materialised in each target: `{state}/projection/<key>/record.json` (spec: projection).

The record is written twice in a run that changes something: before the first change, with what is
about to be made (`intended`), and after the last with what is there. A process that dies between the
two leaves a record from which the next run tells what is ours, so the record is the journal too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from projection.system import System
from ways.core.record import record
from ways.core.roots import Roots

NAME = "record.json"
SCHEMA = 1

LINK = "link"
JUNCTION = "junction"
HARD_LINK = "hard link"
COPY = "copy"
SHIM = "shim"
LINKS = frozenset({LINK, JUNCTION})


@record
class Entry:
    """One thing of ours in a target: `path` relative with `/`; `kind` as above; `target` is where a
    link points; `hashes` are the SHA-256 that a copy of ours may have (two while one is replaced)."""

    path: str
    kind: str
    target: str = ""
    hashes: tuple[str, ...] = ()


@record
class Record:
    """`entries` by path; `folders` are those that we made, absolute; `phase` is `applying` from the
    first change of a run to its end; `version` is the release that wrote it."""

    key: str
    path: str
    folder: str
    mode: str = "link"
    version: str = ""
    phase: str = "done"
    entries: Mapping[str, Entry] = MappingProxyType({})
    folders: tuple[str, ...] = ()


def records_folder(roots: Roots) -> str:
    """Where all targets' records live."""
    return os.path.join(roots.state, "projection")


def target_state(roots: Roots, key: str) -> str:
    """The folder of one target's record and merge base."""
    return os.path.join(records_folder(roots), key)


def load(system: System, roots: Roots, key: str) -> Record | None:
    """The record of a target, None when there is none or it cannot be understood.

    A damaged record is treated as lost: links are known by where they point, and anything else is
    then taken to be the user's, which costs a refusal and never a file.
    """
    path = os.path.join(target_state(roots, key), NAME)
    try:
        return _parse(json.loads(system.read_bytes(path)))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load_all(system: System, roots: Roots) -> dict[str, Record]:
    """Every target's record by key."""
    try:
        keys = system.names(records_folder(roots))
    except OSError:
        return {}
    found = {key: load(system, roots, key) for key in keys}
    return {key: known for key, known in found.items() if known is not None}


def save(system: System, roots: Roots, written: Record) -> None:
    """Write the record unless the file holds just that already. Raises OSError."""
    folder = target_state(roots, written.key)
    path = os.path.join(folder, NAME)
    data = _to_json(written)
    if system.exists(path) and system.read_bytes(path) == data:
        return
    system.make_folders(folder, 0o700)
    system.write_atomic(path, data, 0o600, durable=True)


def forget(system: System, roots: Roots, key: str) -> None:
    """Remove the record, and its folder when nothing else is in it. Raises OSError."""
    folder = target_state(roots, key)
    path = os.path.join(folder, NAME)
    if system.kind(path):
        system.remove(path)
    if system.kind(folder) == "folder" and not system.names(folder):
        system.rmdir(folder)


def _to_json(written: Record) -> bytes:
    """Always the same bytes for the same record, so that a run without changes writes nothing."""
    entries = [
        {"path": entry.path, "kind": entry.kind, "target": entry.target, "hashes": list(entry.hashes)}
        for _, entry in sorted(written.entries.items())
    ]
    document = {
        "schema": SCHEMA,
        "key": written.key,
        "path": written.path,
        "folder": written.folder,
        "mode": written.mode,
        "version": written.version,
        "phase": written.phase,
        "entries": entries,
        "folders": list(written.folders),
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")


def _parse(data: Any) -> Record:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']}")
    entries = [
        Entry(str(e["path"]), str(e["kind"]), str(e["target"]), tuple(str(h) for h in e["hashes"]))
        for e in data["entries"]
    ]
    for entry in entries:
        if any(part in {"", ".", ".."} for part in entry.path.split("/")):
            raise ValueError(f"not a path inside the target: {entry.path}")
    return Record(
        key=str(data["key"]),
        path=str(data["path"]),
        folder=str(data["folder"]),
        mode=str(data["mode"]),
        version=str(data["version"]),
        phase=str(data["phase"]),
        entries={entry.path: entry for entry in entries},
        folders=tuple(str(folder) for folder in data["folders"]),
    )
