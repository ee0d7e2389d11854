"""Deleting a running program's folder later: what runs everywhere of it."""

from __future__ import annotations

import sys

import pytest

from windows import after_exit


def test_the_folder_is_a_literal() -> None:
    text = after_exit.command(r"C:\Users\O'Neil $x `d` & co\agent-ways\app", 42)
    assert "Wait-Process -Id 42 " in text
    assert r"-LiteralPath 'C:\Users\O''Neil $x `d` & co\agent-ways\app' -Recurse" in text


@pytest.mark.skipif(sys.platform == "win32", reason="what happens elsewhere")
def test_elsewhere_it_is_not_needed() -> None:
    with pytest.raises(NotImplementedError):
        after_exit.remove_folder("/nowhere")
