"""A timeline as plain data: for `--json`, and in a shorter form for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ways.readers import stats
from ways.readers.timeline import Active, Frame, Timeline, states

# A page with more moments of one session than this would be slow to open; the newest are kept.
MOST_FRAMES = 3_000
MOST_SAMPLES = 1_500


def timeline_data(timeline: Timeline) -> dict[str, Any]:
    """Everything, with names: frames with what happened (`lines`) and what was in the context (`active`)."""
    return {
        **_head(timeline),
        "frames": [
            {
                **_frame(frame),
                "lines": [{**asdict(line), "mark": line.mark} for line in frame.lines],
                "active": [_active(way) for way in active],
            }
            for frame, active in states(timeline)
        ],
        "calls": [asdict(call) for call in timeline.calls],
        "tokens": [list(sample) for sample in timeline.growth.tokens],
    }


def page_data(timeline: Timeline) -> dict[str, Any]:
    """The same for the page: texts stand once in `texts`, rows are lists of numbers, long sessions are cut.

    `lines` rows are [kind, way, trigger, detail]; `active` rows [way, trigger, epoch, distance, times,
    forecast, due].
    """
    table = _Texts()
    left_out = max(0, len(timeline.frames) - MOST_FRAMES)
    frames = []
    for frame, active in states(timeline):
        if frame.index < left_out:
            continue
        lines = [
            [table.of(line.kind), table.of(line.way), table.of(line.trigger), table.of(line.detail)]
            for line in frame.lines
        ]
        rows = [
            [
                table.of(way.way),
                table.of(way.trigger),
                way.epoch,
                way.distance,
                way.fires,
                table.of(way.forecast),
                int(way.left == 0),
            ]
            for way in active
        ]
        frames.append(
            {
                "at": round(frame.seconds, 3),
                "ts": frame.ts,
                "agent": table.of(frame.agent),
                "hook": table.of(frame.hook),
                "position": frame.position,
                "window": frame.window,
                "epoch": frame.epoch,
                "lines": lines,
                "active": rows,
            }
        )
    counted = stats.collect(event for frame in timeline.frames for event in frame.events)
    return {
        **_head(timeline),
        "left_out": left_out,
        "frames": frames,
        "calls": [asdict(call) for call in timeline.calls],
        "tokens": thinned([[round(at, 3), tokens] for at, tokens in timeline.growth.tokens], MOST_SAMPLES),
        "bars": {
            "Ways shown": [[way.way, way.shown] for way in counted.top(15) if way.shown],
            "By trigger": counted.triggers.most_common(12),
            "Judge": counted.verdicts.most_common(),
            "Ways in one hook call": [[str(size), calls] for size, calls in sorted(counted.per_call.items())],
            "Checks": counted.checks.most_common(10),
        },
        "texts": table.texts,
    }


def thinned(rows: Sequence[list[float]], most: int) -> list[list[float]]:
    """At most `most` rows, evenly taken, the last one among them."""
    if len(rows) <= most:
        return list(rows)
    step = len(rows) / most
    return [rows[min(len(rows) - 1, int((number + 1) * step) - 1)] for number in range(most)]


def _head(timeline: Timeline) -> dict[str, Any]:
    return {
        "session": timeline.session,
        "project": timeline.project,
        "model": timeline.model,
        "window": timeline.window,
        "window_source": timeline.window_source,
        "exact_epochs": timeline.exact_epochs,
        "agents": list(timeline.agents),
        "first": timeline.frames[0].ts if timeline.frames else "",
        "last": timeline.frames[-1].ts if timeline.frames else "",
    }


def _frame(frame: Frame) -> dict[str, Any]:
    names = ("index", "ts", "seconds", "agent", "hook", "model", "position", "window", "epoch")
    return {name: getattr(frame, name) for name in names}


def _active(way: Active) -> dict[str, Any]:
    cadence: Mapping[str, Any] = asdict(way.cadence)
    names = ("way", "trigger", "epoch", "distance", "shown_at", "fires", "left", "forecast")
    return {
        **{name: getattr(way, name) for name in names},
        "refire": cadence["part"],
        "once": cadence["once"],
    }


class _Texts:
    """Each text once, by number."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> int:
        """The number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number
