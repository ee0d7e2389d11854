from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from build import engine, packages
from tests.unit.embedding import parts
from ways.core.errors import UserError
from ways.embedding import native


@pytest.mark.model
def test_build_puts_library_and_licence_into_a_folder(tmp_path):
    parts.library()
    path = engine.build(tmp_path / "lib")
    assert path == tmp_path / "lib" / Path(parts.library()).name
    assert sorted(os.listdir(tmp_path / "lib")) == [engine.LICENCE_NAME, path.name]
    assert "MIT License" in (tmp_path / "lib" / engine.LICENCE_NAME).read_text("utf-8")
    assert isinstance(native.load(str(path)), native.Library)


@pytest.mark.model
def test_a_library_in_use_is_replaced_by_a_new_file(tmp_path):
    parts.library()
    path = engine.build(tmp_path)
    before = path.stat().st_ino
    engine.build(tmp_path)
    assert path.stat().st_ino != before


@pytest.mark.model
@pytest.mark.skipif(sys.platform != "linux", reason="reads an ELF file")
def test_the_library_shows_only_our_functions_and_needs_only_libc():
    nm, readelf = shutil.which("nm"), shutil.which("readelf")
    if not nm or not readelf:
        pytest.skip("no binutils")
    listed = subprocess.run(
        [nm, "-D", "--defined-only", parts.library()], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    assert names
    assert all(name.startswith("ways_") for name in names), names
    dynamic = subprocess.run(
        [readelf, "-d", parts.library()], capture_output=True, text=True, check=True
    ).stdout
    needed = {line.split("[")[1].rstrip("]") for line in dynamic.splitlines() if "NEEDED" in line}
    allowed = ("libc.so", "libm.so", "libpthread.so", "libdl.so", "ld-linux")
    assert all(name.startswith(allowed) for name in needed), needed
    assert "RUNPATH" not in dynamic
    assert "RPATH" not in dynamic


@pytest.mark.model
def test_the_command_prints_where_the_library_is(tmp_path):
    parts.library()
    command = [sys.executable, str(packages.HERE / "engine.py"), "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True)
    assert done.stdout.startswith(str(tmp_path / Path(parts.library()).name))


def test_the_key_names_what_the_library_depends_on(tmp_path, monkeypatch):
    here = engine.key()
    assert engine.key() == here
    assert engine.key("windows") != engine.key("macos")
    shutil.copytree(engine.NATIVE, tmp_path / "native")
    monkeypatch.setattr(engine, "NATIVE", tmp_path / "native")
    assert engine.key() == here
    with (tmp_path / "native" / "ways_native.cpp").open("a") as source:
        source.write("// changed\n")
    assert engine.key() != here


def test_missing_tools_are_all_named_before_anything_is_fetched(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(packages, "fetch", lambda *_: pytest.fail("nothing is to be fetched"))
    with pytest.raises(UserError) as caught:
        engine.build(tmp_path / "out", tmp_path / "cache")
    for name in ("cmake", "compiler", "ninja"):
        assert name in caught.value.message
    assert caught.value.next_command
    assert not (tmp_path / "out").exists()


def test_a_compiler_that_fails_is_quoted(tmp_path, monkeypatch):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("cmake", "ninja", "c++"):
        (tools / name).write_text("#!/bin/sh\necho 'no space left' >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    source = archive(tmp_path, {"include/llama.h": b"", "LICENSE": b"MIT", "models/big.bin": b"x"})
    monkeypatch.setattr(packages, "fetch", lambda *_: source)
    with pytest.raises(UserError, match="no space left"):
        engine.build(tmp_path / "out", tmp_path / "cache")
    left = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert left == []


def archive(folder: Path, files: dict[str, bytes], prefix: str = "x-1/vendor/llama.cpp/") -> Path:
    path = folder / "x-1.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(prefix + name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return path


def test_only_what_is_compiled_is_unpacked(tmp_path):
    source = archive(
        tmp_path, {"include/llama.h": b"", "src/a.cpp": b"", "models/big.bin": b"x", "docs/a.md": b""}
    )
    folder = engine._unpack(source, tmp_path / "out")
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == {"include/llama.h", "src/a.cpp"}


def test_an_archive_that_leads_outside_is_refused(tmp_path):
    source = archive(tmp_path, {"include/llama.h": b"", "src/../../../evil": b"x"})
    with pytest.raises((UserError, tarfile.FilterError)):
        engine._unpack(source, tmp_path / "deep" / "out")
    assert not (tmp_path / "evil").exists()


def test_an_archive_without_the_source_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"no llama\.cpp"):
        engine._unpack(archive(tmp_path, {"README": b""}), tmp_path / "out")
