"""Readers tolerate torn, foreign and old lines; the registry names every event and field."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ways.telemetry import events
from ways.telemetry.log import append, event
from ways.telemetry.reading import MAX_LINE, parse, read


def test_only_events_come_back(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [
        b'{"event": "a"}',
        b"",
        b"torn {",
        b"[]",
        b"5",
        b'{"n": "no event"}',
        b'{"event": 5}',
        b"\xff\xfe\x00",
        b'{"event": "old", "n": 5, "f": 1.5, "yes": true, "nothing": null, "deep": {"a": 1}}',
        b'{"event": "long", "x": "' + b"y" * (2 * MAX_LINE) + b'"}',
        b'{"event": "b"}',
        b'{"event": "torn',
    ]
    path.write_bytes(b"\n".join(lines))
    assert list(read(str(path))) == [
        {"event": "a"},
        {"event": "old", "n": "5", "f": "1.5", "yes": "true"},
        {"event": "b"},
    ]


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_no_log_is_no_events(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "events.jsonl"
    if kind == "folder":
        path.mkdir()
    assert list(read(str(path))) == []


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    line = event("way_fired", way="a—b", span='"\n\u2028')
    append(str(tmp_path / "events.jsonl"), [line])
    assert list(read(str(tmp_path / "events.jsonl"))) == [line]
    assert parse(b'{"event": "x", "n": NaN}') is None


SPECIFIED = {
    "session_start": "source",
    "way_fired": "token_position fire_score surface matched_span parent tree_depth epoch_distance team",
    "way_redisclosed": "token_position fire_score surface parent tree_depth epoch_distance team",
    "way_suppressed": "kind reason",
    "way_nearmiss": "corpus_id prob_en prob_multi tau_s margin query_tokens",
    "way_keyword_gated": "matched_span prob_en prob_multi floor token_position corpus_id",
    "check_fired": "check epoch way_epoch distance fire_count match_score effective_score anchored",
    "injection_suppressed": "reason switch lane agent",
    "way_judged": "p_yes threshold verdict mode engine judge_ms gate_ms candidates reason ancestor",
    "judge_call": "outcome reason engine provider candidates input_tokens output_tokens cache_read_tokens "
    "cache_write_tokens cost_usd cost_source",
    "gate_fallback": "reason gate_ms candidates",
    "gate_capped": "judged unjudged ways",
    "way_pulled": "token_position",
}


def test_the_registry_has_every_specified_event_and_field() -> None:
    assert set(events.BY_NAME) == set(SPECIFIED) and len(events.EVENTS) == len(SPECIFIED)
    for name, fields in SPECIFIED.items():
        assert set(fields.split()) <= {field for field, _ in events.BY_NAME[name].fields}
    assert "matched_span" not in dict(events.BY_NAME["way_redisclosed"].fields)


def test_the_registry_is_fit_for_a_reference_page() -> None:
    for kind in events.EVENTS:
        names = [name for name, _ in (*events.COMMON, *kind.fields)]
        assert len(names) == len(set(names)), kind.name
        assert kind.meaning.endswith(".")
        assert all(re.fullmatch(r"[a-z_]+", name) and meaning for name, meaning in kind.fields)
    assert len(dict(events.TRIGGERS)) == len(events.TRIGGERS)


def test_unknown_fields_are_named() -> None:
    assert events.unknown_fields(event("session_start", source="clear", session="s", colour="red")) == [
        "colour"
    ]
    assert events.unknown_fields(event("nonsense", way="x")) == ["event", "ts", "way"]


def logged() -> list[tuple[str, str, list[str]]]:
    """(place, event, fields) of every call in the program that logs an event by a literal name."""
    found = []
    for path in sorted((Path(events.__file__).parents[1]).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            name = node.args[0].value
            if called in {"log", "event"} and isinstance(name, str):
                fields = [keyword.arg for keyword in node.keywords if keyword.arg is not None]
                found.append((f"{path.name}:{node.lineno}", name, fields))
    return found


def test_the_program_logs_only_registered_events_and_fields() -> None:
    calls = logged()
    assert {name for _place, name, _fields in calls} >= {"session_start", "way_nearmiss"}
    for place, name, fields in calls:
        assert name in events.BY_NAME, place
        assert events.unknown_fields({"event": name, **dict.fromkeys(fields, "")}) == [], place
