"""Packing a bundle: the same bytes for the same tree and time, plain files only.

`.tar.gz` keeps the modes that Linux and macOS need; `.zip` is what Windows unpacks. Every entry lies below
one top folder, has the time of the build, and belongs to nobody in particular.
"""

from __future__ import annotations

import gzip
import os
import tarfile
import time
import zipfile
from pathlib import Path

LEVEL = 9


def pack(folder: Path, archive: Path, top: str, when: int) -> None:
    """Write `archive` with the files of `folder` below `top`. `when` is in seconds since 1970.

    The archive appears whole or not at all.
    """
    archive.parent.mkdir(parents=True, exist_ok=True)
    part = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        if archive.suffix == ".zip":
            _zip(folder, part, top, when)
        else:
            _tar(folder, part, top, when)
        part.replace(archive)
    finally:
        part.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive of our own making into `folder`; the folder at its top."""
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as opened:
            opened.extractall(folder)
    else:
        with tarfile.open(archive) as opened:
            opened.extractall(folder, filter="tar")
    (top,) = (path for path in folder.iterdir() if path.name.startswith("ways-") and path.is_dir())
    return top


def _members(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"), key=lambda path: path.relative_to(folder).as_posix())


def _tar(folder: Path, target: Path, top: str, when: int) -> None:
    with (
        target.open("wb") as raw,
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=when) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in [folder, *_members(folder)]:
            below = path.relative_to(folder).as_posix()
            info = tar.gettarinfo(str(path), top if path == folder else f"{top}/{below}")
            info.mtime, info.uid, info.gid, info.uname, info.gname = when, 0, 0, "", ""
            if path.is_dir():
                tar.addfile(info)
            else:
                with path.open("rb") as stream:
                    tar.addfile(info, stream)


def _zip(folder: Path, target: Path, top: str, when: int) -> None:
    moment = time.gmtime(max(when, 315_532_800))[:6]  # a zip knows no time before 1980
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as packed:
        for path in _members(folder):
            if path.is_file():
                info = zipfile.ZipInfo(f"{top}/{path.relative_to(folder).as_posix()}", moment)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.external_attr = (0o100755 if os.access(path, os.X_OK) else 0o100644) << 16
                packed.writestr(info, path.read_bytes())
