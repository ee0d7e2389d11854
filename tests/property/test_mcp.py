"""The tools answer or refuse whatever a client sends; an id never leaves the catalogue."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ways.catalogue.cache import load
from ways.catalogue.way import Catalogue, WayRoots
from ways.matching.types import NO_SIGNAL
from ways.mcp.lookup import BadRequest, Library, as_text
from ways.mcp.server import answer

SECRET = "SECRET-OUTSIDE"


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    top = tmp_path_factory.mktemp("mcp")
    (top / "outside.md").write_text(SECRET)
    for way_id in ("team", "team/deploy", "home"):
        folder = top / "ways" / way_id
        folder.mkdir(parents=True)
        (folder / f"{folder.name}.md").write_text(
            f"---\ndescription: About {way_id}\n---\nBODY of {way_id}\n"
        )
    return load(WayRoots(user=str(top / "ways")), str(top / "cache"))


ids = st.sampled_from(["team", "team/deploy", "../outside", "team/../../outside", "/etc/passwd", "team\0"])
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | ids
values = scalars | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
arguments = st.dictionaries(st.sampled_from(["id", "query", "limit", "path"]), values, max_size=3)


@settings(deadline=None)
@given(st.sampled_from(["ways_search", "ways_read", "ways_neighbors", "other"]), arguments)
def test_every_call_is_answered_or_refused(
    catalogue: Catalogue, tool: str, given_: dict[str, object]
) -> None:
    library = Library(
        catalogue=lambda: catalogue,
        switches=lambda: lambda way_id: way_id != "home",
        meaning=lambda text: NO_SIGNAL,
        near=lambda corpus_id, others: [(others[0], 0.5)],
    )
    try:
        found = answer(library, tool, given_)
    except BadRequest as error:
        assert str(error) and SECRET not in str(error)
        return
    assert SECRET not in repr(found) and as_text(found)
    if tool == "ways_read":
        assert given_["id"] in {"team", "team/deploy", "home"}
        assert found["guidance"] == f"BODY of {given_['id']}"
    if tool == "ways_search":
        rows = found["ways"]
        assert isinstance(rows, list) and all(row["id"] != "home" for row in rows)
