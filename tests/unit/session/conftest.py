"""One session in a scratch sessions root."""

from __future__ import annotations

from pathlib import Path

import pytest

from ways.core.roots import Roots
from ways.session.state import Session, open_session


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    return Roots(*(str(tmp_path / name) for name in names))


@pytest.fixture
def session(roots: Roots) -> Session:
    opened = open_session(roots, "s-1")
    assert opened is not None
    return opened
