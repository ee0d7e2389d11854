"""What of the user's was put aside in the state root, and how it comes back (spec: projection).

`{state}/backups/<key>/<utc>/` holds what `--force` moved out of the way, `{state}/kept/<key>/<utc>/`
copies of ours that the user had edited. Each has its path inside the target, and `index.json` beside
it names where it came from with its hash. The index is written before the move, so a crash between
the two leaves a line without a file, which means nothing.

Never inside a target: a copy below `skills/` would load as a skill (case s09).
"""

from __future__ import annotations

import hashlib
import json
import os

from projection.system import System
from ways.core import clock
from ways.core.record import record
from ways.core.roots import Roots

INDEX = "index.json"
FORCED = "backups"
EDITED = "kept"
CONTENT = "files"


@record
class PutAside:
    """One thing put aside: where it stood (absolute), where it is, and the hash of its content."""

    origin: str
    place: str
    sha256: str


def next_folder(system: System, roots: Roots, kind: str, key: str) -> str:
    """A folder for this run's things, named by UTC time, that does not exist yet."""
    base = os.path.join(roots.state, kind, key)
    stamp = clock.utc_stamp()
    name, count = stamp, 1
    while system.kind(os.path.join(base, name)):
        count += 1
        name = f"{stamp}-{count}"
    return os.path.join(base, name)


def put_aside(system: System, folder: str, path: str, inside: str) -> PutAside:
    """Move `path` (with all in it) into `folder` under its name inside the target. Raises OSError."""
    row = _announce(system, folder, path, inside)
    system.move(path, row.place)
    return row


def keep_copy(system: System, folder: str, path: str, inside: str) -> PutAside:
    """As put_aside for one file, which stays where it is until something replaces it."""
    row = _announce(system, folder, path, inside)
    system.copy(path, row.place)
    return row


def _announce(system: System, folder: str, path: str, inside: str) -> PutAside:
    """Write the index line of what is about to be put aside, and make its folder."""
    place = os.path.join(folder, CONTENT, *inside.split("/"))
    row = PutAside(path, place, tree_hash(system, path))
    system.make_folders(os.path.dirname(place), 0o700)
    rows = [known for known in index(system, folder) if known.place != place]
    data = json.dumps([vars(known) for known in [*rows, row]], indent=1, ensure_ascii=False)
    system.write_atomic(
        os.path.join(folder, INDEX), (data + "\n").encode("utf-8", "surrogateescape"), 0o600, durable=True
    )
    return row


def index(system: System, folder: str) -> list[PutAside]:
    """What a folder's index says; an index that is missing or damaged says nothing."""
    try:
        rows = json.loads(system.read_bytes(os.path.join(folder, INDEX)))
        return [PutAside(str(r["origin"]), str(r["place"]), str(r["sha256"])) for r in rows]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def forced(system: System, roots: Roots, key: str) -> list[PutAside]:
    """What `--force` has put aside for this target and is still there, the newest first."""
    base = os.path.join(roots.state, FORCED, key)
    if system.kind(base) != "folder":
        return []
    found = [row for name in reversed(system.names(base)) for row in index(system, os.path.join(base, name))]
    return [row for row in found if system.kind(row.place)]


def put_back(system: System, roots: Roots, row: PutAside) -> None:
    """Move one thing back to its free place, and drop the folders that this empties. Raises OSError."""
    system.make_folders(os.path.dirname(row.origin))
    system.move(row.place, row.origin)
    _drop_empty(system, os.path.dirname(row.place), os.path.join(roots.state, FORCED))


def _drop_empty(system: System, folder: str, top: str) -> None:
    """Remove folders from `folder` upwards while they hold nothing (or nothing but their index)."""
    while folder != top and folder.startswith(top + os.sep):
        names = system.names(folder)
        if names == [INDEX]:
            system.remove(os.path.join(folder, INDEX))
            names = []
        if names:
            return
        system.rmdir(folder)
        folder = os.path.dirname(folder)


def tree_hash(system: System, path: str) -> str:
    """SHA-256 of a file's content, of where a link points, or of a folder's whole tree (names, kinds,
    modes, contents). Raises OSError."""
    found = system.info(path)
    digest = hashlib.sha256()
    if found is None:
        digest.update(b"absent")
    elif found.kind in {"link", "junction"}:
        digest.update(b"link\0" + os.fsencode(system.read_link(path)))
    elif found.kind == "file":
        return system.sha256(path)
    elif found.kind == "folder":
        for name in system.names(path):
            child = os.path.join(path, name)
            about = system.info(child)
            mode = about.mode if about else 0
            digest.update(os.fsencode(name) + b"\0" + f"{mode:o}".encode() + b"\0")
            digest.update(tree_hash(system, child).encode())
    else:
        digest.update(b"other")
    return digest.hexdigest()
