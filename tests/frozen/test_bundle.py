"""What is in the archive: the layout that the installer expects, and nothing that breaks elsewhere."""

from __future__ import annotations

import json
import platform
import re
import stat
import tarfile
from pathlib import Path

import pytest

from build import archive, bundle, elf, freeze, licences, selftest, sizes
from projection import payload_manifest
from ways.embedding.paths import library_name

pytestmark = pytest.mark.frozen


def release(content: Path) -> dict[str, object]:
    return dict(json.loads((content / bundle.RELEASE).read_text("utf-8")))


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def test_the_archives_name_and_its_one_folder(
    packed: Path, content: Path, members: list[tarfile.TarInfo]
) -> None:
    told = release(content)
    assert packed.name == f"ways-{told['version']}-{told['platform']}.tar.gz"
    assert {member.name.split("/")[0] for member in members} == {f"ways-{told['version']}"}


def test_release_facts(content: Path) -> None:
    told = release(content)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(told["built"]))
    assert told["build"] == "frozen" and told["python"] == platform.python_version()
    assert re.fullmatch(r"([0-9a-f]{40}(-modified)?)?", str(told["commit"]))


def test_every_part_is_there(content: Path) -> None:
    for path in (
        *("bin/ways", f"lib/{library_name()}", "lib/llama.cpp.LICENSE.txt", "models/en.gguf"),
        *("models/en.LICENSE.txt", "hooks/ways/check-prompt.sh", "settings.json", "licenses/python.txt"),
        *("skills", "agents", "commands", "bin/_internal"),
    ):
        assert (content / path).exists(), path


def test_modules_that_are_loaded_by_name_have_their_tables(content: Path) -> None:
    inside = content / "bin" / "_internal"
    source = freeze.ROOT
    tables = [
        path.relative_to(source).as_posix()
        for package in ("ways", "installer", "projection", "windows")
        for path in (source / package).rglob("*")
        if path.is_file() and path.suffix not in {".py", ".pyc"} and "payload" not in path.parts
    ]
    assert "ways/session/windows.json" in tables
    for table in tables:
        assert (inside / table).read_bytes() == (source / table).read_bytes()


def test_the_manifest_equals_the_tree(content: Path) -> None:
    listed = payload_manifest.from_json((content / payload_manifest.NAME).read_bytes(), "the manifest")
    assert listed == payload_manifest.compute(str(content))
    there = {path.relative_to(content).as_posix() for path in content.rglob("*") if path.is_file()}
    assert there == {file.path for file in listed.files} | {payload_manifest.NAME}
    for file in listed.files:
        assert stat.S_IMODE((content / file.path).stat().st_mode) == file.mode, file.path


def test_the_archive_holds_plain_files_of_nobody(members: list[tarfile.TarInfo]) -> None:
    for member in members:
        assert member.isfile() or member.isdir(), f"{member.name} is a link or a device"
        assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
        assert not member.mode & 0o022, f"{member.name} can be written by others"
    assert len({member.mtime for member in members}) == 1


def test_scripts_have_unix_line_endings(content: Path) -> None:
    scripts = [path for path in content.rglob("*") if path.is_file() and bundle.is_script(path)]
    assert len(scripts) > 15
    for path in scripts:
        assert path.suffix == ".ps1" or b"\r" not in path.read_bytes(), path


def test_case_u07_the_newest_glibc_symbol_is_the_documented_minimum(content: Path) -> None:
    version, path = elf.glibc_needs(content)[0]
    told = release(content)["minimum"]
    assert told == {"glibc": ".".join(map(str, version))}, path
    assert version <= number(bundle.GLIBC_MOST)
    documented = (freeze.ROOT / "docs" / "building.md").read_text("utf-8")
    assert f"glibc {bundle.GLIBC_MOST}" in documented


def test_the_size_of_the_archive_is_within_its_budget_and_told_by_parts(packed: Path) -> None:
    assert packed.stat().st_size <= sizes.MOST_BYTES
    found = sizes.parts(packed)
    assert {"English model", "native engine", "Python", "payload", "textual", "modules of ways"} <= set(found)
    compressed = sum(small for _size, small in found.values())
    assert compressed == pytest.approx(packed.stat().st_size, rel=0.1)
    assert next(iter(found)) == "English model"
    shown = sizes.lines(found, packed.stat().st_size)
    assert len(shown) > 10 and f"{packed.stat().st_size / 1e6:.2f}" in shown[-1]


def test_every_library_has_its_licence(content: Path) -> None:
    texts = {path.name: path.read_text("utf-8") for path in (content / "licenses").iterdir()}
    inside = content / "bin" / "_internal"
    libraries = [path.name for path in inside.glob("lib*.so*") if not path.name.startswith("libpython")]
    assert len(libraries) > 3
    for library in libraries:
        named = [text for text in texts.values() if library in text.splitlines()[0].split(", ")]
        assert len(named) == 1 and len(named[0]) > 500, library
    for name in licences.distributions():
        assert texts[f"{name}.txt"]
    assert "cryptography.txt" not in texts and "numpy.txt" not in texts


def test_no_library_looks_into_the_building_machine(content: Path) -> None:
    for path in (content / "bin").rglob("*.so*"):
        assert all(part.startswith("$ORIGIN") for part in elf.search_path(path)), path


@pytest.mark.slow
def test_two_builds_hold_the_same_files(
    content: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = release(content)["built"]
    import calendar
    import time

    moment = calendar.timegm(time.strptime(str(built), "%Y-%m-%dT%H:%M:%SZ"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(moment))
    again = archive.unpack(freeze.freeze(tmp_path / "again"), tmp_path / "unpacked")
    first, second = payload_manifest.compute(str(content)), payload_manifest.compute(str(again))
    assert [(file.path, file.mode) for file in first.files] == [
        (file.path, file.mode) for file in second.files
    ]
    differing = {
        one.path for one, other in zip(first.files, second.files, strict=True) if one.sha256 != other.sha256
    }
    assert differing <= {bundle.RELEASE}, "only the commit may have moved on"


def test_the_trial_of_the_build_passes(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    selftest.run(packed)
    assert "the frozen program works" in capsys.readouterr().out
