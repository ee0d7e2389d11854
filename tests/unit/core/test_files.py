"""Atomic writes, private folders, and what they leave behind when they fail."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ways.core import files


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_write_replaces_the_whole_file_with_the_asked_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"a longer text that stood here before")
    path.chmod(0o644)
    files.write_atomic(str(path), b"new", durable=True)
    assert path.read_bytes() == b"new"
    assert mode_of(path) == 0o600
    assert os.listdir(tmp_path) == ["a"]


def test_mode_does_not_depend_on_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        files.write_atomic(str(tmp_path / "a"), b"", mode=0o644)
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a") == 0o644


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        files.write_atomic(str(tmp_path / "folder"), b"x")
    assert os.listdir(tmp_path) == ["folder"]
    with pytest.raises(FileNotFoundError):
        files.write_atomic(str(tmp_path / "missing" / "a"), b"x")


def test_a_long_name_in_another_script_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("道" * 80)
    files.write_atomic(str(path), b"x")
    assert path.read_bytes() == b"x"


def test_temporary_names_differ_and_stand_in_the_same_folder(tmp_path: Path) -> None:
    names = {files.temporary_name(str(tmp_path / "a")) for _ in range(100)}
    assert len(names) == 100
    assert {os.path.dirname(name) for name in names} == {str(tmp_path)}


def test_reading_is_bounded_and_a_fifo_does_not_block(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    assert len(files.read_bytes(str(tmp_path / "a"))) == 3_000_000
    assert len(files.read_bytes(str(tmp_path / "a"), 1_500_000)) == 1_500_000
    assert files.read_bytes_or_none(str(tmp_path)) is None
    assert files.read_bytes_or_none(str(tmp_path / "none")) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "fifo")
        assert files.read_bytes(str(tmp_path / "fifo")) == b""


def test_removing_is_quiet_only_about_absence(tmp_path: Path) -> None:
    files.remove_if_there(str(tmp_path / "none"))
    with pytest.raises(OSError):
        files.remove_if_there(str(tmp_path))


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_every_new_folder_is_private_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir(mode=0o755)
    (tmp_path / "old").chmod(0o755)
    files.make_private(str(tmp_path / "old" / "b" / "c"))
    files.make_private(str(tmp_path / "old" / "b" / "c"))
    assert mode_of(tmp_path / "old") == 0o755
    assert mode_of(tmp_path / "old" / "b") == 0o700
    assert mode_of(tmp_path / "old" / "b" / "c") == 0o700


def test_a_file_in_the_way_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(OSError):
        files.make_private(str(tmp_path / "a" / "b"))
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OSError):
        files.make_private(str(tmp_path / "dangling" / "b"))
