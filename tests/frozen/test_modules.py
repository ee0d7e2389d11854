"""Nothing that is trimmed off the frozen program is missed: modules, their deferred imports, help texts."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from build.freeze import ROOT
from build.pyinstaller.contents import PACKAGES

pytestmark = pytest.mark.frozen

# In the bundle by mistake of the static analysis: it needs cryptography, which only those need who sign.
UNUSABLE = {"securesystemslib.signer._crypto_utils"}
# Modules that do something when they are imported, and Python's own demonstrations.
LEFT_ALONE = ("textual.demo", "idlelib", "test.")

IMPORT_ALL = """
import importlib, io, json, sys, warnings
warnings.simplefilter("ignore")
sys.stdout, answer = io.StringIO(), sys.stdout
failed = {}
with open("names.json", encoding="utf-8") as file:
    names = json.load(file)
for name in names:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed[name] = f"{type(error).__name__}: {error}"
answer.write(json.dumps(failed))
"""
BUNDLED = """
import json, sys
pack = next(finder for finder in sys.meta_path if hasattr(finder, "everything"))
print(json.dumps(sorted(pack.everything())))
"""
HELP = """
import click, json
from ways.cli.main import program
found = {}
def walk(path, command, parent):
    context = click.Context(command, info_name=path[-1], parent=parent, terminal_width=80)
    found[" ".join(path)] = command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            walk([*path, name], command.get_command(context, name), context)
walk(["ways"], program, None)
print(json.dumps(found))
"""


def run(command: list[str], folder: Path, script: str) -> object:
    """What a script prints, as JSON."""
    (folder / "script.py").write_text(script, "utf-8")
    environment = {"HOME": str(folder), "PATH": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, "script.py"], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.fixture
def frozen(staged: Path) -> list[str]:
    """Runs a script in the frozen program."""
    return [str(staged / "bin" / "ways"), "run-script"]


def test_what_is_in_the_bundle_can_be_imported_as_from_source(frozen: list[str], tmp_path: Path) -> None:
    """So nothing that a module needs was left out, and none needs the docstrings that were."""
    listed = run(frozen, tmp_path, BUNDLED)
    assert isinstance(listed, list) and len(listed) > 1000
    names = [name for name in listed if not name.startswith(LEFT_ALONE) and not name.endswith("__main__")]
    (tmp_path / "names.json").write_text(json.dumps(names))
    failed = run(frozen, tmp_path, IMPORT_ALL)
    assert isinstance(failed, dict)
    (tmp_path / "names.json").write_text(json.dumps(sorted(failed)))
    in_source = run([sys.executable], tmp_path, IMPORT_ALL)
    assert isinstance(in_source, dict)
    assert {name: why for name, why in failed.items() if name not in in_source and name not in UNUSABLE} == {}


def imported(path: Path) -> Iterator[str]:
    """The modules of others that a source file imports anywhere, also inside its functions."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_every_import_of_the_product_can_be_done(frozen: list[str], tmp_path: Path) -> None:
    """Commands import their libraries when they are called: one that is missing would show only then."""
    sources = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    names = {name for path in sources if "payload" not in path.parts for name in imported(path)}
    names = {name for name in names if not name.endswith("__main__") and name != "__future__"}
    assert {"textual.widgets", "tuf.ngclient", "mcp.server.stdio"} <= names
    (tmp_path / "names.json").write_text(json.dumps(sorted(names)))
    failed, in_source = run(frozen, tmp_path, IMPORT_ALL), run([sys.executable], tmp_path, IMPORT_ALL)
    assert isinstance(failed, dict) and isinstance(in_source, dict)
    assert {name: why for name, why in failed.items() if name not in in_source} == {}


def test_the_help_of_every_command_is_that_of_the_source(frozen: list[str], tmp_path: Path) -> None:
    shown, wanted = run(frozen, tmp_path, HELP), run([sys.executable], tmp_path, HELP)
    assert isinstance(wanted, dict) and len(wanted) > 40
    assert shown == wanted
