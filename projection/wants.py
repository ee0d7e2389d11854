"""What a target should hold, entry by entry, in a given mode and on a given platform (spec: projection).

Link mode: one link a projected root, through the app's stable names (`hooks`, `skills`, …), so that
one switch of `current` moves every target. Copy mode: one copy a file, and a shim for each program.
Windows keeps no program in a target: its hook commands name the app's own executable.
"""

from __future__ import annotations

import hashlib
import os
from typing import Literal

from projection.manifest import ProjectedRoot, projected_roots
from projection.payload_manifest import PayloadManifest
from projection.records import COPY, JUNCTION, LINK, SHIM
from ways.core.record import record

Mode = Literal["link", "copy"]
MODES: tuple[Mode, ...] = ("link", "copy")


@record
class App:
    """The app as the projection sees it: `root` with its stable names, `content` the folder that holds
    the shipped files now (the active version), what it ships, and its version. `linked` is False on a
    Windows volume without junctions: there are no stable names then."""

    root: str
    content: str
    payload: PayloadManifest
    version: str
    linked: bool = True

    def stable(self, path: str) -> str:
        """The stable name of a shipped path: what a target links to. Without such names the file itself."""
        return os.path.join(self.root, *path.split("/")) if self.linked else self.file(path)

    def file(self, path: str) -> str:
        """Where the file itself lies."""
        return os.path.join(self.content, *path.split("/"))


@record
class Want:
    """One thing that should be in a target. `path` is relative with `/`; `root` is the projected root
    that it belongs to; `source` is what a link points to or a copy is made from; a shim carries its
    `data`. `sha256` is that of the file's content, "" for a folder."""

    path: str
    root: str
    kind: str
    source: str
    sha256: str = ""
    mode: int = 0o644
    data: bytes = b""


def wanted(app: App, mode: Mode, platform: str) -> dict[str, tuple[Want, ...]]:
    """The wants by projected root."""
    roots = projected_roots(app.payload)
    if platform == "windows":
        roots = tuple(root for root in roots if root.kind != "program")
    if mode == "copy":
        return {root.path: _copies(app, root) for root in roots}
    return {root.path: (_link(app, root, platform),) for root in roots}


def _link(app: App, root: ProjectedRoot, platform: str) -> Want:
    if root.kind == "folder":
        kind = JUNCTION if platform == "windows" else LINK
        return Want(root.path, root.path, kind, app.stable(root.path))
    file = root.files[0]
    return Want(root.path, root.path, LINK, app.stable(root.path), file.sha256, file.mode)


def _copies(app: App, root: ProjectedRoot) -> tuple[Want, ...]:
    if root.kind == "program":
        data = shim(app.stable(root.path))
        sha256 = hashlib.sha256(data).hexdigest()
        return (Want(root.path, root.path, SHIM, app.stable(root.path), sha256, 0o755, data),)
    return tuple(Want(f.path, root.path, COPY, app.file(f.path), f.sha256, f.mode) for f in root.files)


def shim(program: str) -> bytes:
    """A POSIX script that runs the app's program in its own place."""
    quoted = "'" + program.replace("'", "'\\''") + "'"
    text = f'#!/bin/sh\n# Runs the app\'s own program; written by ways reconcile.\nexec {quoted} "$@"\n'
    return text.encode("utf-8", "surrogateescape")
