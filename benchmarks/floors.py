"""The floors that everything is compared with.

F is an empty program frozen exactly like ours: the same recipe (build/pyinstaller, whatever it says
today) run on sources that hold nothing, with a fast start that ends at once. Nothing that the product
does to its own start makes F larger or smaller. P is `sh -c true`.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Call
from build import freeze, packages

F, P = "F", "P"
HERE = Path(__file__).resolve().parent
RECIPE = packages.HERE
# The modules that the recipe looks for by name; each is empty but for what must be importable.
EMPTY = {
    "ways/__init__.py": '__version__ = "0"\n',
    "ways/__main__.py": "",
    "ways/entry.py": "def main(argv=None):\n    return 0\n",
    "ways/lanes/__init__.py": "",
    "ways/lanes/dispatch.py": "",
    "projection/__init__.py": "",
    "installer/__init__.py": "",
    "windows/__init__.py": "",
}
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def shell() -> Call:
    """P."""
    return Call((_shell(), "-c", "true"), ENVIRONMENT, "/")


def empty_program(folder: Path) -> Call:
    """F, from the folder of the empty program."""
    return Call((str(folder / "ways"),), ENVIRONMENT, "/")


def _shell() -> str:
    return shutil.which("sh", path=ENVIRONMENT["PATH"]) or "/bin/sh"


def cached_empty_program(cache: Path | None = None) -> Path:
    """The folder of the empty program out of the build cache, frozen when the recipe has changed.

    Raises UserError when it cannot be frozen.
    """
    root = (cache or packages.cache_folder()) / "frozen-empty"
    folder = root / _key()
    with packages.locked(root, folder.name):
        if not (folder / "ways").is_file():
            _freeze(folder)
            _sweep(root, folder)
    return folder


def _key() -> str:
    """Names what the empty program is made from."""
    digest = hashlib.sha256()
    pyinstaller = importlib.metadata.version("pyinstaller")
    digest.update("\0".join([sys.version, platform.machine(), pyinstaller, repr(EMPTY)]).encode())
    for path in [*_recipe_files(), HERE / "empty" / "fastboot.py"]:
        digest.update(path.name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def _recipe_files() -> list[Path]:
    folder = RECIPE / "pyinstaller"
    found = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted([*found, RECIPE / "freeze.py", RECIPE / "elf.py"])


def _freeze(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="ways-empty-") as work:
        recipe = Path(work) / "recipe" / "build"
        skipped = shutil.ignore_patterns("__pycache__", "*.pyc", "out")
        shutil.copytree(RECIPE, recipe, ignore=skipped)
        shutil.copy(HERE / "empty" / "fastboot.py", recipe / "pyinstaller" / "fastboot.py")
        source = Path(work) / "source"
        for name, text in EMPTY.items():
            path = source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        # The manifest is named by the recipe on Windows.
        manifest = freeze.ROOT / "windows" / "ways.exe.manifest"
        if manifest.is_file():
            shutil.copy(manifest, source / "windows" / manifest.name)
        program = freeze.run_pyinstaller(source, Path(work), recipe / "pyinstaller" / freeze.SPEC.name)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(program, folder)


def _sweep(root: Path, newest: Path) -> None:
    """Keep one: a floor is of today's recipe."""
    for path in root.iterdir():
        if path.is_dir() and path != newest:
            shutil.rmtree(path)
    os.utime(newest)
