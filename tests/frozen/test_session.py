"""The sessions that are played against the source, against the frozen program with no Python on the PATH."""

from __future__ import annotations

import pytest

from tests.e2e.test_session import *  # noqa: F403 - the same tests, with this folder's home
from tests.frozen.conftest import FrozenHome

pytestmark = pytest.mark.frozen


def test_the_home_is_the_frozen_programs(home: FrozenHome) -> None:
    assert '"build": "frozen"' in home.ways("--version", "--json")
