"""Reading a release archive without trusting it (spec: installer, "Bundle layout").

An archive holds plain files below one folder, `ways-<version>/`. Anything else is refused before a byte is
written: a path that leaves the folder, a link, a device, a name that another system reads differently.
The archive's hash has been checked against signed metadata by then; this is the second wall.
"""

from __future__ import annotations

import os
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from projection.system import System
from ways.core.errors import UNVERIFIED, UserError

MOST_FILES = 50_000
MOST_BYTES = 4 << 30
_DEVICES = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])( *\..*)?", re.IGNORECASE)
_NEXT = "report this release; the installed version stays as it is"


@dataclass(frozen=True)
class Member:
    """One file: `path` below the version's folder with `/`, its size in bytes, and whether it is run."""

    path: str
    size: int
    executable: bool


def name_fault(name: str) -> str:
    """Why a member's name cannot be a path below the version's folder, "" when it can."""
    if not name or name.startswith("/") or name.endswith("/"):
        return "is not a relative path"
    if any(ord(character) < 32 or character in '\\:*?"<>|\x7f' for character in name):
        return "holds a character that is no part of a name everywhere"
    for part in name.split("/"):
        if part in {"", ".", ".."}:
            return "leaves its folder"
        if part.endswith((".", " ")):
            return "ends in a dot or a space"
        if _DEVICES.fullmatch(part):
            return "is a device's name on Windows"
        if len(part.encode("utf-8", "surrogateescape")) > 200:
            return "is too long"
    return ""


def members(archive: str, top: str) -> list[Member]:
    """Every file in the archive, relative to the folder `top` that holds them all.

    Raises UserError (exit 6) when there is anything that must not be unpacked, or the archive is damaged.
    """
    with _opened(archive) as (rows, _):
        return _checked(rows, archive, top)


def extract(system: System, archive: str, top: str, folder: str) -> None:
    """Unpack into `folder`, which is made here. Raises UserError, OSError."""
    with _opened(archive) as (rows, read):
        found = _checked(rows, archive, top)
        system.mkdir(folder)
        for parent in _folders(found):
            system.mkdir(os.path.join(folder, *parent.split("/")))
        for member in found:
            data = read(f"{top}/{member.path}")
            if len(data) != member.size:
                raise _refused(archive, member.path, "is shorter than it says")
            mode = 0o755 if member.executable else 0o644
            system.write_atomic(os.path.join(folder, *member.path.split("/")), data, mode)
    if system.changes_disk and hasattr(os, "sync"):
        os.sync()  # the rename that comes must not reach the disk before the files do


@dataclass(frozen=True)
class _Row:
    """An entry as the archive has it: `what` is file, folder, or what else it is."""

    name: str
    what: str
    size: int
    executable: bool


@contextmanager
def _opened(archive: str) -> Iterator[tuple[list[_Row], Callable[[str], bytes]]]:
    """The archive's entries, and a function that reads one."""
    try:
        if archive.endswith(".zip"):
            with zipfile.ZipFile(archive) as opened:
                yield [_zip_row(info) for info in opened.infolist()], opened.read
        else:
            with tarfile.open(archive, "r:gz") as tar:
                infos = tar.getmembers()
                _read_to_the_end(tar)
                by_name = {info.name: info for info in infos}
                yield [_tar_row(info) for info in infos], lambda name: _read_tar(tar, by_name[name])
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, ValueError) as error:
        raise UserError(f"{archive} is damaged: {error}", _NEXT, UNVERIFIED) from error


def _read_to_the_end(tar: tarfile.TarFile) -> None:
    """The checksum of a .gz stands at its very end, where reading the members does not come."""
    stream = tar.fileobj
    while stream is not None and stream.read(1 << 20):
        pass


def _read_tar(tar: tarfile.TarFile, info: tarfile.TarInfo) -> bytes:
    stream = tar.extractfile(info)
    return stream.read() if stream is not None else b""


def _tar_row(info: tarfile.TarInfo) -> _Row:
    kinds = ((info.isreg, "file"), (info.isdir, "folder"), (info.issym, "link"), (info.islnk, "hard link"))
    what = next((name for test, name in kinds if test()), "device or pipe")
    return _Row(info.name, what, info.size, bool(info.mode & 0o100))


def _zip_row(info: zipfile.ZipInfo) -> _Row:
    mode = info.external_attr >> 16
    kind = mode & 0o170000
    plain = "file" if kind in {0, 0o100000} else "link or device"
    what = "folder" if info.is_dir() else plain
    return _Row(
        info.filename.rstrip("/") if what == "folder" else info.filename,
        what,
        info.file_size,
        bool(mode & 0o100),
    )


def _checked(rows: list[_Row], archive: str, top: str) -> list[Member]:
    found: dict[str, Member] = {}
    folded: set[str] = set()
    folders: set[str] = set()
    for row in rows:
        if row.what == "folder" and row.name.rstrip("/") == top:
            continue
        inside = row.name.removeprefix(f"{top}/")
        if inside == row.name:
            raise _refused(archive, row.name, f"is not below {top}/")
        if fault := name_fault(inside):
            raise _refused(archive, row.name, fault)
        if row.what == "folder":
            folders.add(inside.casefold())
            continue
        if row.what != "file":
            raise _refused(archive, row.name, f"is a {row.what}, and a release holds plain files only")
        if inside.casefold() in folded:
            raise _refused(archive, row.name, "is there twice, or differs in case only")
        folded.add(inside.casefold())
        found[inside] = Member(inside, row.size, row.executable)
    folders |= {parent.casefold() for parent in _folders(list(found.values()))}
    if clash := folded & folders:
        raise _refused(archive, min(clash), "is a file and a folder")
    if len(found) > MOST_FILES or sum(member.size for member in found.values()) > MOST_BYTES:
        raise _refused(archive, top, "is larger than any release")
    if not found:
        raise _refused(archive, top, "is empty")
    return list(found.values())


def _folders(found: list[Member]) -> list[str]:
    """Every folder that the files need, outermost first."""
    needed: set[str] = set()
    for member in found:
        parts = member.path.split("/")[:-1]
        needed |= {"/".join(parts[: count + 1]) for count in range(len(parts))}
    return sorted(needed)


def _refused(archive: str, name: str, why: str) -> UserError:
    shown = name if len(name) <= 120 else name[:119] + "…"
    return UserError(f"{archive}: {shown!r} {why}; nothing was unpacked", _NEXT, UNVERIFIED)
