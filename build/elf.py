"""What ELF files of a bundle ask of the machine that runs them: search paths, and the oldest glibc."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

_GLIBC = "GLIBC_"


def search_path(path: str | os.PathLike[str]) -> list[str]:
    """The folders in a library's RPATH and RUNPATH, [] for none and for what is no ELF file."""
    found: list[str] = []
    with open(path, "rb") as stream:
        try:
            elf = ELFFile(stream)
        except ELFError:
            return []
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                for tag in section.iter_tags():
                    if tag.entry.d_tag in {"DT_RPATH", "DT_RUNPATH"}:
                        text: str = getattr(tag, "rpath", "") or getattr(tag, "runpath", "")
                        found += [part for part in text.split(":") if part]
    return found


def glibc_needs(folder: Path) -> list[tuple[tuple[int, ...], str]]:
    """(version, path relative to `folder`) of the newest glibc symbol of each ELF file, highest first."""
    needs = []
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            versions = list(_glibc_versions(path))
            if versions:
                needs.append((max(versions), path.relative_to(folder).as_posix()))
    return sorted(needs, reverse=True)


def _glibc_versions(path: Path) -> Iterator[tuple[int, ...]]:
    with path.open("rb") as stream:
        if stream.read(4) != b"\x7fELF":
            return
        stream.seek(0)
        for section in ELFFile(stream).iter_sections():
            if isinstance(section, GNUVerNeedSection):
                for _library, needed in section.iter_versions():
                    for version in needed:
                        if version.name.startswith(_GLIBC) and version.name[len(_GLIBC) :][:1].isdigit():
                            yield tuple(int(part) for part in version.name[len(_GLIBC) :].split("."))
