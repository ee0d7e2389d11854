"""What is refused in an archive, before a byte of it is written."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from installer import archive, versions
from projection.system import RealSystem
from tests.unit.installer.release_world import Releases, packed
from ways.core.errors import UNVERIFIED, UserError

TOP = "ways-1.0.0"


def info(kind: bytes, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo()
    found.type, found.linkname = kind, target
    return found


BAD: dict[str, dict[str, Any]] = {
    "climbs out": {f"{TOP}/../../evil": b"x"},
    "climbs out below": {f"{TOP}/lib/../../../evil": b"x"},
    "absolute": {"/etc/evil": b"x"},
    "absolute below": {f"{TOP}//etc/evil": b"x"},
    "another top": {"other/file": b"x"},
    "a longer top": {f"{TOP}x/file": b"x"},
    "the top is a file": {TOP: b"x"},
    "symlink out": {f"{TOP}/link": info(tarfile.SYMTYPE, "/etc")},
    "symlink inside": {f"{TOP}/link": info(tarfile.SYMTYPE, "file")},
    "through a link": {f"{TOP}/d": info(tarfile.SYMTYPE, "/tmp"), f"{TOP}/d/evil": b"x"},
    "hard link": {f"{TOP}/link": info(tarfile.LNKTYPE, "/etc/passwd")},
    "character device": {f"{TOP}/null": info(tarfile.CHRTYPE)},
    "block device": {f"{TOP}/disk": info(tarfile.BLKTYPE)},
    "pipe": {f"{TOP}/pipe": info(tarfile.FIFOTYPE)},
    "device name": {f"{TOP}/lib/NUL": b"x"},
    "device name with an ending": {f"{TOP}/com1.txt": b"x"},
    "device name as a folder": {f"{TOP}/aux/file": b"x"},
    "backslash": {f"{TOP}/..\\..\\evil": b"x"},
    "drive": {f"{TOP}/c:evil": b"x"},
    "stream": {f"{TOP}/file:stream": b"x"},
    "control character": {f"{TOP}/a\nb": b"x"},
    "trailing dot": {f"{TOP}/file.": b"x"},
    "trailing space": {f"{TOP}/dir /file": b"x"},
    "very long": {f"{TOP}/{'x' * 300}": b"x"},
    "twice in another case": {f"{TOP}/File": b"x", f"{TOP}/fILE": b"y"},
    "a file and a folder": {f"{TOP}/lib": b"x", f"{TOP}/Lib/file": b"y"},
    "empty": {},
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_archive_is_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    path = packed({f"{TOP}/good": b"good", **BAD[name]} if BAD[name] else {}, tmp_path / "a.tar.gz")
    with pytest.raises(UserError) as caught:
        archive.extract(RealSystem(), str(path), TOP, str(tmp_path / "out"))
    assert caught.value.exit_code == UNVERIFIED
    assert os.listdir(tmp_path) == ["a.tar.gz"]


def test_a_truncated_archive_is_damaged(tmp_path: Path, releases: Releases) -> None:
    whole = next((releases.folder / "archives").glob("ways-1.0.0-*")).read_bytes()
    path = tmp_path / "a.tar.gz"
    for size in (0, 10, len(whole) // 2, len(whole) - 9):
        path.write_bytes(whole[:size])
        with pytest.raises(UserError, match="damaged") as caught:
            archive.extract(RealSystem(), str(path), TOP, str(tmp_path / f"out{size}"))
        assert caught.value.exit_code == UNVERIFIED


def test_a_good_archive_comes_out_as_it_was_shipped(tmp_path: Path, releases: Releases) -> None:
    path = next((releases.folder / "archives").glob("ways-1.0.0-*"))
    out = tmp_path / "out"
    archive.extract(RealSystem(), str(path), TOP, str(out))
    assert versions.damage(RealSystem(), str(out)) == ""
    assert stat.S_IMODE((out / "bin/ways").stat().st_mode) == 0o755


def test_modes_are_ours_not_the_archives(tmp_path: Path) -> None:
    loose = tarfile.TarInfo()
    loose.mode, loose.size = 0o6777, 0
    path = packed({f"{TOP}/program": loose}, tmp_path / "a.tar.gz")
    archive.extract(RealSystem(), str(path), TOP, str(tmp_path / "out"))
    assert stat.S_IMODE((tmp_path / "out/program").stat().st_mode) == 0o755


def zipped(path: Path, members: dict[str, bytes], modes: dict[str, int] | None = None) -> Path:
    with zipfile.ZipFile(path, "w") as opened:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (modes or {}).get(name, 0o100644) << 16
            opened.writestr(entry, data)
    return path


def test_a_zip_goes_through_the_same_wall(tmp_path: Path) -> None:
    good = zipped(tmp_path / "good.zip", {f"{TOP}/bin/ways.exe": b"MZ", f"{TOP}/a/b": b"x"})
    archive.extract(RealSystem(), str(good), TOP, str(tmp_path / "out"))
    assert (tmp_path / "out/a/b").read_bytes() == b"x"
    for number, name in enumerate((f"{TOP}/../evil", "evil", f"{TOP}/nul")):
        bad = zipped(tmp_path / f"bad{number}.zip", {name: b"x"})
        with pytest.raises(UserError):
            archive.members(str(bad), TOP)
    link = zipped(tmp_path / "link.zip", {f"{TOP}/l": b"/etc"}, {f"{TOP}/l": 0o120777})
    with pytest.raises(UserError, match="plain files only"):
        archive.members(str(link), TOP)
    (tmp_path / "broken.zip").write_bytes(good.read_bytes()[:-8])
    with pytest.raises(UserError, match="damaged"):
        archive.members(str(tmp_path / "broken.zip"), TOP)


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 10)
    path = packed({f"{TOP}/a": b"x" * 6, f"{TOP}/b": b"x" * 6}, tmp_path / "a.tar.gz")
    with pytest.raises(UserError, match="larger than any release"):
        archive.members(str(path), TOP)
