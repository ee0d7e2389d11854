"""`ways finish-install`, killed at every change that it makes to the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from installer import finish, path_edit, receipt
from installer.finish import Choices
from projection.system import Crash, CrashingSystem, RealSystem
from tests.unit.installer.install_world import make_content
from ways.core import roots as core_roots
from ways.core.errors import REFUSED, UserError
from ways.core.roots import Roots

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the POSIX layout")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "h").mkdir()
    (tmp_path / "h/.bashrc").write_bytes(b"mine")
    return {
        "HOME": str(tmp_path / "h"),
        "PATH": "/usr/bin:/bin",
        "SHELL": "/bin/bash",
        "XDG_RUNTIME_DIR": str(tmp_path),
    }


@pytest.fixture
def roots(environ: dict[str, str]) -> Roots:
    return core_roots.resolve(environ)


def place(roots: Roots, version: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A version in its place, and this process taken for its program."""
    folder = os.path.join(roots.app, "versions", version)
    if not os.path.isdir(folder):
        make_content(Path(folder), version)
    monkeypatch.setattr(finish, "version_folder", lambda: folder)
    return folder


def test_killed_at_every_change_the_next_run_converges(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place(roots, "1.0.0", monkeypatch)
    step = 0
    while True:
        step += 1
        try:
            finish.finish(CrashingSystem(step), roots, Choices("install.sh"), environ)
        except Crash:
            rc = Path(roots.home, ".bashrc").read_bytes()
            assert rc.startswith(b"mine")
            outcome = finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
            assert outcome.version == "1.0.0"
            assert Path(roots.home, ".bashrc").read_bytes().count(b"ways installer") == 1
            known = receipt.load(RealSystem(), roots)
            assert {edit.kind for edit in known.edits} >= {"link", "lines"}
            shutil.rmtree(roots.state)
            Path(roots.home, ".local/bin/ways").unlink()
            Path(roots.home, ".bashrc").write_bytes(b"mine")
            for name in ("current", "bin", "hooks", "skills"):
                os.unlink(os.path.join(roots.app, name))
            continue
        break
    assert step > 12


def test_the_receipt_names_an_edit_before_it_is_made(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(roots, "1.0.0", monkeypatch)
    for step in range(1, 200):
        try:
            finish.finish(CrashingSystem(step), roots, Choices("install.sh"), environ)
        except Crash:
            if Path(roots.home, ".local/bin").exists():
                known = receipt.load(RealSystem(), roots)
                assert {"link", "lines", "folder"} <= {edit.kind for edit in known.edits}
                return
    raise AssertionError("the link was never made")


def test_a_program_that_reports_another_version_is_switched_back(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(roots, "1.0.0", monkeypatch)
    finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
    newer = place(roots, "1.1.0", monkeypatch)
    Path(newer, "bin/ways").write_text("#!/bin/sh\nexit 7\n")
    with pytest.raises(UserError, match="did not work"):
        finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
    assert os.readlink(os.path.join(roots.app, "current")) == "versions/1.0.0"


def test_an_older_version_is_refused(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(roots, "1.1.0", monkeypatch)
    finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
    place(roots, "1.0.0", monkeypatch)
    with pytest.raises(UserError, match="newer than") as caught:
        finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
    assert caught.value.exit_code == REFUSED


def test_a_damaged_receipt_is_kept_aside(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place(roots, "1.0.0", monkeypatch)
    os.makedirs(roots.state)
    Path(receipt.path(roots)).write_text("{")
    finish.finish(RealSystem(), roots, Choices("install.sh"), environ)
    assert Path(receipt.path(roots) + ".damaged").read_text() == "{"
    assert receipt.load(RealSystem(), roots).version == "1.0.0"


def test_check_names_the_file_that_is_not_as_it_was_shipped(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = place(roots, "1.0.0", monkeypatch)
    finish.check(RealSystem())
    Path(folder, "hooks/ways/check-prompt.sh").write_text("x")
    with pytest.raises(UserError, match=r"check-prompt\.sh is not as it was shipped"):
        finish.check(RealSystem())


def test_a_program_outside_the_app_root_is_refused(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(finish, "version_folder", lambda: str(tmp_path / "elsewhere"))
    with pytest.raises(UserError, match="not a version below"):
        finish.finish(RealSystem(), roots, Choices("install.sh"), environ)


def test_installing_and_uninstalling_leaves_a_fresh_home_as_it_was(
    roots: Roots, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.is_dir() or path.read_bytes() for path in Path(roots.home).rglob("*")}
    made = tuple(os.path.join(roots.home, name) for name in (".local", ".local/share"))
    place(roots, "1.0.0", monkeypatch)
    finish.finish(RealSystem(), roots, Choices("install.sh", made_folders=made), environ)
    edits = receipt.load(RealSystem(), roots).edits
    for root in (roots.app, roots.state):
        shutil.rmtree(root)
    assert path_edit.withdraw(RealSystem(), edits) == ()
    assert {path: path.is_dir() or path.read_bytes() for path in Path(roots.home).rglob("*")} == before
