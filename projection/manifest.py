"""The projected roots: which places in a target are ours (spec: projection, "Manifest").

Worked out from the payload manifest: `hooks/ways`, `hooks/check-config-updates.sh`, each entry of
`skills/`, `agents/` and `commands/`, and each program directly under `bin/`.
"""

from __future__ import annotations

from typing import Literal

from projection.payload_manifest import PayloadManifest, ShippedFile
from ways.core.record import record

RootKind = Literal["folder", "file", "program"]

WHOLE = ("hooks/ways", "hooks/check-config-updates.sh")
ENTRY_BY_ENTRY = ("skills", "agents", "commands")
PROGRAMS = "bin"


@record
class ProjectedRoot:
    """One place: `path` in the target and in the app alike (with `/`), and the files behind it."""

    path: str
    kind: RootKind
    files: tuple[ShippedFile, ...]


def projected_roots(payload: PayloadManifest) -> tuple[ProjectedRoot, ...]:
    """The roots that this payload has, sorted by path. A root without files does not exist."""
    paths = [path for path in WHOLE if payload.below(path)]
    for folder in ENTRY_BY_ENTRY:
        entries = {f.path.split("/")[1] for f in payload.below(folder)}
        paths += [f"{folder}/{name}" for name in entries]
    paths += [f.path for f in payload.below(PROGRAMS) if f.path.count("/") == 1 and f.executable]
    return tuple(_root(payload, path) for path in sorted(paths))


def _root(payload: PayloadManifest, path: str) -> ProjectedRoot:
    files = payload.below(path)
    if files[0].path != path:
        return ProjectedRoot(path, "folder", files)
    return ProjectedRoot(path, "program" if path.startswith(f"{PROGRAMS}/") else "file", files)
