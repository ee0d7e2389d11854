"""Imports point downward only (docs/architecture.md)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = ("ways", "projection", "installer", "windows", "build", "benchmarks", "tests")

# package -> the packages of ours that it may import besides itself
ENGINE_BASE = {"ways.core"}
STATE = {"ways.catalogue", "ways.session", "ways.telemetry", "ways.settings"}
ALLOWED: dict[str, set[str]] = {
    "ways.core": set(),
    "windows": ENGINE_BASE,
    "ways.catalogue": ENGINE_BASE | {"windows"},
    "ways.session": ENGINE_BASE,
    "ways.telemetry": ENGINE_BASE,
    "ways.settings": ENGINE_BASE | {"windows"},
    "ways.matching": ENGINE_BASE | {"ways.catalogue"},
    "ways.disclosure": ENGINE_BASE | STATE | {"ways.matching", "windows"},
    "ways.readers": ENGINE_BASE | STATE | {"ways.disclosure"},
    "ways.embedding": ENGINE_BASE | STATE | {"ways.matching", "windows"},
    "ways.gate": ENGINE_BASE | STATE | {"ways.embedding", "ways.disclosure", "ways.matching", "windows"},
    "ways.agent": ENGINE_BASE | STATE | {"ways.gate", "ways.embedding", "windows"},
    "ways.lanes": ENGINE_BASE
    | STATE
    | {"ways.matching", "ways.disclosure", "ways.embedding", "ways.gate", "windows"}
    | {"ways.commandline", "ways.attend", "ways.issues"},
    "ways.commandline": ENGINE_BASE,
    "ways.attend": ENGINE_BASE,
    "ways.issues": ENGINE_BASE | STATE | {"ways.gate", "ways.agent"},
    "ways.mcp": ENGINE_BASE | {"ways.catalogue", "ways.matching"},
    "ways.authoring": ENGINE_BASE | {"ways.catalogue", "ways.embedding", "ways.matching", "ways.settings"},
    "ways.projects": ENGINE_BASE,
    "ways.audit": ENGINE_BASE | {"ways.catalogue", "ways.settings", "ways.telemetry"},
    "projection": ENGINE_BASE | {"ways.settings", "windows"},
    "installer": ENGINE_BASE | {"ways.settings", "projection", "windows"},
}


def package_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:2]) if parts[0] == "ways" and len(parts) > 2 else parts[0]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, module) of every import of ours in a file, those inside functions included."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            assert not isinstance(node, ast.ImportFrom), f"{path}:{node.lineno}: a relative import"
            continue
        for name in names:
            if name.split(".")[0] in OWN:
                yield node.lineno, name


def files() -> list[Path]:
    found = []
    for package in ("ways", "projection", "installer", "windows"):
        found += [path for path in (ROOT / package).rglob("*.py") if "payload" not in path.parts]
    return sorted(found)


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downward(path: Path) -> None:
    package = package_of(path)
    if package in {"ways.cli", "ways"}:  # the command line, the entry point: everything but the tools
        wrong = [
            f"{line}: {name}" for line, name in imports(path) if name.split(".")[0] in {"tests", "benchmarks"}
        ]
    else:
        allowed = ALLOWED[package] | {package}
        wrong = []
        for line, name in imports(path):
            parts = name.split(".")
            target = ".".join(parts[:2]) if parts[0] == "ways" else parts[0]
            if target not in allowed and name not in {"ways", "ways.__version__"}:
                wrong.append(f"{line}: {name}")
    assert not wrong, f"{path.relative_to(ROOT)} may not import {wrong}"


def test_matching_is_pure() -> None:
    forbidden = {"os", "time", "io", "subprocess", "socket", "pathlib", "ways.core.clock", "ways.core.files"}
    for path in (ROOT / "ways/matching").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not forbidden & set(names), f"{path.name}: {names}"
