"""`ways session replay` on a terminal: sessions, a timeline to move along, and what held at each moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import DataTable, Footer, Sparkline, Static, TabbedContent, TabPane
from textual.worker import Worker, WorkerState

from ways.cli.report import money, plural, short_path, short_time
from ways.cli.session_replay_widgets import Gauge, Scrubber, colour
from ways.core.text import printable
from ways.readers import describe
from ways.readers.sessions import Summary
from ways.readers.stats import Stats
from ways.readers.timeline import Active, Frame, Timeline, active_at

SECONDS_A_FRAME = 0.8
SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
MOST_FIRES = 5_000
JUMP = 10
# Below this many columns the list of sessions is hidden at first.
NARROW = 90
_SHOWN = frozenset(
    {
        describe.FIRED,
        describe.AGAIN,
        describe.PULLED,
        describe.CHECK,
        describe.BLOCKED,
        describe.WOULD_BLOCK,
    }
)


@dataclass(frozen=True)
class Loaded:
    """One session, ready to be shown."""

    timeline: Timeline
    stats: Stats


class ReplayApp(App[None]):
    """The full-screen view. `load` reads one session and may take its time: it runs in a thread."""

    TITLE = "ways session replay"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #sessions { width: 34; border: round $primary; border-title-color: $text-muted; }
    #right { border: round $primary; padding: 0 1; }
    #title { height: auto; }
    #moment { height: auto; color: $text-muted; }
    #active { height: 2fr; }
    #spend { height: 1fr; }
    #lines { height: 1fr; min-height: 4; border-top: solid $primary; }
    DataTable { background: $surface; }
    Sparkline { height: 4; margin: 1 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play", priority=True),
        Binding("left", "step(-1)", "Back", priority=True),
        Binding("right", "step(1)", "On", priority=True),
        Binding("shift+left", f"step(-{JUMP})", show=False, priority=True),
        Binding("shift+right", f"step({JUMP})", show=False, priority=True),
        Binding("home", "edge(0)", "First", priority=True),
        Binding("end", "edge(1)", "Last", priority=True),
        Binding("n", "next_shown(1)", "Next way"),
        Binding("p", "next_shown(-1)", "Previous way"),
        Binding("plus,equals_sign", "speed(1)", "Faster"),
        Binding("minus", "speed(-1)", "Slower"),
        Binding("1", "tab('tab-replay')", show=False),
        Binding("2", "tab('tab-fires')", show=False),
        Binding("3", "tab('tab-spend')", show=False),
        Binding("4", "tab('tab-stats')", show=False),
        Binding("s", "sessions", "Sessions"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(
        self, sessions: Sequence[Summary], first: str, home: str, load: Callable[[str], Loaded]
    ) -> None:
        super().__init__()
        self._sessions = sessions
        self._first = first
        self._home = home
        self._load = load
        self._loaded: Loaded | None = None
        self._jumps: list[int] = []
        self.frame_index = 0
        self.speed = 1.0
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        with Horizontal():
            sessions: DataTable[Text] = DataTable(id="sessions", cursor_type="row", show_header=False)
            sessions.border_title = plural(len(self._sessions), "session")
            yield sessions
            with Vertical(id="right"):
                yield Static(id="title")
                yield Gauge(id="gauge")
                yield Scrubber(id="scrubber")
                yield Static(id="moment")
                with TabbedContent(id="tabs"):
                    with TabPane("Replay", id="tab-replay"), Vertical():
                        yield DataTable(id="active", cursor_type="none", zebra_stripes=True)
                        yield DataTable(id="lines", cursor_type="none", show_header=False)
                    with TabPane("Fires", id="tab-fires"):
                        yield DataTable(id="fires", cursor_type="row", zebra_stripes=True)
                    with TabPane("Spend", id="tab-spend"), Vertical():
                        yield Static(id="spend-total")
                        yield Sparkline([], id="spend-line")
                        yield DataTable(id="spend", cursor_type="none", zebra_stripes=True)
                    with TabPane("Stats", id="tab-stats"), VerticalScroll():
                        yield Static(id="stats")
        yield Footer()

    def on_mount(self) -> None:
        """Fill the list of sessions and read the first."""
        self._table("active").add_columns("Way", "May show again", "Distance", "Epoch", "Trigger", "Times")
        self._table("lines").add_columns("", "Way", "Trigger", "What")
        self._table("fires").add_columns("Time", "", "Way", "Agent", "Trigger", "Tokens", "What")
        self._table("spend").add_columns(
            "Time", "Outcome", "Provider", "Tokens in", "Tokens out", "Cost", "Sum"
        )
        listed = self._table("sessions")
        listed.add_column("session", width=27)
        for summary in self._sessions:
            listed.add_row(self._entry(summary), height=2, key=summary.session)
        names = [summary.session for summary in self._sessions]
        if self._first in names:
            listed.move_cursor(row=names.index(self._first))
        listed.focus()
        self._open(self._first)

    # Sessions

    def _entry(self, summary: Summary) -> Text:
        project = summary.project.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1] or summary.session[:8]
        text = Text(printable(f"{short_time(summary.newest)} {project}"), no_wrap=True, overflow="ellipsis")
        blocked = f" ⊘{summary.blocked}" if summary.blocked else ""
        would = f" ◌{summary.would_block}" if summary.would_block else ""
        text.append(printable(f"\n{summary.session[:8]} ●{summary.shown}{blocked}{would}"), style="dim")
        return text

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """A session is opened; a row of the fires is a moment to go to."""
        key = str(event.row_key.value)
        if event.data_table.id == "sessions":
            self._open(key)
        elif event.data_table.id == "fires":
            self.show_frame(int(key.partition(":")[0]))
            self.action_tab("tab-replay")

    def _open(self, session: str) -> None:
        self._pause()
        self.query_one("#title", Static).update(Text(f"Reading session {printable(session)} …", style="dim"))
        self.run_worker(
            lambda: self._load(session), thread=True, exclusive=True, name="load", exit_on_error=False
        )

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show what was read, or say why it could not be."""
        if event.worker.name != "load":
            return
        if event.state == WorkerState.SUCCESS and isinstance(event.worker.result, Loaded):
            self._show(event.worker.result)
        elif event.state == WorkerState.ERROR:
            problem = Text(printable(f"The session cannot be read: {event.worker.error}"), style="red")
            self.query_one("#title", Static).update(problem)

    def _show(self, loaded: Loaded) -> None:
        self._loaded = loaded
        timeline = loaded.timeline
        self._jumps = [
            frame.index for frame in timeline.frames if any(line.kind in _SHOWN for line in frame.lines)
        ]
        title = Text(printable(timeline.session), style="bold")
        about = [
            short_path(timeline.project, self._home),
            timeline.model,
            plural(len(timeline.agents), "agent"),
        ]
        title.append(printable("  " + "  ".join(part for part in about if part)), style="dim")
        self.query_one("#title", Static).update(title)
        self._fill_fires(timeline)
        self._fill_spend(timeline)
        self.query_one("#stats", Static).update(stats_text(loaded.stats))
        self.query_one(Scrubber).set_frames(timeline.frames, 0)
        self.show_frame(len(timeline.frames) - 1)

    # Moving

    def show_frame(self, index: int) -> None:
        """Show the moment with this number; numbers beyond the ends mean the ends."""
        if self._loaded is None:
            return
        timeline = self._loaded.timeline
        if not timeline.frames:
            self.query_one("#moment", Static).update("The log has no event of this session.")
            self._table("active").clear()
            self._table("lines").clear()
            return
        self.frame_index = max(0, min(len(timeline.frames) - 1, index))
        frame = timeline.frames[self.frame_index]
        self.query_one(Scrubber).set_index(self.frame_index)
        self.query_one(Gauge).set(frame.position, frame.window, timeline.window_source)
        self.query_one("#moment", Static).update(self._moment(timeline, frame))
        self._fill_active(active_at(timeline, self.frame_index), timeline.exact_epochs)
        self._fill_lines(frame)

    def on_scrubber_moved(self, event: Scrubber.Moved) -> None:
        """A click on the timeline."""
        self.show_frame(event.index)

    def action_step(self, by: int) -> None:
        """Some moments on or back; stops playing."""
        self._pause()
        self.show_frame(self.frame_index + by)

    def action_edge(self, last: int) -> None:
        """The first or the last moment."""
        self._pause()
        self.show_frame(1 << 40 if last else 0)

    def action_next_shown(self, direction: int) -> None:
        """The next or previous moment at which a way was shown or blocked."""
        self._pause()
        later = [index for index in self._jumps if (index - self.frame_index) * direction > 0]
        if later:
            self.show_frame(later[0] if direction > 0 else later[-1])

    def action_play(self) -> None:
        """Play from here, from the beginning when this is the end; or pause."""
        if self._timer is not None:
            self._pause()
        elif self._loaded is not None and self._loaded.timeline.frames:
            if self.frame_index >= len(self._loaded.timeline.frames) - 1:
                self.frame_index = -1
            self._timer = self.set_interval(SECONDS_A_FRAME / self.speed, self._tick)
            self._tick()

    def action_speed(self, by: int) -> None:
        """Play faster or slower."""
        place = max(0, min(len(SPEEDS) - 1, SPEEDS.index(self.speed) + by))
        self.speed = SPEEDS[place]
        if self._timer is not None:
            self._timer.stop()
            self._timer = self.set_interval(SECONDS_A_FRAME / self.speed, self._tick)
        self.show_frame(self.frame_index)

    def action_tab(self, name: str) -> None:
        """Turn to a tab."""
        self.query_one("#tabs", TabbedContent).active = name

    def action_sessions(self) -> None:
        """Show or hide the list of sessions."""
        listed = self._table("sessions")
        listed.display = not listed.display
        if listed.display:
            listed.focus()

    def on_resize(self, event: Resize) -> None:
        """A narrow terminal belongs to the replay; `s` brings the list back."""
        self._table("sessions").display = event.size.width >= NARROW

    @property
    def playing(self) -> bool:
        """True while the replay runs by itself."""
        return self._timer is not None

    def _tick(self) -> None:
        assert self._loaded is not None  # the timer runs only then
        self.show_frame(self.frame_index + 1)
        if self.frame_index >= len(self._loaded.timeline.frames) - 1:
            self._pause()

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            self.show_frame(self.frame_index)

    # Filling

    def _table(self, name: str) -> DataTable[Text]:
        return self.query_one(f"#{name}", DataTable)

    def _moment(self, timeline: Timeline, frame: Frame) -> Text:
        state = "playing" if self.playing else "paused"
        text = Text(f"{state} {self.speed:g}×  ", style="bold")
        text.append(f"{frame.index + 1} of {len(timeline.frames)}  ")
        about = "~" if not timeline.exact_epochs else ""
        stamp = frame.ts[:19].replace("T", " ")
        text.append(printable(f"{stamp} UTC  {frame.agent}  {frame.hook}  epoch {about}{frame.epoch}"))
        return text

    def _fill_active(self, active: Sequence[Active], exact: bool) -> None:
        table = self._table("active")
        table.clear()
        about = "" if exact else "~"
        for way in active:
            style = "dim" if way.left is None else "yellow" if way.left == 0 else ""
            cells = (
                way.way,
                way.forecast,
                f"{about}{way.distance}",
                f"{about}{way.epoch}",
                way.trigger.removeprefix("semantic:"),
                f"{way.fires}×",
            )
            table.add_row(
                *(
                    Text(printable(cell), style=style if place == 1 else "")
                    for place, cell in enumerate(cells)
                )
            )

    def _fill_lines(self, frame: Frame) -> None:
        table = self._table("lines")
        table.clear()
        for line in frame.lines:
            cells = (line.mark, line.way, line.trigger.removeprefix("semantic:"), line.detail)
            table.add_row(*(Text(printable(cell), style=colour(line.kind)) for cell in cells))

    def _fill_fires(self, timeline: Timeline) -> None:
        table = self._table("fires")
        table.clear()
        rows = [
            (frame, place)
            for frame in timeline.frames
            for place, line in enumerate(frame.lines)
            if line.kind in _SHOWN
        ]
        for frame, place in rows[-MOST_FIRES:]:
            line = frame.lines[place]
            trigger = line.trigger.removeprefix("semantic:")
            cells = (
                frame.ts[11:19],
                line.mark,
                line.way,
                frame.agent,
                trigger,
                f"{frame.position:,}",
                line.detail,
            )
            styled = [
                Text(printable(cell), style=colour(line.kind) if at == 1 else "")
                for at, cell in enumerate(cells)
            ]
            table.add_row(*styled, key=f"{frame.index}:{place}")

    def _fill_spend(self, timeline: Timeline) -> None:
        table = self._table("spend")
        table.clear()
        total, sums = 0.0, []
        for call in timeline.calls:
            total += call.cost_usd or 0.0
            sums.append(total)
            cost = "unknown" if call.cost_usd is None else f"${call.cost_usd:.5f}"
            numbers = (f"{call.tokens_in:,}", f"{call.tokens_out:,}", cost, f"${total:.5f}")
            cells = (call.ts[11:19], call.outcome, call.provider, *numbers)
            table.add_row(*(Text(printable(cell)) for cell in cells))
        self.query_one("#spend-line", Sparkline).data = sums
        self.query_one("#spend-total", Static).update(spend_text(timeline, total))


