"""The licences of everything that a bundle carries, as files in its `licenses/` folder."""

from __future__ import annotations

import importlib.metadata
import os
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from build import packages
from ways.core.errors import UserError

PROJECT = packages.HERE.parent / "pyproject.toml"
ALSO = ("pyinstaller",)  # its bootloader and its importers are in the program
_WORDS = ("LICEN", "COPYING", "NOTICE", "AUTHORS")


def write(folder: Path) -> None:
    """Make `folder` and write `python.txt` and one file for each library. Raises UserError when one has no
    licence to be found, because then it must not be passed on."""
    folder.mkdir()
    texts = {"python": [_python()]}
    for name in sorted(distributions()):
        texts[name] = list(_texts(name))
        if not texts[name]:
            raise UserError(f"{name} brings no licence text, so it cannot be shipped")
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
