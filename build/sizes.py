"""What an archive is made of: the size of its parts, unpacked and compressed.

    python build/sizes.py ARCHIVE

Each file is compressed by itself for this, so the parts add up to the archive to within a few per cent.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import archive
from build.pyinstaller.contents import PACKAGES
from ways.core.errors import UserError

MOST_BYTES = 45_000_000  # of the archive for Linux (spec: quality, "Speed")
SMALL = 0.25  # MB compressed: libraries below it are shown as one
_PROGRAM = "bin/_internal/"
_MODULES = f"{_PROGRAM}modules.pyz"
_PLACES = (
    ("models/", "English model"),
    ("lib/", "native engine"),
    ("licenses/", "licences"),
    (f"{_PROGRAM}hooks.pack", "modules that hooks use"),
    (f"{_PROGRAM}libpython", "Python"),
    (f"{_PROGRAM}python3", "Python"),
    (f"{_PROGRAM}base_library", "Python"),
    ("bin/ways", "Python"),
    (f"{_PROGRAM}libcrypto", "OpenSSL"),
    (f"{_PROGRAM}libssl", "OpenSSL"),
    (f"{_PROGRAM}lib", "other libraries of the system"),
)


def parts(packed: Path) -> dict[str, tuple[int, int]]:
    """Per part (bytes unpacked, bytes compressed), the largest first. Raises UserError."""
    found: dict[str, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory(prefix="ways-sizes-") as folder:
        try:
            content = archive.unpack(packed, Path(folder))
        except (OSError, ValueError) as error:
            raise UserError(f"{packed} cannot be unpacked: {error}") from error
        for name, data in _pieces(content):
            before = found.get(name, (0, 0))
            found[name] = before[0] + len(data), before[1] + len(zlib.compress(data))
    return dict(sorted(found.items(), key=lambda item: -item[1][1]))


def _pieces(content: Path) -> Iterator[tuple[str, bytes]]:
    """(part, data) of every file; the modules' archive by the package that they belong to."""
    for path in sorted(content.rglob("*")):
        if path.is_file():
            place = path.relative_to(content).as_posix()
            if place == _MODULES:
                yield from _modules(path)
            else:
                yield _part(place), path.read_bytes()


def _part(place: str) -> str:
    for start, name in _PLACES:
        if place.startswith(start):
            return name
    if place.startswith(_PROGRAM):
        top = place[len(_PROGRAM) :].partition("/")[0].partition("-")[0].partition(".")[0]
        return "modules of ways" if top in PACKAGES else top
    return "payload"


def _modules(path: Path) -> Iterator[tuple[str, bytes]]:
    """Per package all its modules at once, as the whole archive packs them."""
    from PyInstaller.archive.readers import ZlibArchiveReader

    data = path.read_bytes()
    found: dict[str, list[bytes]] = {}
    for name, (_kind, start, size) in ZlibArchiveReader(str(path)).toc.items():
        top = name.partition(".")[0]
        part = "modules of ways" if top in PACKAGES else top
        part = "modules of the standard library" if top in sys.stdlib_module_names else part
        found.setdefault(part, []).append(zlib.decompress(data[start : start + size]) if size else b"")
    for part, codes in found.items():
        yield part, b"".join(codes)


def lines(found: Mapping[str, tuple[int, int]], length: int) -> list[str]:
    """The parts as a table for people; `length` is the archive's, in bytes."""
    rows = [(name, sizes) for name, sizes in found.items() if sizes[1] >= SMALL * 1e6]
    rest = [sizes for sizes in found.values() if sizes[1] < SMALL * 1e6]
    rows.append((f"{len(rest)} smaller ones", (sum(one for one, _ in rest), sum(one for _, one in rest))))
    table = [f"  {'part':32} {'MB':>7} {'packed':>7}"]
    table += [f"  {name:32} {size / 1e6:7.1f} {small / 1e6:7.2f}" for name, (size, small) in rows]
    unpacked = sum(size for size, _ in found.values())
    return [*table, f"  {'the archive':32} {unpacked / 1e6:7.1f} {length / 1e6:7.2f}"]


def main(argv: list[str] | None = None) -> int:
    """The command `python build/sizes.py`."""
    parser = argparse.ArgumentParser(description="Show what an archive is made of.")
    parser.add_argument("archive", type=Path)
    options = parser.parse_args(argv)
    try:
        print("\n".join(lines(parts(options.archive), options.archive.stat().st_size)))
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
