"""The full-screen replay, driven as a person drives it (Textual's pilot)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from rich.text import Text
from textual.pilot import Pilot
from textual.widgets import DataTable, Static, TabbedContent

from tests.unit.cli.reader_home import OTHER, SESSION, fill, make
from tests.unit.readers.world import fire
from ways.cli import session_list
from ways.cli.session_pick import timeline_from
from ways.cli.session_replay_screen import Loaded, ReplayApp
from ways.cli.session_replay_widgets import Gauge, Scrubber, cell_of, cells_of
from ways.core.roots import Roots
from ways.readers import source, stats
from ways.telemetry.log import append


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    roots = make(tmp_path, monkeypatch)
    fill(roots, tmp_path / "shop")
    return roots


def app_of(roots: Roots, load: Callable[[str], Loaded] | None = None) -> ReplayApp:
    def read(name: str) -> Loaded:
        events = source.session_events(roots.events, name)
        return Loaded(timeline_from(roots, name, events, bars=False), stats.collect(events))

    found = [summary for summary in session_list.read(roots) if summary.events]
    return ReplayApp(found, SESSION, roots.home, load or read)


def drive(
    app: ReplayApp, steps: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (120, 36)
) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await steps(pilot)

    asyncio.run(run())


async def settled(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def rows(app: ReplayApp, name: str) -> list[list[str]]:
    table = app.query_one(f"#{name}", DataTable)
    return [[str(cell) for cell in table.get_row_at(index)] for index in range(table.row_count)]


def words(app: ReplayApp, name: str) -> str:
    found = app.query_one(f"#{name}", Static).content
    return found.plain if isinstance(found, Text) else str(found)


def test_it_opens_with_the_newest_moment_of_the_session(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        assert SESSION in words(app, "title") and "~/shop" in words(app, "title")
        assert "epoch 3" in words(app, "moment")
        assert [row[:4] for row in rows(app, "active")] == [["a/b", "in 12,000 tokens", "2", "1"]]
        assert "20,000 of 200,000 tokens, 10%" in app.query_one(Gauge).render().plain
        assert len(rows(app, "sessions")) == 3

    drive(app, steps)


def test_arrows_move_and_blocked_rows_are_marked(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("home")
        assert app.frame_index == 0
        await pilot.press("right")
        assert [row[:2] for row in rows(app, "lines")][1:3] == [["⊘", "a/c"], ["◌", "a/d"]]
        await pilot.press("right", "left", "left", "left", "left")
        assert app.frame_index == 0
        await pilot.press("n")
        assert app.frame_index == 1
        await pilot.press("n", "n", "n")
        assert app.frame_index == 2
        await pilot.press("p", "end")
        assert app.frame_index == len(app.query_one(Scrubber)._frames) - 1
        await pilot.press("shift+left")
        assert app.frame_index == 0

    drive(app, steps)


def test_it_plays_to_the_end_and_stops(home: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ways.cli.session_replay_screen.SECONDS_A_FRAME", 0.02)
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        app.show_frame(0)
        await pilot.press("space")
        last = len(app.query_one(Scrubber)._frames) - 1
        for _ in range(400):
            if app.frame_index == last and not app.playing:
                break
            await pilot.pause(0.02)
        assert app.frame_index == last and not app.playing
        assert "paused" in words(app, "moment")

    drive(app, steps)


def test_playing_begins_anew_at_the_end_and_pauses(home: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ways.cli.session_replay_screen.SECONDS_A_FRAME", 1_000.0)
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        assert app.playing and app.frame_index == 0 and "playing" in words(app, "moment")
        await pilot.press("plus")
        assert app.playing and app.speed == 2.0
        await pilot.press("space")
        assert not app.playing and app.frame_index == 0
        await pilot.press("space", "right")
        assert not app.playing and app.frame_index == 2

    drive(app, steps)


def test_the_speed_has_ends(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        for _ in range(9):
            await pilot.press("plus")
        assert app.speed == 16.0 and "16×" in words(app, "moment")
        for _ in range(9):
            await pilot.press("minus")
        assert app.speed == 0.5

    drive(app, steps)


def test_tabs_show_fires_spend_and_stats(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        tabs = app.query_one("#tabs", TabbedContent)
        await pilot.press("2")
        assert tabs.active == "tab-fires"
        assert [row[1:4] for row in rows(app, "fires")] == [
            ["●", "a/b", "main"],
            ["⊘", "a/c", "main"],
            ["◌", "a/d", "main"],
            ["●", "x/sub", "helper"],
        ]
        await pilot.press("3")
        assert tabs.active == "tab-spend" and "1 judge call" in words(app, "spend-total")
        assert rows(app, "spend")[0][-2:] == ["$0.01000", "$0.01000"]
        await pilot.press("4")
        assert tabs.active == "tab-stats" and "a/b" in words(app, "stats")

    drive(app, steps)


def test_a_row_of_the_fires_is_a_moment_to_go_to(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("2")
        app.query_one("#fires", DataTable).focus()
        await pilot.press("enter")
        await pilot.pause()
        assert app.frame_index == 1 and app.query_one("#tabs", TabbedContent).active == "tab-replay"

    drive(app, steps)


def test_another_session_can_be_opened(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        app.query_one("#sessions", DataTable).focus()
        await pilot.press("down", "enter")
        await settled(pilot)
        assert OTHER in words(app, "title")
        assert [row[0] for row in rows(app, "active")] == ["z/other"]
        assert "was not asked" in words(app, "spend-total")

    drive(app, steps)


def test_a_click_on_the_timeline_moves_there(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.click("#scrubber", offset=(1, 0))
        await pilot.pause()
        assert app.frame_index == 1

    drive(app, steps)


def test_a_narrow_terminal_hides_the_list_until_it_is_wanted(home: Roots) -> None:
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        listed = app.query_one("#sessions", DataTable)
        assert not listed.display
        assert rows(app, "active")
        await pilot.press("s")
        assert listed.display
        await pilot.press("q")

    drive(app, steps, size=(80, 24))


def test_a_session_that_cannot_be_read_is_told_and_the_screen_stays(home: Roots) -> None:
    def load(name: str) -> Loaded:
        raise OSError(5, "Input/output error", name)

    app = app_of(home, load)

    async def steps(pilot: Pilot[None]) -> None:
        assert "cannot be read" in words(app, "title")
        await pilot.press("space", "right", "n", "plus", "2")

    async def run() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            for _ in range(50):
                await pilot.pause(0.02)
                if "cannot be read" in words(app, "title"):
                    break
            await steps(pilot)

    asyncio.run(run())


def test_markup_and_control_codes_of_the_log_stay_text(home: Roots) -> None:
    hostile = "a/[red]b[/red]\x1b[31m[/"
    append(home.events, [fire(hostile, 8, session=SESSION, trigger="[bold]", agent_id="main")])
    app = app_of(home)

    async def steps(pilot: Pilot[None]) -> None:
        assert rows(app, "active")[0][0] == "a/[red]b[/red][31m[/"
        await pilot.press("4")
        assert "[red]" in words(app, "stats")

    drive(app, steps)


def test_the_timeline_never_has_more_cells_than_frames(home: Roots) -> None:
    events = source.session_events(home.events, SESSION)
    frames = timeline_from(home, SESSION, events, bars=False).frames
    assert len(cells_of(frames, 3)) == 3 and len(cells_of(frames, 500)) == len(frames)
    assert cells_of(frames, 1) == ["blocked"]  # the most telling kind wins
    assert cell_of(len(frames) - 1, len(frames), 3) == 2 and cell_of(0, 0, 3) == 0


def test_the_screen_needs_no_highlighter() -> None:
    """The frozen program leaves pygments out."""
    import subprocess
    import sys

    code = (
        "import sys; sys.modules['pygments'] = None\n"
        "import ways.cli.session_replay_screen\n"
        "from textual.widgets import DataTable, Footer, Sparkline, Static, TabbedContent, TabPane\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
