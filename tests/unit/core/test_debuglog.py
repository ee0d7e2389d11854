"""The debug log: one line a fault, bounded, and never in the way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ways.core import debuglog


def test_a_note_is_one_private_line(tmp_path: Path) -> None:
    root = tmp_path / "new" / "state"
    debuglog.note(str(root), "prompt", "two\nlines\x00 \ud800 end")
    debuglog.note(str(root), "stop", "x" * 5000)
    lines = (root / "debug.log").read_text("utf-8").splitlines()
    assert len(lines) == 2
    assert f" {os.getpid()} prompt: two lines" in lines[0]
    assert len(lines[1]) < 2100
    if os.name != "nt":
        assert stat.S_IMODE((root / "debug.log").stat().st_mode) == 0o600
        assert stat.S_IMODE(root.stat().st_mode) == 0o700


def test_the_file_starts_over_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debuglog, "MAX_BYTES", 200)
    for number in range(20):
        debuglog.note(str(tmp_path), "x", f"note {number}")
    text = (tmp_path / "debug.log").read_text()
    assert len(text) < 400 and "note 19" in text


def test_an_unusable_state_root_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    debuglog.note(str(tmp_path / "file"), "x", "y")
    (tmp_path / "debug.log").symlink_to(tmp_path / "file")
    debuglog.note(str(tmp_path), "x", "y")
    assert (tmp_path / "file").read_text() == "x"
