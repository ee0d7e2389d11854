"""Whose licence goes along with a bundle, and that nothing goes without."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from build import licences, system_libraries
from ways.core.errors import UserError


def library(folder: Path, name: str = "libstrange.so.4") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(b"\x7fELF")
    return path


def test_a_library_that_nobody_gives_a_licence_for_stops_the_build(tmp_path: Path) -> None:
    path = library(tmp_path / "a" / "b" / "c" / "lib")
    with pytest.raises(UserError) as caught:
        system_libraries.texts({"libstrange.so.4": str(path)})
    assert str(path) in caught.value.message
    assert "libstrange.txt" in caught.value.next_command


def test_a_licence_that_lies_beside_a_library_is_taken(tmp_path: Path) -> None:
    path = library(tmp_path / "Cellar" / "strange" / "4.2" / "lib")
    (tmp_path / "Cellar" / "strange" / "4.2" / "LICENSE.md").write_text("do as you like")
    found = system_libraries.texts({"libstrange.so.4": str(path)})
    assert found == {"libstrange": "libstrange.so.4\n\ndo as you like"}


def test_a_licence_that_is_kept_in_the_checkout_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_libraries, "CARRIED", tmp_path / "carried")
    (tmp_path / "carried").mkdir()
    (tmp_path / "carried" / "libstrange.txt").write_text("kept")
    path = library(tmp_path / "a" / "b" / "c" / "lib")
    assert system_libraries.texts({"libstrange.so.4": str(path)})["libstrange"].endswith("kept")


def test_a_library_of_pythons_own_folder_has_pythons_licence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "python"))
    assert system_libraries.owner_of(library(tmp_path / "python" / "lib")) is None
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    with pytest.raises(UserError):
        system_libraries.owner_of(library(tmp_path / "usr" / "local" / "my" / "lib"))


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="dpkg knows which package a library is of")
def test_a_debian_librarys_licence_and_those_that_it_refers_to() -> None:
    path = next(Path("/lib").glob("*-linux-gnu/libgcc_s.so.1"))
    found = system_libraries.texts({"libgcc_s.so.1": str(path)})
    (name,) = (name for name in found if not name.startswith("common-"))
    assert found[name].startswith(f"libgcc_s.so.1\n\n{name} ")
    assert "GCC RUNTIME LIBRARY EXCEPTION" in found[name].upper()
    assert "GNU GENERAL PUBLIC LICENSE" in found["common-GPL-3"]


def test_what_is_bundled_and_not_required_has_its_licence_too(tmp_path: Path) -> None:
    """The requirements may have changed since; what counts is what the bundle holds."""
    assert "hypothesis" not in licences.distributions()
    assert licences.providers(("hypothesis", "json", "ways", "nobodys")) == {"hypothesis"}
    licences.write(tmp_path / "licenses", licences.Bundled(("hypothesis",)))
    assert "Mozilla" in (tmp_path / "licenses" / "hypothesis.txt").read_text("utf-8")


def test_the_list_of_what_is_bundled_can_be_read_back(tmp_path: Path) -> None:
    from build.pyinstaller import shaping

    site = str(tmp_path / "site-packages" / "x" / "libx.so.1")
    path = tmp_path / shaping.LISTING
    shaping.list_contents(
        path,
        [("click.core", "core.py", "PYMODULE-2"), ("click", "__init__.py", "PYMODULE-2")],
        [
            ("libz.so.1", "/lib/libz.so.1", "BINARY"),
            ("x/libx.so.1", site, "BINARY"),
            ("yaml/_yaml.cpython-311.so", "_yaml.so", "EXTENSION"),
            ("_cffi_backend.cpython-311.so", "_cffi.so", "EXTENSION"),
        ],
    )
    assert licences.read(path) == licences.Bundled(
        ("_cffi_backend", "click", "yaml"), {"libz.so.1": "/lib/libz.so.1"}
    )
