"""A sidecar is read whatever it holds."""

from __future__ import annotations

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.audit.sidecar import FIELDS, parse

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.dates()
names = st.sampled_from([*FIELDS, "name", "id", "framework", "claim", "coverage"]) | st.text(max_size=6)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.binary(max_size=200) | documents.map(lambda value: yaml.safe_dump(value).encode("utf-8")))
def test_no_sidecar_breaks_the_parser(data: bytes) -> None:
    sidecar, faults = parse(data, "provenance.yaml")
    assert faults or sidecar.policies or sidecar.controls
    for control in sidecar.controls:
        assert control.framework and control.id and control.claim
    assert all(str(fault).startswith("provenance.yaml") for fault in faults)
