"""What a hook that shows nothing loads: one unit of modules for each lane, in the order in which they run.

A unit is read and unpacked at once, without the import system's work for each module (fastboot.py). Which
modules it holds is worked out from the sources: what the modules named here import when they are loaded.
What is imported inside a function and wanted by a quiet hook too has to be named here;
tests/unit/build/test_units.py compares the units with what quiet hooks really load.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterable
from pathlib import Path
from types import CodeType

# What every hook loads.
BASE = ("ways.entry", "ways.core.in_use", "ways.lanes.dispatch", "ways.lanes.payload", "ways.lanes.context")
_SESSION = ("ways.session.state", "ways.core.locking")
_CATALOGUE = ("ways.settings.load", "ways.catalogue.cache")
_TRANSCRIPT = ("ways.session.transcript",)
_MEANING = (
    *("ways.matching.reduce", "ways.matching.chunks", "ways.embedding.near", "ways.core.local_socket"),
    "ways.disclosure.scope",
)
# Per lane, what a quiet hook of it loads besides.
LANES: dict[str, tuple[str, ...]] = {
    "session-start": (
        *("ways.lanes.session_start", *_SESSION, "ways.session.clearing", "ways.telemetry.log"),
        "ways.attend.peers",
    ),
    "state": (
        *("ways.lanes.state", *_SESSION, *_CATALOGUE, *_TRANSCRIPT, "ways.session.window"),
        *("ways.lanes.rules", "ways.lanes.showing", "ways.disclosure.scope"),
        *("ways.catalogue.preconditions", "ways.catalogue.globs"),
    ),
    "prompt": ("ways.lanes.prompt", *_SESSION, *_CATALOGUE, *_MEANING),
    "command": ("ways.lanes.command", *_SESSION, *_CATALOGUE, *_TRANSCRIPT, *_MEANING),
    "file": ("ways.lanes.file", *_SESSION, *_CATALOGUE),
    "post-tool": ("ways.lanes.post_tool", *_SESSION, *_CATALOGUE),
    "queued": ("ways.lanes.queued", *_SESSION, *_TRANSCRIPT),
    "stop": ("ways.lanes.stop", *_SESSION),
    "tasks-active": ("ways.lanes.tasks_active", *_SESSION),
    "session-link": ("ways.lanes.session_link",),
    "attend-drain": ("ways.lanes.attend_drain", "ways.attend.peers"),
    "issues-pull": ("ways.lanes.issues_pull",),
}


def modules_of(lane: str, source: Path) -> list[str]:
    """The product's modules of a lane's unit, the base first, each after those that it imports."""
    return in_order((*BASE, *LANES[lane]), source)


def in_order(roots: Iterable[str], source: Path) -> list[str]:
    """The modules of the product that are loaded with `roots`, each after those that it imports."""
    found: dict[str, None] = {}
    entered: set[str] = set()

    def visit(name: str) -> None:
        path = file_of(name, source)
        if path is None or name in entered:
            return
        entered.add(name)
        if "." in name:
            visit(name.rpartition(".")[0])
        for imported in imported_at_load(path.read_text("utf-8")):
            visit(imported)
        found[name] = None

    for root in roots:
        visit(root)
    return list(found)


def file_of(name: str, source: Path) -> Path | None:
    """The file of a product's module below `source`, None for any other name."""
    place = source.joinpath(*name.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def imported_at_load(text: str) -> list[str]:
    """Names that may be modules, of the import statements that run when the module is loaded."""
    found: list[str] = []

    def look(statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if isinstance(statement, ast.Import):
                found.extend(alias.name for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
                found.append(statement.module)
                found.extend(f"{statement.module}.{alias.name}" for alias in statement.names)
            elif isinstance(statement, ast.If):
                look(statement.orelse if _is_type_checking(statement.test) else statement.body)
            elif isinstance(statement, ast.Try):
                look(statement.body)

    look(ast.parse(text).body)
    return found


def _is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def compiled(text: str, filename: str) -> CodeType:
    """The module's code without what no hook reads: doc strings, the annotations of functions, and the
    statement `from __future__ import annotations`, which would load a module (what it asks for is told to
    the compiler)."""
    tree = ast.parse(text, filename)
    asked = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    if any(alias.name != "annotations" for one in asked for alias in one.names):
        raise ValueError(f"{filename} asks for a feature that is not known here")
    tree.body = [one for one in tree.body if one not in asked]
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            function.returns = None
            given = function.args
            for argument in (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg):
                if argument is not None:
                    argument.annotation = None
    flags = __future__.annotations.compiler_flag if asked else 0
    code: CodeType = compile(tree, filename, "exec", flags=flags, dont_inherit=True, optimize=2)
    return code
