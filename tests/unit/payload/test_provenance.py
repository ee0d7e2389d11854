"""The sidecars of shipped ways (docs/provenance.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.payload import shipped
from ways.audit.sidecar import NAME, parse

SIDECARS = [path for path in shipped.files() if path.name == NAME]


def test_some_ways_have_one() -> None:
    assert len(SIDECARS) >= 6


@pytest.mark.parametrize("path", SIDECARS, ids=lambda path: path.parent.name)
def test_a_shipped_sidecar_is_sound(path: Path) -> None:
    sidecar, faults = parse(path.read_bytes(), str(path))
    assert not faults
    assert sidecar.reviewed is not None and sidecar.controls
    assert (path.parent / f"{path.parent.name}.md").is_file()
    assert all(control.title for control in sidecar.controls)
