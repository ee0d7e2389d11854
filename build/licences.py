"""The licences of everything that a bundle carries, as files in its `licenses/` folder."""

from __future__ import annotations

import importlib.metadata
import json
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from build import packages, system_libraries
from ways.core.errors import UserError

PROJECT = packages.HERE.parent / "pyproject.toml"
ALSO = ("pyinstaller",)  # its bootloader and its importers are in the program
_WORDS = ("LICEN", "COPYING", "NOTICE", "AUTHORS")


@dataclass(frozen=True)
class Bundled:
    """What the frozen program holds of others: the top names of its modules, and the libraries of the system
    by their name in the bundle, with the file that each was copied from."""

    modules: tuple[str, ...] = ()
    libraries: Mapping[str, str] | None = None


def read(path: Path) -> Bundled:
    """The list that the freezing wrote (`shaping.list_contents`)."""
    found = json.loads(path.read_text("utf-8"))
    return Bundled(tuple(found["modules"]), found["libraries"])


def write(folder: Path, bundled: Bundled) -> None:
    """Make `folder` and write `python.txt`, one file for each Python library, and one for each package of the
    system that a library comes from. Raises UserError when one has no licence to be found, because then it
    must not be passed on."""
    folder.mkdir()
    texts = {"python": [_python()]}
    for name in sorted(distributions() | providers(bundled.modules)):
        texts[name] = list(_texts(name))
        if not texts[name]:
            raise UserError(f"{name} brings no licence text, so it cannot be shipped")
    for name, text in system_libraries.texts(bundled.libraries or {}).items():
        texts.setdefault(name, []).append(text)
    for name, parts in texts.items():
        (folder / f"{name}.txt").write_bytes("\n\n".join(parts).replace("\r\n", "\n").encode("utf-8"))


def distributions() -> set[str]:
    """The names of the libraries that the program needs at run time, and of what those need."""
    found: set[str] = set(ALSO)
    todo = list(tomllib.loads(PROJECT.read_text("utf-8"))["project"]["dependencies"])
    while todo:
        requirement = Requirement(todo.pop())
        name = requirement.name.lower().replace("_", "-")
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        try:
            todo += importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            raise UserError(f"{name} is not installed", 'python -m pip install -e ".[release]"') from None
    return found


def providers(modules: Iterable[str]) -> set[str]:
    """The distributions that top-level modules belong to; none for those of Python and of the product."""
    known = importlib.metadata.packages_distributions()
    found = {name.lower().replace("_", "-") for module in modules for name in known.get(module, ())}
    return found - {"ways"}


def _texts(name: str) -> Iterator[str]:
    """The licence files of a library; its metadata's word for the licence when it has no file."""
    distribution = importlib.metadata.distribution(name)
    seen = set()
    for file in distribution.files or []:
        licence = file.name.upper().startswith(_WORDS) or "licenses" in file.parts
        if licence and ".dist-info" in str(file) and not file.name.endswith((".py", ".pyc")):
            text = Path(str(distribution.locate_file(file))).read_text("utf-8", "replace")
            if text not in seen:
                seen.add(text)
                yield f"{name} {distribution.version}\n\n{text}"
    if not seen:
        told = distribution.metadata.json
        named = told.get("license_expression") or told.get("license")
        if named:
            yield f"{name} {distribution.version}\n\nLicence: {named}\n"


def _python() -> str:
    """Python's own licence, which also lists those of the libraries inside it."""
    for path in (Path(os.__file__).parent / "LICENSE.txt", Path(os.__file__).parent.parent / "LICENSE.txt"):
        if path.is_file():
            return path.read_text("utf-8", "replace")
    raise UserError(f"Python's licence is not beside {os.__file__}", "use a whole Python")
