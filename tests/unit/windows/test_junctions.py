"""Junctions: what can be checked anywhere, and on Windows the thing itself."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from tests.unit.windows.machine import off_windows, on_real_windows
from windows import junctions


def test_reparse_data_has_the_documented_layout() -> None:
    data = junctions.reparse_data("C:\\App é")
    tag, length, reserved = struct.unpack_from("<IHH", data)
    assert (tag, length, reserved) == (0xA0000003, len(data) - 8, 0)
    at, size, printed_at, printed_size = struct.unpack_from("<HHHH", data, 8)
    names = data[16:]
    assert names[at : at + size].decode("utf-16-le") == "\\??\\C:\\App é"
    assert names[printed_at : printed_at + printed_size].decode("utf-16-le") == "C:\\App é"
    assert names[at + size : printed_at] == b"\0\0"
    assert names[printed_at + printed_size :] == b"\0\0"


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("\\\\?\\C:\\a", "C:\\a"),
        ("\\??\\C:\\a", "C:\\a"),
        ("\\\\?\\UNC\\server\\share", "\\\\server\\share"),
        ("C:\\a", "C:\\a"),
        ("/home/x", "/home/x"),
    ],
)
def test_plain_paths(given: str, written: str) -> None:
    assert junctions.plain(given) == written


def test_a_plain_folder_is_no_junction(tmp_path: Path) -> None:
    assert not junctions.is_junction(os.lstat(tmp_path))


@off_windows
def test_off_windows_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotImplementedError):
        junctions.place(str(tmp_path), str(tmp_path / "j"))


@on_real_windows
def test_a_junction_is_made_replaced_and_leads_to_its_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text(name)
        junctions.place(str(tmp_path / name), str(tmp_path / "j"))
        assert (tmp_path / "j" / "f").read_text() == name
        assert junctions.is_junction(os.lstat(tmp_path / "j"))
    assert sorted(os.listdir(tmp_path)) == ["j", "one", "two"]
