"""The two widgets that Textual does not have: the timeline with its position, and the gauge of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from ways.readers import describe
from ways.readers.timeline import Frame

# The most telling kind of a stretch of frames decides its colour and mark.
ORDER = (
    describe.BLOCKED,
    describe.WOULD_BLOCK,
    describe.FIRED,
    describe.AGAIN,
    describe.PULLED,
    describe.CHECK,
    describe.TROUBLE,
    describe.START,
    describe.NEAR,
    describe.PASSED,
    describe.HELD,
    describe.CALL,
    describe.OTHER,
)
COLOURS = {
    describe.FIRED: "green",
    describe.AGAIN: "cyan",
    describe.PULLED: "cyan",
    describe.CHECK: "blue",
    describe.BLOCKED: "red",
    describe.WOULD_BLOCK: "yellow",
    describe.PASSED: "green dim",
    describe.START: "magenta",
    describe.TROUBLE: "red",
}


def colour(kind: str) -> str:
    """The style of a kind of line."""
    return COLOURS.get(kind, "dim")


class Scrubber(Widget):
    """The frames of a session from left to right, with the one that is shown marked. A click moves there."""

    DEFAULT_CSS = "Scrubber { height: 2; }"

    class Moved(Message):
        """The user chose a frame."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.index = index

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._frames: Sequence[Frame] = ()
        self._index = 0

    def set_frames(self, frames: Sequence[Frame], index: int) -> None:
        """Show other frames."""
        self._frames = frames
        self.set_index(index)

    def set_index(self, index: int) -> None:
        """Mark another frame."""
        self._index = index
        self.refresh()

    def render(self) -> Text:
        """Two lines: marks, and the cursor below them."""
        width = max(1, self.size.width)
        if not self._frames:
            return Text("no moment on record", style="dim")
        cells = cells_of(self._frames, width)
        marks = Text(no_wrap=True)
        for kind in cells:
            marks.append(describe.MARKS[kind], style=colour(kind))
        at = cell_of(self._index, len(self._frames), len(cells))
        line = Text("─" * at, style="dim")
        line.append("▲", style="bold")
        line.append("─" * (len(cells) - at - 1), style="dim")
        return Text.assemble(marks, "\n", line)

    def on_click(self, event: Click) -> None:
        """Move to the frame under the pointer."""
        if not self._frames:
            return
        width = min(max(1, self.size.width), len(self._frames))
        index = min(len(self._frames) - 1, max(0, event.x) * len(self._frames) // width)
        self.post_message(self.Moved(index))


def cells_of(frames: Sequence[Frame], width: int) -> list[str]:
    """One kind for each cell of a line of at most `width` cells; never more cells than frames."""
    count = min(width, len(frames))
    rank = {kind: place for place, kind in enumerate(ORDER)}
    best = [len(ORDER) - 1] * count
    for index, frame in enumerate(frames):
        cell = cell_of(index, len(frames), count)
        best[cell] = min(best[cell], *(rank[line.kind] for line in frame.lines))
    return [ORDER[place] for place in best]


def cell_of(index: int, frames: int, cells: int) -> int:
    """The cell in which a frame stands."""
    return min(cells - 1, index * cells // frames) if frames else 0


class Gauge(Widget):
    """How much of the context window is in use."""

    DEFAULT_CSS = "Gauge { height: 1; }"

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._position = 0
        self._window = 0
        self._note = ""

    def set(self, position: int, window: int, note: str) -> None:
        """Tokens in use, the window in tokens, and a word on where the number is from."""
        self._position, self._window, self._note = position, window, note
        self.refresh()

    def render(self) -> Text:
        """A bar and the numbers."""
        if not self._window:
            return Text("")
        part = self._position / self._window
        told = f" {self._position:,} of {self._window:,} tokens, {part:.0%} ({self._note})"
        cells = max(10, min(50, self.size.width - len(told)))
        full = min(cells, round(part * cells))
        style = "red" if part >= 0.9 else "yellow" if part >= 0.7 else "green"
        return Text.assemble(("█" * full, style), ("░" * (cells - full), "dim"), told)
