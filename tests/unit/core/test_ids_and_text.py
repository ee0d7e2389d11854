"""Ids that may become paths, and text as it comes and goes."""

from __future__ import annotations

import os
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.core import clock, environment, ids, text
from ways.core.record import record, replace


@pytest.mark.parametrize("good", ["a", "A-1._z", "x" * 128, "550e8400-e29b-41d4-a716-446655440000"])
def test_usable_ids(good: str) -> None:
    assert ids.is_session_id(good)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        ".",
        "..",
        ".a",
        "a.",
        "a/b",
        "a\\b",
        "a\0",
        "a b",
        "é",
        "x" * 129,
        "x" * 300,
        "*",
        "$x",
        "../foo",
        "a:b",
        "CON",
        "nul.txt",
        "com1",
        None,
        7,
        b"a",
        ["a"],
        "a\n",
    ],
)
def test_case_h10_unusable_ids(bad: object) -> None:
    assert not ids.is_session_id(bad)


@given(st.text(max_size=140))
def test_a_usable_id_is_one_safe_path_component_everywhere(value: str) -> None:
    if ids.is_session_id(value):
        assert os.path.basename(value) == value
        assert PureWindowsPath(value).name == value
        assert not value.startswith(".")
        assert len(value) <= 128


@given(st.text(max_size=60))
def test_a_usable_way_id_stays_below_its_root(value: str) -> None:
    if ids.is_way_id(value):
        joined = os.path.normpath(os.path.join("/root", value))
        assert joined == f"/root/{value}"
        parts = PureWindowsPath("c:/root").joinpath(*value.split("/")).parts
        assert parts[:2] == ("c:\\", "root") and len(parts) == 2 + value.count("/") + 1


@pytest.mark.parametrize(
    "bad", ["", "/", "a//b", "a/", "/a", "a/..", "./a", "a:b", "a\\b", "a/con", "a. ", "a/b.", None]
)
def test_unusable_way_ids(bad: object) -> None:
    assert not ids.is_way_id(bad)


@given(st.text(alphabet=st.characters(), max_size=200), st.integers(0, 300))
def test_case_h08_a_cut_is_a_prefix_within_the_limit(value: str, limit: int) -> None:
    cut = text.cut_bytes(value, limit)
    assert len(cut.encode("utf-8")) <= limit
    assert text.clean(value).startswith(cut)
    rest = text.clean(value)[len(cut) : len(cut) + 1]
    assert not rest or len((cut + rest).encode("utf-8")) > limit
    units = text.cut_utf16(text.clean(value), limit)
    assert len(units.encode("utf-16-le")) // 2 <= limit
    assert text.clean(value).startswith(units)


def test_case_h08_an_em_dash_across_every_cut() -> None:
    for lead in range(8):
        value = "x" * lead + "—" * 20
        for limit in range(40):
            assert text.cut_bytes(value, limit) == value[: lead + max(0, limit - lead) // 3][:limit]


@given(st.text(alphabet=st.characters(categories=None), max_size=50))  # type: ignore[arg-type]
def test_clean_text_can_be_encoded_and_measured(value: str) -> None:
    cleaned = text.clean(value)
    assert "\0" not in cleaned
    assert text.utf16_length(cleaned) == len(cleaned.encode("utf-16-le")) // 2
    assert text.clean(cleaned) == cleaned


def test_printable_drops_escapes_and_reordering_marks() -> None:
    assert text.printable("a\x1b[31mb\u202ec\u2066d\x9be\tf\n") == "a[31mbcde\tf\n"


def test_snippet_is_one_bounded_line() -> None:
    assert text.snippet(" a\n b\t c ") == "a b c"
    assert len(text.snippet("word " * 500)) == 120


@given(st.binary(max_size=50))
def test_decoding_never_fails(data: bytes) -> None:
    assert text.decode(b"\xef\xbb\xbf" + data)[:1] != "\ufeff" or data.startswith(b"\xef\xbb\xbf")


def test_times_are_utc_with_milliseconds() -> None:
    assert clock.utc_iso(0) == "1970-01-01T00:00:00.000Z"
    assert clock.utc_iso(1_700_000_000.9996) == "2023-11-14T22:13:20.999Z"
    assert clock.utc_stamp(1_700_000_000.9) == "20231114T221320Z"


def test_a_frozen_programs_loader_variables_do_not_reach_children(monkeypatch: pytest.MonkeyPatch) -> None:
    given_environment = {
        "LD_LIBRARY_PATH": "/bundle",
        "LD_LIBRARY_PATH_ORIG": "/mine",
        "LD_PRELOAD": "/x",
        "_PYI_ARCHIVE": "1",
        "A": "b",
    }
    plain = environment.child_environment(given_environment)
    assert plain["LD_LIBRARY_PATH"] == "/bundle" and "_PYI_ARCHIVE" not in plain
    monkeypatch.setattr("sys.frozen", True, raising=False)
    given_environment |= {"LIBPATH": "/bundle", "PYINSTALLER_CONFIG_DIR": "/mine"}
    assert environment.child_environment(given_environment) == {
        "LD_LIBRARY_PATH": "/mine",
        "LD_PRELOAD": "/x",
        "PYINSTALLER_CONFIG_DIR": "/mine",
        "A": "b",
    }
    assert environment.platform_name("darwin") == "macos"
    assert environment.platform_name("win32") == "windows"
    assert environment.platform_name("linux") == "linux"


def test_case_u06_a_frozen_program_gives_itself_the_users_environment_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For children that other code starts, a pager say; what we start ourselves sees the same after it."""
    monkeypatch.setattr(environment, "_restored", [])
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle:/mine")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/mine")
    monkeypatch.setenv("LIBPATH", "/bundle")
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "/bundle/ways")
    environment.restore()
    assert os.environ["LIBPATH"] == "/bundle", "from source nothing is changed"
    monkeypatch.setattr("sys.frozen", True, raising=False)
    for _ in range(2):
        environment.restore()
        for values in (dict(os.environ), environment.child_environment()):
            assert values["LD_LIBRARY_PATH"] == "/mine"
            assert not {"LD_LIBRARY_PATH_ORIG", "LIBPATH", "_PYI_ARCHIVE_FILE"} & set(values)


@record
class Point:
    x: int
    y: int = 2


def test_records_are_immutable_values() -> None:
    point = Point(1)
    assert point == Point(x=1, y=2) and hash(point) == hash(Point(1)) and repr(point) == "Point(x=1, y=2)"
    assert replace(point, y=5) == Point(1, 5)
    with pytest.raises(AttributeError):
        point.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del point.x
    for arguments, named in (((), {}), ((1, 2, 3), {}), ((1,), {"x": 1}), ((1,), {"z": 1})):
        with pytest.raises(TypeError):
            Point(*arguments, **named)
