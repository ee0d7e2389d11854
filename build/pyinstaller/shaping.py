"""What is changed in PyInstaller's lists before it writes the bundle (docs/decisions/freezing.md)."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

Entry = tuple[str, str, str]  # name inside the bundle, source, type code

BASE_LIBRARY = "base_library.zip"
LISTING = "contents.json"
_COMMANDS = "ways.cli."
_STRIPPED = ("libpython", "python3.", "yaml/")  # what carries debugging symbols, by the place in the bundle
# What the interpreter imports before any importer but zipimport is there, and what PyInstaller's own
# modules import before theirs is.
NEEDED_AT_START = frozenset(
    {
        "encodings.__init__",
        "encodings.aliases",
        "encodings.utf_8",
        "encodings.latin_1",
        "encodings.ascii",
        *(("encodings.mbcs", "encodings.cp1252", "encodings.cp437") if sys.platform == "win32" else ()),
    }
)


IMPORTERS = ("struct", "pyimod01_archive", "pyimod02_importers")
_REPLACED = frozenset({"pyimod03_ctypes", "pyimod04_pywin32", "pyiboot01_bootstrap"})


def own_bootstrap(dependencies: Iterable[Entry], folder: Path, work: Path) -> list[Entry]:
    """What runs before the program: our fast start, PyInstaller's importers, our bootstrap script.

    `dependencies` are PyInstaller's own, which also hold extension modules that its importers need. Raises
    SystemExit when they are not as expected: our scripts are written for another PyInstaller then.
    """
    given = list(dependencies)
    kept = [entry for entry in given if entry[0] not in _REPLACED]
    if [entry[0] for entry in kept if entry[2] == "PYMODULE"] != list(IMPORTERS):
        raise SystemExit(f"PyInstaller's start is not the known one: {[entry[0] for entry in given]}")
    first = ("ways_fastboot", str(_compiled("ways_fastboot", folder / "fastboot.py", work)), "PYMODULE")
    return [first, *slim_binaries(kept, work), ("ways_bootstrap", str(folder / "bootstrap.py"), "PYSOURCE")]


def _compiled(name: str, source: Path, work: Path) -> Path:
    """The module compiled for the program's own archive."""
    work.mkdir(parents=True, exist_ok=True)
    compiled = work / f"{name}.pyc"
    py_compile.compile(
        str(source),
        cfile=str(compiled),
        dfile=f"{name}.py",
        doraise=True,
        optimize=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    return compiled


def without_runtime_hooks(scripts: Iterable[Entry]) -> list[Entry]:
    """The scripts without PyInstaller's default ones, which import inspect, pkgutil and more each time."""
    return [entry for entry in scripts if not entry[0].startswith("pyi_rth")]


def without_doubles(binaries: Iterable[Entry]) -> list[Entry]:
    """The libraries without the second copy at the top of those that lie in a folder of a package.

    PyInstaller makes links of them. Their users find them through a search path of their own, and a bundle of
    plain files unpacks everywhere.
    """
    given = list(binaries)
    below = {os.path.basename(name) for name, _source, _code in given if os.path.dirname(name)}
    return [entry for entry in given if entry[2] != "SYMLINK" and entry[0] not in below]


def trim_base_library(datas: Iterable[Entry], pure: list[Entry], work: Path, optimize: int) -> list[Entry]:
    """`datas` with a base library of only what the interpreter needs to start; the rest goes into `pure`.

    zipimport reads the whole directory of that archive on every start.
    """
    kept = []
    for name, source, code in datas:
        if name == BASE_LIBRARY:
            small = work / "trimmed_base_library.zip"
            moved = _split(Path(source), small)
            present = {entry[0] for entry in pure}
            pure += [
                (module, _source_of(module), f"PYMODULE-{optimize}")
                for module in moved
                if module not in present
            ]
            source = str(small)
        kept.append((name, source, code))
    return kept


def _split(base: Path, small: Path) -> list[str]:
    """Write the trimmed archive; the names of the modules that were left out."""
    moved = []
    with zipfile.ZipFile(base) as full, zipfile.ZipFile(small, "w", zipfile.ZIP_STORED) as trimmed:
        for name in sorted(full.namelist()):
            module = name.removesuffix(".pyc").replace("/", ".")
            if module in NEEDED_AT_START:
                trimmed.writestr(zipfile.ZipInfo(name), full.read(name))
            else:
                moved.append(module.removesuffix(".__init__"))
    return moved


def _source_of(module: str) -> str:
    import importlib.util

    spec = importlib.util.find_spec(module)
    if spec is None:
        raise SystemExit(f"{module} is in PyInstaller's base library, but its source cannot be found")
    if spec.origin and spec.origin != "frozen":
        return spec.origin
    # Frozen into the interpreter itself: the file is still in the library's folder.
    folder = os.path.dirname(os.__file__)
    plain = os.path.join(folder, *module.split("."))
    for path in (plain + ".py", os.path.join(plain, "__init__.py")):
        if os.path.isfile(path):
            return path
    raise SystemExit(f"{module} is frozen into the interpreter, but has no source in {folder}")


def list_contents(path: Path, pure: Iterable[Entry], binaries: Iterable[Entry]) -> None:
    """Write down what is bundled, for the licences: the top names of all modules, and for each library of the
    system (name in the bundle) the file that it comes from."""
    modules = {name.partition(".")[0] for name, _source, _code in pure}
    libraries = {}
    for name, source, code in binaries:
        if code == "EXTENSION":
            modules.add(name.replace("\\", "/").partition("/")[0].partition(".")[0])
        elif code == "BINARY" and "site-packages" not in Path(source).parts:
            libraries[name] = source
    path.write_text(json.dumps({"modules": sorted(modules), "libraries": libraries}), "utf-8")


def with_help_texts(pure: Iterable[Entry]) -> list[Entry]:
    """The modules with the docstrings kept where they are shown: the commands' help is made of them."""
    return [
        (name, source, "PYMODULE-1" if name.startswith(_COMMANDS) else code) for name, source, code in pure
    ]


def slim_binaries(binaries: Iterable[Entry], work: Path) -> list[Entry]:
    """The libraries, ready to be shipped from a Linux machine: Python's own without debugging symbols,
    and none with a search path of the building machine. Elsewhere they are left as they are.

    Not all are stripped: other people's have no symbols left, or `strip` may damage them.
    """
    if sys.platform != "linux":
        return list(binaries)
    from build.elf import search_path

    kept = []
    for name, source, code in binaries:
        if code in {"BINARY", "EXTENSION"} and os.path.isfile(source):
            strip = name.startswith(_STRIPPED)
            unwanted = any(not part.startswith("$ORIGIN") for part in search_path(source))
            if strip or unwanted:
                copy = work / "slim" / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, copy)
                if unwanted:
                    subprocess.run([_tool("patchelf"), "--remove-rpath", str(copy)], check=True)
                if strip:
                    subprocess.run([_tool("strip"), "--strip-unneeded", str(copy)], check=True)
                source = str(copy)
        kept.append((name, source, code))
    return kept


def _tool(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=os.path.dirname(sys.executable))
    if not found:
        raise SystemExit(f"{name} is needed to shape the bundle's libraries and was not found")
    return found


def importer_sources() -> dict[str, Path]:
    """The sources of PyInstaller's importers, for a hook that needs a module which its pack lacks."""
    import struct

    import PyInstaller

    loader = Path(PyInstaller.__file__).parent / "loader"
    found = {name: loader / f"{name}.py" for name in IMPORTERS if name.startswith("pyimod")}
    return found | {"struct": Path(struct.__file__)}
