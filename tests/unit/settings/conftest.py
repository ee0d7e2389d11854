"""Roots in a scratch folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ways.core.roots import Roots


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    return Roots(*(str(tmp_path / name) for name in names))
