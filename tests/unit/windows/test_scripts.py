"""The PowerShell scripts: parsed by a grammar of PowerShell, and, where there is one, by PowerShell itself.

No PowerShell can be had from the registries for Linux, so here they are only read; the release job runs them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import windows
from tests.unit.windows.machine import is_wine

FOLDER = Path(windows.__file__).parent
SCRIPTS = sorted(FOLDER.glob("*.ps1"))
INSTALL = FOLDER / "install.ps1"


def tree(path: Path) -> object:
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_powershell")
    return tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(path.read_bytes()).root_node


def nodes(root: object) -> Iterator[object]:
    yield root
    for child in root.children:  # type: ignore[attr-defined]
        yield from nodes(child)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_parses(path: Path) -> None:
    lines = path.read_text("utf-8").splitlines()
    wrong = [
        f"line {node.start_point[0] + 1}: {lines[node.start_point[0]].strip()}"  # type: ignore[attr-defined]
        for node in nodes(tree(path))
        if node.type == "ERROR" or node.is_missing  # type: ignore[attr-defined]
    ]
    assert wrong == []


def calls(root: object) -> set[str]:
    return {
        node.text.decode().lower()  # type: ignore[attr-defined]
        for node in nodes(root)
        if node.type == "command_name"  # type: ignore[attr-defined]
    }


def functions(root: object) -> set[str]:
    return {
        node.text.decode().lower()  # type: ignore[attr-defined]
        for node in nodes(root)
        if node.type == "function_name"  # type: ignore[attr-defined]
    }


# What Windows PowerShell 5.1 has as well.
KNOWN = {
    *("add-type", "convertfrom-json", "foreach-object", "get-item", "get-process", "join-path", "new-item"),
    *("new-object", "out-host", "out-null", "split-path", "start-sleep", "test-path", "write-host"),
    *("write-verbose", "write-warning"),
}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_calls_only_what_it_defines_or_what_every_powershell_has(path: Path) -> None:
    root = tree(path)
    assert calls(root) - functions(root) - KNOWN == set()
    if path == INSTALL:
        assert {name for name in functions(root) if name not in calls(root)} == set()


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_it_keeps_to_the_language_of_windows_powershell(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text.isascii(), "5.1 reads a script without a BOM in the machine's own encoding"
    assert "Get-FileHash" not in text
    assert "setx" not in text.lower()
    for newer in (r"\?\?", r"\?\.", r"&&", r"\|\|", r"-Parallel", r"\s\?\s[^:\n]+\s:\s"):
        code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
        assert re.search(newer, re.sub(r"'[^'\n]*'", "''", code)) is None, newer


def test_only_the_last_line_of_install_leaves() -> None:
    lines = INSTALL.read_text("utf-8").splitlines()
    leaving = [number for number, line in enumerate(lines, 1) if re.search(r"(^|[{;]\s*)exit\b", line)]
    assert leaving == [len(lines)]


def test_install_has_one_place_for_the_published_base() -> None:
    found = re.findall(r"(?m)^\$ReleaseBase = ''", INSTALL.read_text("utf-8"))
    assert len(found) == 1


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_powershell_itself_parses_it(path: Path) -> None:
    shells = [found for name in ("powershell", "pwsh") if (found := shutil.which(name))]
    if not shells or is_wine():  # Wine's own powershell.exe does nothing and reports success
        pytest.skip("there is no PowerShell here")
    check = (
        "$e = $null; "
        "[void][Management.Automation.Language.Parser]::ParseFile($args[0], [ref]$null, [ref]$e); "
        "$e | ForEach-Object { $_.Message }; exit $e.Count"
    )
    for shell in shells:
        done = subprocess.run(
            [shell, "-NoProfile", "-Command", f"& {{ {check} }} '{path}'"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
