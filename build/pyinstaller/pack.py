"""Writes `hooks.pack`: the modules that a hook may load, as ready code objects (read by fastboot.py).

Layout: the magic, the length of the head (4 bytes, little-endian), the head, the code objects, the names of
all modules of the bundle. Head and names are marshalled; the head is (sys.hexversion, {name: (is a package,
offset after the head, size)}, offset of the names).
"""

from __future__ import annotations

import _imp
import marshal
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

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
    path: Path, names: set[str], pure: Iterable[Entry], extra: Mapping[str, Path], optimize: int
) -> set[str]:
    """Write the pack of those `names` that are Python modules of the bundle, and of the `extra` ones.

    Returns the names of the bundle's modules in it. What is frozen into the interpreter is left to it.
    """
    listed = list(pure)
    sources = {
        name: Path(source)
        for name, source, _code in listed
        if name in names and source not in {None, "-"} and not _imp.is_frozen(name)
    }
    everything = frozenset(name for name, _source, _code in listed)
    index: dict[str, tuple[bool, int, int]] = {}
    parts: list[bytes] = []
    offset = 0
    for name, source in sorted((dict(extra) | sources).items()):
        package = source.name == "__init__.py"
        shown = name.replace(".", "/") + ("/__init__.py" if package else ".py")
        code = compile(source.read_bytes(), shown, "exec", dont_inherit=True, optimize=optimize)
        data = marshal.dumps(code)
        index[name] = (package, offset, len(data))
        parts.append(data)
        offset += len(data)
    parts.append(marshal.dumps(everything))
    head = marshal.dumps((sys.hexversion, index, offset))
    path.write_bytes(b"".join((MAGIC, len(head).to_bytes(4, "little"), head, *parts)))
    return set(sources)
