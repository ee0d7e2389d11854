"""The background look-up: at most hourly, switched off where it should be, a whole hook answer or none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from installer import notice, update
from installer.switching import NOTICE
from projection.system import RealSystem
from tests.unit.installer.conftest import enter
from tests.unit.installer.release_world import Releases, World, serving
from ways.core import clock
from ways.core.errors import UserError
from ways.settings.load import Settings


def look(world: World, base: str, settings: Settings | None = None, **environ: str) -> str:
    environment = {**world.environ, update.BASE_VARIABLE: base, **environ}
    return notice.look(RealSystem(), world.roots, environment, settings or Settings())


def shown(world: World) -> Any:
    path = Path(world.roots.state, NOTICE)
    return json.loads(path.read_text()) if path.exists() else None


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of day, to be moved by the test."""
    now = [1_800_000_000.0]
    monkeypatch.setattr(clock, "now", lambda: now[0])
    return now


def test_a_newer_release_is_one_line_for_the_user(world: World, time: list[float]) -> None:
    assert look(world, world.releases.served) == "1.1.0"
    assert shown(world) == {
        "systemMessage": "ways 1.1.0 is available (installed: 1.0.0). To update: ways update"
    }


def test_at_most_hourly_also_when_it_fails(world: World, time: list[float]) -> None:
    with serving(world.releases.repository) as server:
        look(world, server.base)
        asked = len(server.asked)
        assert asked > 0
        time[0] += 3599
        assert look(world, server.base) == "1.1.0"
        assert len(server.asked) == asked
        time[0] += 2
        look(world, server.base)
        assert len(server.asked) > asked
    time[0] += 3601
    with pytest.raises(UserError):
        look(world, "http://127.0.0.1:9/")
    time[0] += 60
    assert look(world, "http://127.0.0.1:9/") == "1.1.0"


def test_a_clock_that_went_back_does_not_silence_it(world: World, time: list[float]) -> None:
    look(world, world.releases.served)
    time[0] -= 86_400
    with serving(world.releases.repository) as server:
        look(world, server.base)
        assert server.asked


def test_the_notice_goes_with_its_reason(world: World, time: list[float]) -> None:
    look(world, world.releases.served)
    assert shown(world)
    world.update()
    assert shown(world) is None
    assert look(world, world.releases.served) == ""
    assert shown(world) is None


@pytest.mark.parametrize(
    "off", [{"DISABLE_UPDATES": "1"}, {"CI": "true"}, {"WAYS_SAMPLE": "1"}, {"WAYS_PROBE": "1"}]
)
def test_switched_off_it_asks_nobody_and_tells_nothing(
    world: World, time: list[float], off: dict[str, str]
) -> None:
    look(world, world.releases.served)
    time[0] += 7200
    with serving(world.releases.repository) as server:
        assert look(world, server.base, **off) == ""
        assert server.asked == []
    assert shown(world) is None


def test_the_setting_switches_it_off_and_the_channel_counts(
    base: Path, fresh: Releases, monkeypatch: Any, time: list[float]
) -> None:
    home = World(base, fresh)
    enter(home, monkeypatch)
    fresh.add("1.2.0-beta.1")
    assert look(home, fresh.served, Settings(install_auto_check=False)) == ""
    assert not os.path.exists(Path(home.roots.state, notice.STAMP))
    assert look(home, fresh.served, Settings(install_channel="beta")) == "1.2.0-beta.1"


def test_development_and_managed_installations_are_left(world: World, time: list[float]) -> None:
    content = world.app / "versions/1.0.0"
    (content / update.MARKER).write_text('{"manager": "apt", "update": "apt upgrade ways"}')
    with serving(world.releases.repository) as server:
        assert look(world, server.base) == ""
        (content / update.MARKER).unlink()
        (content / "release.json").write_text('{"build": "source"}')
        assert look(world, server.base) == ""
        assert server.asked == []


@pytest.mark.parametrize("text", ["", "{", "[]", '{"at": "x", "newest": 1}'])
def test_a_damaged_stamp_is_no_stamp(world: World, time: list[float], text: str) -> None:
    Path(world.roots.state).mkdir(parents=True)
    Path(world.roots.state, notice.STAMP).write_text(text)
    assert look(world, world.releases.served) == "1.1.0"
