"""Frames, epochs, tokens and forecasts of a session, with and without a transcript."""

from __future__ import annotations

import pytest

from tests.unit.readers import generated
from tests.unit.readers.world import START, event, fire, said, typed, write_transcript
from ways.lanes.session_start import CLEARING_SOURCES
from ways.readers import growth, source, timeline
from ways.readers.document import page_data, thinned, timeline_data
from ways.readers.forecast import Cadence, in_words, tokens_left
from ways.readers.growth import EPOCH_TOOLS, Growth
from ways.readers.timeline import active_at, build, states

WINDOW = 200_000
TENTH = Cadence(0.1)


def made(events, growths=None, cadence=TENTH):
    return build(
        "s1",
        events,
        growths=growths or {},
        window_of=lambda _model: (WINDOW, "model_table"),
        cadence_of=lambda _way: cadence,
    )


def test_one_hook_call_is_one_frame():
    found = made(
        [
            event("way_nearmiss", 0, way="a/n"),
            event("way_judged", 0.1, way="a/b", verdict="block"),
            fire("a/c", 0.2, 1_000),
            fire("a/d", 0.2, 1_000, agent_id="sub"),
            fire("a/e", 5, 2_000),
            fire("a/f", 5.1, 2_000, hook="PreToolUse"),
        ]
    )
    assert [[line.way for line in frame.lines] for frame in found.frames] == [
        ["a/n", "a/b", "a/c"],
        ["a/d"],
        ["a/e"],
        ["a/f"],
    ]
    assert [line.mark for line in found.frames[0].lines] == ["~", "⊘", "●"]
    assert found.agents == ("main", "sub")
    assert not found.exact_epochs


def test_forecast_counts_down_with_the_tokens():
    found = made(
        [
            fire("a/b", 0, 10_000),
            event("way_suppressed", 10, way="a/b", token_position="18000"),
            event("way_suppressed", 20, way="a/b", token_position="30000"),
            event("way_redisclosed", 30, way="a/b", token_position="31000", trigger="bash"),
        ]
    )
    left = [active_at(found, index)[0].left for index in range(4)]
    assert left == [20_000, 12_000, 0, 20_000]
    last = active_at(found, 3)[0]
    assert (last.fires, last.trigger, last.shown_at) == (2, "bash", 31_000)
    assert active_at(found, 2)[0].forecast == "may show now"
    assert active_at(found, 1)[0].forecast == "in 12,000 tokens"


@pytest.mark.parametrize(
    ("cadence", "position", "left", "words"),
    [
        (Cadence(0.1), 5_000, 20_000, "in 20,000 tokens"),  # before the marker: distance 0
        (Cadence(0.0), 10_000, 0, "may show now"),
        (Cadence(0.15, once=True), 90_000, None, "after a reset"),
        (Cadence(None), 90_000, None, "way is gone"),
        (Cadence(10.0), 190_000, 1_820_000, "in 1,820,000 tokens"),
    ],
)
def test_forecasts(cadence, position, left, words):
    assert tokens_left(cadence, position, 10_000, WINDOW) == left
    assert in_words(cadence, left) == words


def test_a_clearing_start_empties_every_context_and_a_resume_does_not():
    assert timeline.CLEARING == CLEARING_SOURCES
    events = [
        fire("a/b", 0, 1_000),
        fire("a/c", 1, 1_000, agent_id="sub"),
        event("session_start", 10, source="resume", hook="SessionStart"),
        event("session_start", 20, source="compact", hook="SessionStart"),
        fire("a/d", 30, 500),
        event("way_suppressed", 31, agent_id="sub"),
    ]
    found = made(events)
    assert [[way.way for way in active] for _frame, active in states(found)] == [
        ["a/b"],
        ["a/c"],
        ["a/b"],
        [],
        ["a/d"],
        [],
    ]


def test_epochs_come_from_the_transcript(tmp_path):
    path = write_transcript(
        tmp_path / "s1.jsonl",
        [
            typed(1.0),
            said(2.0, 12_000, "Bash", "Edit"),
            said(3.0, 14_000, "Read"),
            typed(10.5),
            said(12.0, 20_000, "Bash"),
        ],
    )
    seen = growth.read(str(path))
    assert seen.epochs == (START + 1, START + 2, START + 2, START + 10.5, START + 12)
    assert seen.tokens_at(START + 2.5) == 12_000 and seen.tokens_at(START) is None
    found = made(
        [
            event("session_start", 0, source="startup", hook="SessionStart"),
            fire("a/b", 0.9, 0),
            event("way_suppressed", 2.1, hook="PreToolUse"),
            event("way_suppressed", 10, way="x"),
            fire("a/c", 12.2, 20_000, hook="PreToolUse"),
        ],
        {"main": seen},
    )
    assert found.exact_epochs
    assert [frame.epoch for frame in found.frames] == [0, 1, 3, 4, 5]
    assert [frame.position for frame in found.frames] == [0, 0, 12_000, 14_000, 20_000]
    assert [(way.way, way.epoch, way.distance) for way in active_at(found, 4)] == [
        ("a/c", 5, 0),
        ("a/b", 1, 4),
    ]


