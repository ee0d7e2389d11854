"""`payload-manifest.json`: every file that a release ships (spec: projection, "Manifest").

Computed from a folder, never typed by hand. The build calls `compute` on the bundle, a source install
on its payload; both go through the same code, so the two lists cannot differ in kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator

from ways.core.errors import UserError
from ways.core.record import record

NAME = "payload-manifest.json"
_SKIPPED_FOLDERS = frozenset({"__pycache__", ".git"})
_SKIPPED_SUFFIXES = (".pyc", ".pyo", ".swp", "~")
_SKIPPED_NAMES = frozenset({NAME, ".DS_Store", "Thumbs.db", ".gitkeep"})


@record
class ShippedFile:
    """One file: `path` relative to the bundle with `/`, `size` in bytes, SHA-256 in hex, and the
    permission bits it is shipped with (0o644 or 0o755)."""

    path: str
    size: int
    sha256: str
    mode: int

    @property
    def executable(self) -> bool:
        """True for a program or script that is run by its path."""
        return bool(self.mode & 0o100)


@record
class PayloadManifest:
    """The shipped files, sorted by path."""

    files: tuple[ShippedFile, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over the whole list: the identity of what is shipped."""
        lines = "".join(f"{f.path}\0{f.size}\0{f.sha256}\0{f.mode:o}\n" for f in self.files)
        return hashlib.sha256(lines.encode("utf-8", "surrogateescape")).hexdigest()

    def below(self, folder: str) -> tuple[ShippedFile, ...]:
        """The files in a folder of the bundle (relative, with `/`), or the one file of that path."""
        return tuple(f for f in self.files if f.path == folder or f.path.startswith(folder + "/"))

    def plus(self, more: Iterable[ShippedFile]) -> PayloadManifest:
        """The manifest with further files."""
        return PayloadManifest(in_order((*self.files, *more)))


def in_order(files: Iterable[ShippedFile]) -> tuple[ShippedFile, ...]:
    """The files by path."""
    return tuple(sorted(files, key=lambda file: file.path))


def compute(folder: str) -> PayloadManifest:
    """The manifest of what lies in `folder`. Links are followed to files, never to folders.

    Raises OSError when a file cannot be read, UserError for a link that leads nowhere.
    """
    return PayloadManifest(in_order(shipped_file(folder, path) for path in _walk(folder, "")))


def shipped_file(folder: str, path: str) -> ShippedFile:
    """The entry of one file below `folder`. The mode is 0o755 when its owner may run it, else 0o644:
    what the umask of the machine that checked the source out did to it does not count."""
    full = os.path.join(folder, *path.split("/"))
    try:
        with open(full, "rb") as stream:
            data = stream.read()
            runnable = bool(os.fstat(stream.fileno()).st_mode & stat.S_IXUSR)
    except FileNotFoundError:
        raise UserError(
            f"{full} is a link that leads nowhere", "restore the file or remove the link"
        ) from None
    if os.name == "nt":
        runnable = data.startswith(b"#!") or path.endswith(".exe")
    return entry_for(path, data, runnable)


def entry_for(path: str, data: bytes, executable: bool) -> ShippedFile:
    """The entry of a file whose content is at hand."""
    return ShippedFile(path, len(data), hashlib.sha256(data).hexdigest(), 0o755 if executable else 0o644)


def _walk(folder: str, prefix: str) -> Iterator[str]:
    with os.scandir(os.path.join(folder, prefix) if prefix else folder) as entries:
        for entry in sorted(entries, key=lambda found: found.name):
            path = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED_FOLDERS:
                    yield from _walk(folder, path)
            elif not entry.is_dir() and not _is_scrap(entry.name):
                yield path


def _is_scrap(name: str) -> bool:
    return name in _SKIPPED_NAMES or name.endswith(_SKIPPED_SUFFIXES)


def to_json(manifest: PayloadManifest) -> bytes:
    """The file's content: stable order, one line a file, so that two releases can be compared."""
    rows = ",\n".join(
        "    " + json.dumps({"path": f.path, "size": f.size, "sha256": f.sha256, "mode": f"{f.mode:04o}"})
        for f in manifest.files
    )
    return f'{{\n  "schema": 1,\n  "files": [\n{rows}\n  ]\n}}\n'.encode()


def from_json(data: bytes, where: str) -> PayloadManifest:
    """Parse a manifest. Raises UserError naming `where` when it is damaged."""
    try:
        rows = json.loads(data)["files"]
        found = [
            ShippedFile(_path(r["path"]), int(r["size"]), str(r["sha256"]), int(r["mode"], 8)) for r in rows
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{where} is damaged: {error}", "ways update --force") from error
    return PayloadManifest(in_order(found))


def _path(value: object) -> str:
    """A relative path without `..`: the manifest names files inside the bundle and nothing else."""
    if not isinstance(value, str) or not value or value.startswith("/") or "\\" in value:
        raise ValueError(f"not a path inside the bundle: {value!r}")
    if any(part in {"", ".", ".."} for part in value.split("/")):
        raise ValueError(f"not a path inside the bundle: {value!r}")
    return value
