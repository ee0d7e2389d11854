"""The list of projects that may run their own macros."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ways.disclosure import trust


def test_add_list_remove(tmp_path: Path) -> None:
    target, project = tmp_path / "claude", tmp_path / "p"
    target.mkdir()
    project.mkdir()
    assert not trust.is_trusted(str(target), str(project))
    assert trust.add(str(target), str(project)) and not trust.add(str(target), str(project))
    assert trust.listed(str(target)) == [str(project)]
    assert trust.remove(str(target), str(project)) and not trust.remove(str(target), str(project))
    assert trust.listed(str(target)) == [] and list(target.iterdir()) == [], "an empty list goes"


def test_other_lines_of_the_file_stay(tmp_path: Path) -> None:
    file = tmp_path / trust.FILE_NAME
    file.write_bytes(b"# mine\n\n/elsewhere\nrelative/ignored")
    (tmp_path / "p").mkdir()
    trust.add(str(tmp_path), str(tmp_path / "p"))
    trust.remove(str(tmp_path), str(tmp_path / "p"))
    assert file.read_bytes() == b"# mine\n\n/elsewhere\nrelative/ignored\n"
    assert trust.listed(str(tmp_path)) == ["/elsewhere"]


def test_links_are_resolved_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / trust.FILE_NAME).write_text(f"{tmp_path}/link\n")
    assert trust.is_trusted(str(tmp_path), str(tmp_path / "real"))
    assert not trust.is_trusted(str(tmp_path), str(tmp_path))
    assert not trust.is_trusted(str(tmp_path), "")


def test_the_mode_of_the_users_file_stays(tmp_path: Path) -> None:
    file = tmp_path / trust.FILE_NAME
    file.write_text("/x\n")
    file.chmod(0o640)
    (tmp_path / "p").mkdir()
    trust.add(str(tmp_path), str(tmp_path / "p"))
    assert os.stat(file).st_mode & 0o777 == 0o640


def test_an_entry_ends_at_its_line_and_nowhere_else(tmp_path: Path) -> None:
    """U+2028 and its like end a line for Python's text, but not for the file."""
    project = tmp_path / "odd\u2028" / "etc"
    project.mkdir(parents=True)
    trust.add(str(tmp_path), str(project))
    assert trust.listed(str(tmp_path)) == [str(project)]
    assert trust.is_trusted(str(tmp_path), str(project)) and not trust.is_trusted(str(tmp_path), "/etc")


def test_a_name_with_a_line_end_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "x\n" / "etc"
    project.mkdir(parents=True)
    with pytest.raises(ValueError, match="not a line"):
        trust.add(str(tmp_path), str(project))
    assert not (tmp_path / trust.FILE_NAME).exists()


def test_a_damaged_line_is_nobody(tmp_path: Path) -> None:
    (tmp_path / trust.FILE_NAME).write_bytes(b"/a\0b\n/\xff\n" + os.fsencode(tmp_path) + b"\n")
    assert trust.is_trusted(str(tmp_path), str(tmp_path))
    assert not trust.is_trusted(str(tmp_path), "/a")