def spend_text(timeline: Timeline, total: float) -> str:
    """What the judge cost, in a sentence."""
    if not timeline.calls:
        return "The judge was not asked in this session."
    unknown = sum(call.cost_usd is None for call in timeline.calls)
    tokens = sum(call.tokens_in + call.tokens_out for call in timeline.calls)
    more = f"; the cost of {plural(unknown, 'call')} is not known" if unknown else ""
    return f"{plural(len(timeline.calls), 'judge call')}, {tokens:,} tokens, {money(total) or '$0'}{more}."


def stats_text(stats: Stats) -> Text:
    """Bars for the ways, the triggers and the number of ways a hook call."""
    text = Text()
    ways = [(way.way, way.shown) for way in stats.top(12) if way.shown]
    parts = (
        ("Ways shown", ways),
        ("By trigger", stats.triggers.most_common(10)),
        ("Judge", stats.verdicts.most_common()),
        ("Ways in one hook call", [(str(size), calls) for size, calls in sorted(stats.per_call.items())]),
        ("Checks", stats.checks.most_common(8)),
    )
    for title, rows in parts:
        if not rows:
            continue
        text.append(f"{title}\n", style="bold")
        width = max(len(name) for name, _count in rows)
        most = max(count for _name, count in rows)
        for name, count in rows:
            text.append(f"  {printable(name):<{width}} ")
            text.append("█" * max(1, round(30 * count / most)), style="green")
            text.append(f" {count}\n")
        text.append("\n")
    return text if text else Text("Nothing was shown in this session.", style="dim")
