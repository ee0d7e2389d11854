"""The licences of the system's libraries that a bundle carries: OpenSSL, zlib, the compiler's own, …

They come with the package that the library was installed by. A library whose licence cannot be found stops
the build, because it must not be passed on without.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from build import packages
from ways.core.errors import UserError

CARRIED = packages.HERE / "licenses"
DEBIAN_TEXTS = Path("/usr/share/doc")
DEBIAN_COMMON = Path("/usr/share/common-licenses")
FEDORA_TEXTS = Path("/usr/share/licenses")
_WORDS = ("LICEN", "COPYING", "COPYRIGHT", "NOTICE")
_COMMON = re.compile(rf"{DEBIAN_COMMON}/([A-Za-z0-9][A-Za-z0-9.+-]*[A-Za-z0-9+])")
_PARENTS = 3  # of a library of Homebrew: lib, the version's folder, the formula's
_SECONDS = 60.0


@dataclass(frozen=True)
class Owner:
    """Who a library comes from, and the text of the licence."""

    name: str
    text: str


def texts(libraries: Mapping[str, str]) -> dict[str, str]:
    """The licence of each library (name in the bundle to the file that it was copied from) by its owner's
    name; what a text only refers to is there as `common-<licence>`. Python's own libraries are left out.

    Raises UserError for a library without a licence.
    """
    found: dict[str, str] = {}
    carried: dict[str, list[str]] = {}
    for library, source in sorted(libraries.items()):
        owner = owner_of(Path(source))
        if owner is not None:
            found[owner.name] = owner.text
            carried.setdefault(owner.name, []).append(library)
    common = {f"common-{name}": text for text in found.values() for name, text in _referred(text)}
    named = {name: f"{', '.join(carried[name])}\n\n{text}" for name, text in found.items()}
    return named | common


def owner_of(library: Path) -> Owner | None:
    """The package of a library; None when it is part of Python, whose licence is there anyhow.

    Raises UserError when none can be found.
    """
    for find in (_debian, _fedora, _python, _beside, _kept_here):
        owner = find(library)
        if owner is not None:
            return owner if owner.name != "python" else None
    name = library.name.partition(".")[0]
    raise UserError(
        f"{library} would be shipped, and its licence was not found: no package of the system has it",
        f"put the text into {CARRIED / f'{name}.txt'}",
    )


def _places(library: Path) -> list[str]:
    """The paths that a package manager may know it by: links resolved or not, with and without /usr."""
    given = [str(library), str(library.resolve())]
    other = [path.removeprefix("/usr") if path.startswith("/usr/") else f"/usr{path}" for path in given]
    return list(dict.fromkeys(given + other))


def _asked(*command: str) -> str:
    """What a package manager says, "" when it is not there or does not know."""
    if not shutil.which(command[0]):
        return ""
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _debian(library: Path) -> Owner | None:
    for path in _places(library):
        package = _asked("dpkg-query", "--search", path).partition(": ")[0].partition(",")[0]
        name = package.partition(":")[0]
        text = DEBIAN_TEXTS / name / "copyright"
        if name and text.is_file():
            version = _asked("dpkg-query", "--show", "--showformat", "${Version}", package)
            return Owner(name, f"{name} {version}\n\n{_read(text)}")
    return None


def _fedora(library: Path) -> Owner | None:
    for path in _places(library):
        name = _asked("rpm", "--query", "--file", "--queryformat", "%{NAME}", path)
        parts = _licences_in(FEDORA_TEXTS / name) if name else []
        if parts:
            return Owner(name, "\n\n".join(parts))
    return None


def _python(library: Path) -> Owner | None:
    """A library of a Python that was built and installed with all its parts into a folder of its own."""
    prefix = Path(sys.base_prefix).resolve()
    inside = prefix in library.resolve().parents or Path(sys.base_prefix) in library.parents
    own = prefix not in {Path("/usr"), Path("/")} and (
        prefix != Path("/usr/local") or library.name.startswith("libpython")
    )
    return Owner("python", "") if inside and own else None


def _beside(library: Path) -> Owner | None:
    for folder in list(library.resolve().parents)[:_PARENTS]:
        parts = _licences_in(folder)
        if parts:
            return Owner(library.name.partition(".")[0], "\n\n".join(parts))
    return None


def _kept_here(library: Path) -> Owner | None:
    name = library.name.partition(".")[0]
    path = CARRIED / f"{name}.txt"
    return Owner(name, _read(path)) if path.is_file() else None


def _licences_in(folder: Path) -> list[str]:
    if not folder.is_dir():
        return []
    return [
        _read(path)
        for path in sorted(folder.iterdir())
        if path.is_file() and path.name.upper().startswith(_WORDS)
    ]


def _referred(text: str) -> Iterator[tuple[str, str]]:
    """The licences that a Debian text names by their place instead of quoting them."""
    for name in dict.fromkeys(_COMMON.findall(text)):
        path = DEBIAN_COMMON / name
        if path.is_file():
            yield name, _read(path)


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace")
