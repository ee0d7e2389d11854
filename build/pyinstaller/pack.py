"""Writes `hooks.pack`: the modules that a hook may load, as ready code objects (read by fastboot.py).

Layout: the magic, the length of the head (4 bytes, little-endian), the head, and behind it marshalled parts:

    head    (sys.hexversion, {lane: places of its units}, {extension module: file in the bundle}, place of the
            index, place of the names); a place is (offset after the head, size)
    units   ((name, parent, last part of the name, file, is a package, code), …): what a quiet hook loads, see
            units.py
    codes   a code object for each module
    index   {name: (is a package, offset, size)} of the codes
    names   of all modules of the bundle
"""

from __future__ import annotations

import _imp
import marshal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

from build.pyinstaller import units
from build.pyinstaller.shaping import Entry

MAGIC = b"WAYSPACK"
NAME = "hooks.pack"
ROOTS = ("ways.entry", "ways.lanes")
# Of other people's packages only what a hook may meet: a settings file or frontmatter in full YAML.
FOREIGN = frozenset({"yaml"})
_NEVER = ("ways.cli", "encodings")


def wanted(graph: Any, modules: Iterable[str]) -> set[str]:
    """The modules that a hook may load: what `ROOTS` and everything below them import, at any depth.

    `graph` is PyInstaller's module graph, `modules` the names of the product's modules.
    """
    todo = [name for name in modules if name.startswith(ROOTS)]
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in found or not _belongs(name):
            continue
        node = graph.find_node(name)
        if node is None:
            continue
        found.add(name)
        if "." in name:
            todo.append(name.rpartition(".")[0])
        outgoing, _incoming = graph.get_edges(node)
        todo += [other.identifier for other in outgoing if other is not None]
    return found


def _belongs(name: str) -> bool:
    if any(name == never or name.startswith(f"{never}.") for never in _NEVER):
        return False
    top = name.partition(".")[0]
    return top == "ways" or top in FOREIGN or top in sys.stdlib_module_names


def write(
    path: Path,
    names: set[str],
    pure: Iterable[Entry],
    binaries: Iterable[Entry],
    extra: Mapping[str, Path],
    optimize: int,
    source: Path,
) -> set[str]:
    """Write the pack of those `names` that are Python modules of the bundle, and of the `extra` ones.

    `source` is the folder of the product's packages. Returns the names of the bundle's modules in it. What is
    frozen into the interpreter is left to it.
    """
    listed = list(pure)
    sources = {
        name: Path(file)
        for name, file, _code in listed
        if name in names and file not in {None, "-"} and not _imp.is_frozen(name)
    }
    parts = _Parts()
    lanes = {lane: _units(lane, source, parts) for lane in units.LANES}
    index: dict[str, tuple[bool, int, int]] = {}
    for name, file in sorted((dict(extra) | sources).items()):
        code = compile(file.read_bytes(), _shown(name, file), "exec", dont_inherit=True, optimize=optimize)
        index[name] = (_is_package(file), *parts.add(code))
    rest = parts.add(index), parts.add(frozenset(name for name, _file, _code in listed))
    head = marshal.dumps((sys.hexversion, lanes, extensions(binaries), *rest))
    path.write_bytes(b"".join((MAGIC, len(head).to_bytes(4, "little"), head, *parts.written)))
    return set(sources)


class _Parts:
    """The marshalled parts behind the head, each written once."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._size = 0

    def add(self, value: Any) -> tuple[int, int]:
        """The place of the value: offset and size."""
        data = marshal.dumps(value)
        if data not in self._places:
            self._places[data] = (self._size, len(data))
            self._size += len(data)
            self.written.append(data)
        return self._places[data]


def _units(lane: str, source: Path, parts: _Parts) -> tuple[tuple[int, int], ...]:
    """The places of a lane's units: what all lanes share, then what is its own."""
    modules = units.modules_of(lane, source)
    shared = units.in_order(units.BASE, source)
    return tuple(
        parts.add(tuple(_module(name, source) for name in names))
        for names in (shared, [name for name in modules if name not in shared])
    )


def _module(name: str, source: Path) -> tuple[str, str, str, str, bool, CodeType]:
    file = units.file_of(name, source)
    assert file is not None  # units name modules of the product
    parent, _dot, own = name.rpartition(".")
    shown = _shown(name, file)
    code = units.compiled(file.read_text("utf-8"), shown)
    return name, parent, own, shown, _is_package(file), code


def _is_package(file: Path) -> bool:
    return file.name == "__init__.py"


def _shown(name: str, file: Path) -> str:
    """The file that a traceback names."""
    return name.replace(".", "/") + ("/__init__.py" if _is_package(file) else ".py")


def extensions(binaries: Iterable[Entry]) -> dict[str, str]:
    """The extension modules of the standard library: where each lies in the bundle."""
    found = {}
    for place, _source, code in binaries:
        name = place.replace("\\", "/").rpartition("/")[2].partition(".")[0]
        if code == "EXTENSION" and name in sys.stdlib_module_names:
            found[name] = place.replace("\\", "/")
    return found