def test_without_a_transcript_a_check_corrects_the_epoch():
    found = made(
        [
            fire("a/b", 0),
            fire("a/c", 10, hook="PreToolUse"),
            event("check_fired", 20, hook="PreToolUse", check="a/b", epoch="9", way_epoch="1", distance="8"),
            fire("a/d", 30, hook="PreToolUse"),
        ]
    )
    assert [frame.epoch for frame in found.frames] == [1, 2, 9, 10]


def test_the_transcript_may_be_damaged(tmp_path):
    rows = [
        typed(1.0),
        {"type": "assistant", "timestamp": "no time", "message": {"usage": {"input_tokens": 9}}},
        said(2.0, 5_000, isSidechain=True),
        said(3.0, 6_000, isApiErrorMessage=True),
        {"type": "assistant", "timestamp": "2026-09-21T14:13:24Z", "message": 'text with "usage"'},
        {
            "type": "system",
            "subtype": "compact_boundary",
            "timestamp": "2026-09-21T14:30:00Z",
            "compactMetadata": 3,
        },
        said(4.0, 7_000, "Bash"),
        said(4.0, 7_000, "Bash"),
    ]
    path = write_transcript(tmp_path / "t.jsonl", rows, b'\xff\xfe{"usage"\n', b'{"usage": [1, {"torn"')
    seen = growth.read(str(path))
    assert [tokens for _at, tokens in seen.tokens] == [7_000, 7_000, 0]
    # One call that is written in two rows counts once.
    assert len(seen.epochs) == 2
    assert growth.read(str(tmp_path / "none")) == Growth()
    assert growth.read("") == Growth()
    assert growth.read(str(tmp_path)) == Growth()


def test_the_tools_of_an_epoch_are_those_of_the_hooks(payload_settings):
    matchers = {
        name
        for group in payload_settings["hooks"]["PreToolUse"]
        for name in group["matcher"].split("|")
        if not {"Task", "Agent", "TaskCreate"} & set(group["matcher"].split("|"))
    }
    assert matchers == EPOCH_TOOLS


@pytest.fixture
def payload_settings():
    import json
    from pathlib import Path

    return json.loads((Path(__file__).parents[3] / "projection/payload/settings.json").read_text("utf-8"))


def test_odd_values_are_no_numbers():
    found = made(
        [
            fire("a/b", 0, token_position="-5"),
            fire("a/c", 1, token_position="9" * 40),
            event("judge_call", 2, cost_usd="inf", input_tokens="many", output_tokens="7"),
            event("judge_call", 3, cost_usd="-1", outcome="ok"),
            {"event": "way_fired", "session": "s1", "way": "a/d"},
        ]
    )
    assert [frame.position for frame in found.frames] == [0] * len(found.frames)
    assert [(call.tokens_in, call.tokens_out, call.cost_usd) for call in found.calls] == [
        (0, 7, None),
        (0, 0, None),
    ]
    assert found.frames[-1].lines[-1].way == "a/d"


def test_one_pass_says_the_same_as_asking_for_each_frame():
    events = source.in_order(list(generated.lines(1_200, 3)))
    mine = [each for each in events if each["session"] == events[0]["session"]]
    found = made(mine)
    assert len(found.frames) > 100
    for frame, active in states(found):
        assert active == active_at(found, frame.index)
    assert active_at(found, -1) == [] and active_at(found, 10**9) == []


def test_no_events_make_an_empty_timeline():
    found = made([])
    assert found.frames == () and list(states(found)) == [] and found.agents == ()
    assert timeline_data(found)["frames"] == [] and page_data(found)["frames"] == []


def test_the_document_has_names_and_the_page_has_numbers():
    found = made([fire("a/b", 0, 1_000), event("judge_call", 1, cost_usd="0.5", input_tokens="10")])
    document = timeline_data(found)
    frame = document["frames"][0]
    assert frame["lines"][0] == {
        "kind": "fired",
        "mark": "●",
        "way": "a/b",
        "trigger": "keyword",
        "detail": "matched “x”",
    }
    assert frame["active"][0]["left"] == 20_000 and frame["active"][0]["refire"] == 0.1
    page = page_data(found)
    kind, way, trigger, _detail = page["frames"][0]["lines"][0]
    assert [page["texts"][index] for index in (kind, way, trigger)] == ["fired", "a/b", "keyword"]
    assert page["bars"]["Ways shown"] == [["a/b", 1]]
    assert page["calls"][0]["cost_usd"] == 0.5


def test_a_long_session_is_cut_for_the_page(monkeypatch):
    monkeypatch.setattr("ways.readers.document.MOST_FRAMES", 10)
    page = page_data(made([fire("a/b", at, at) for at in range(25)]))
    assert page["left_out"] == 15 and len(page["frames"]) == 10
    assert page["frames"][-1]["position"] == 24


def test_thinning_keeps_the_end():
    rows = [[float(number), number] for number in range(1_000)]
    assert thinned(rows, 5_000) == rows
    few = thinned(rows, 7)
    assert len(few) == 7 and few[-1] == rows[-1]
