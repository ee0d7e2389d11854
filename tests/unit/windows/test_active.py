"""The active version where a Windows volume takes no junctions: recorded folders, and Windows' answers."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.unit.windows.machine import off_windows
from ways.core import active
from windows import junctions


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An app root as Windows has it; the functions take this machine for one."""
    monkeypatch.setattr(active, "os", SimpleNamespace(name="nt", path=os.path))
    for version in ("1.0.0", "1.1.0"):
        program = tmp_path / "versions" / version / "bin" / "ways.exe"
        program.parent.mkdir(parents=True)
        program.write_bytes(b"MZ")
    return tmp_path


def test_a_link_goes_before_the_file(app: Path) -> None:
    (app / "current.txt").write_text("1.1.0\n")
    (app / "current").mkdir()  # as a junction looks to whoever goes through it
    (app / "bin").mkdir()
    (app / "bin/ways.exe").write_bytes(b"MZ")
    assert active.folder(str(app)) == str(app / "current")
    assert active.program(str(app)) == str(app / "bin" / "ways.exe")


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_without_links_the_file_names_the_version(app: Path, ending: str) -> None:
    (app / "current.txt").write_bytes(f"1.1.0{ending}".encode())
    (app / "bin").mkdir()
    (app / "bin/ways.cmd").write_bytes(b"@echo off\r\n")
    assert active.folder(str(app)) == str(app / "versions" / "1.1.0")
    assert active.program(str(app)) == str(app / "versions" / "1.1.0" / "bin" / "ways.exe")


@pytest.mark.parametrize("name", ["", "..", "../x", "a\\b", "C:x", "%x%", ".hidden", '"1.0.0"'])
def test_a_name_that_is_no_folders_leads_nowhere(app: Path, name: str) -> None:
    (app / "current.txt").write_text(name)
    assert active.folder(str(app)) == str(app / "current")
    assert active.program(str(app)) == str(app / "bin" / "ways.exe")


def test_nothing_installed(app: Path) -> None:
    assert active.folder(str(app)) == str(app / "current")


@off_windows
def test_elsewhere_the_link_is_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "current.txt").write_text("1.0.0\n")
    assert active.folder(str(tmp_path)) == str(tmp_path / "current")
    assert active.program(str(tmp_path)) == str(tmp_path / "bin" / "ways")


@pytest.mark.parametrize(("number", "whole_volume"), [(50, True), (1, True), (5, False), (32, False)])
def test_which_answers_of_windows_mean_that_a_volume_takes_no_junctions(
    number: int, whole_volume: bool
) -> None:
    """50 is what Wine and network shares answer, 1 FAT; 5 (denied) and 32 (in use) are of the moment."""
    error = OSError(22, "recorded")
    error.winerror = number  # type: ignore[attr-defined,unused-ignore]
    found = junctions.refusal(error, "C:\\x")
    assert isinstance(found, junctions.NoJunctions) is whole_volume
    if whole_volume:
        assert (found.filename, found.strerror) == ("C:\\x", "this volume takes no junctions")
