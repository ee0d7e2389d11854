"""Death at every step (case s06): whatever a run was doing, every command that settings.json registers
leads to a program, nothing of the user's is lost, and the next run comes to the same end.

Each scenario is run once to its end, then again and again from the same start, dying one step later
each time: by SIGKILL in a child, which leaves what a dead process leaves, and by an exception.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from projection.system import Crash, CrashingSystem, KillingSystem, RealSystem, System
from tests.unit.projection.world import World, tree

# Histories: they may hold more after a crash than without one.
HISTORY = r"agent-ways/(locks|kept|backups)|settings-backups"
LEFTOVER = (".ways-tmp-", ".staging-")

Step = Callable[[World], None]
Act = Callable[[World, System], object]


def users_files(world: World) -> None:
    world.write("a/settings.json", '{\n\t"model": "opus",\n\t"hooks": {}\n}')
    world.write("a/skills/mine/SKILL.md", "user: skill")
    world.write("a/hooks/mine.sh", "user: hook")
    world.write("b/CLAUDE.md", "user: notes")


def one(world: World) -> None:
    users_files(world)
    world.list_targets("~/a")


def two(world: World) -> None:
    users_files(world)
    world.list_targets("~/a", "~/b")


def installed(mode: str) -> Step:
    def setup(world: World) -> None:
        two(world)
        world.reconcile(mode=mode)

    return setup


def upgraded(mode: str) -> Step:
    """Installed, with one adapter, one agent and one skill file gone, others new or changed."""

    def setup(world: World) -> None:
        installed(mode)(world)
        world.ship("hooks/ways/check-state.sh", None)
        world.ship("agents/reviewer.md", None)
        world.ship("skills/ways/more/notes.md", None)
        world.ship("skills/ways/SKILL.md", "another text")
        world.ship("commands/new.md", "new")
        world.adapters("ways/check-prompt.sh", "ways/check-new.sh", "check-config-updates.sh")

    return setup


def edited(world: World) -> None:
    """Copies, one of them changed by the user."""
    installed("copy")(world)
    world.write("a/skills/ways/SKILL.md", "user: edited copy")


def in_the_way(world: World) -> None:
    two(world)
    world.write("a/hooks/ways/own.md", "user: own hook folder")
    world.write("a/skills/ways/SKILL.md", "user: own skill")
    world.write("b/bin/ways", "user: own program", 0o755)


def one_disabled(mode: str) -> Step:
    def setup(world: World) -> None:
        in_the_way(world)
        world.reconcile(mode=mode, force=True)
        world.list_targets({"path": "~/a", "enabled": False}, "~/b")

    return setup


def forced_then_all(world: World) -> None:
    in_the_way(world)
    world.reconcile(force=True)


def run(**options: object) -> Act:
    return lambda world, system: world.reconcile(system, **options)


SCENARIOS: dict[str, tuple[Step, Act]] = {
    "fresh, one target, links": (one, run()),
    "fresh, two targets, links": (two, run()),
    "fresh, two targets, copies": (two, run(mode="copy")),
    "upgrade, links": (upgraded("link"), run()),
    "upgrade, copies": (upgraded("copy"), run()),
    "links to copies": (installed("link"), run(mode="copy")),
    "copies to links": (edited, run(mode="link")),
    "forced, links": (in_the_way, run(force=True)),
    "forced, copies": (in_the_way, run(force=True, mode="copy")),
    "one disabled, links": (one_disabled("link"), run()),
    "one disabled, copies": (one_disabled("copy"), run()),
    "withdrawn from all": (forced_then_all, lambda world, system: world.withdraw(system)),
}


def killed(world: World, act: Act, after: int) -> bool:
    """Run `act` in a child that dies by SIGKILL after that many changes; False when it got to its end."""
    child = os.fork()
    if child == 0:
        try:
            act(world, KillingSystem(after))
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def crashed(world: World, act: Act, after: int) -> bool:
    """The same by an exception in this process."""
    try:
        act(world, CrashingSystem(after))
    except Crash:
        return True
    return False


def users_texts(world: World) -> set[bytes]:
    """The content of every file of the user's, wherever it is now."""
    return {
        what[2] for what in tree(world.home).values() if what[0] == "file" and what[2].startswith(b"user:")
    }


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: these tests make the same small home hundreds of times."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path / "w"
        return
    with tempfile.TemporaryDirectory(dir=memory, prefix="ways-crash-") as folder:
        yield Path(folder) / "w"


def every_death(base: Path, name: str, die: Callable[[World, Act, int], bool], stride: int) -> None:
    """Run the scenario to its end, then die after 1, 1 + stride, … steps until one run gets through."""
    setup, act = SCENARIOS[name]
    world = World(base)
    setup(world)
    act(world, RealSystem())
    expected = tree(world.home, HISTORY)
    after, alive = 1 - stride, False
    while not alive:
        after += stride
        world = World(base)
        setup(world)
        texts = users_texts(world)
        alive = not die(world, act, after)
        assert world.unresolved("a") + world.unresolved("b") == [], f"after {after} steps"
        assert users_texts(world) >= texts, f"after {after} steps"
        act(world, RealSystem())
        act(world, RealSystem())
        assert tree(world.home, HISTORY) == expected, f"after {after} steps"
        assert users_texts(world) >= texts, f"after {after} steps"
        left = [path for path in tree(world.home) if any(mark in path for mark in LEFTOVER)]
        assert left == [], f"after {after} steps"
    assert after > 10


@pytest.mark.parametrize("name", SCENARIOS)
def test_case_s06_death_at_some_steps(base: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    every_death(base, name, crashed, stride=7)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_case_s06_death_by_exception_at_every_step(
    base: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)
    every_death(base, name, crashed, stride=1)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
@pytest.mark.parametrize("name", SCENARIOS)
def test_case_s06_death_by_sigkill_at_every_step(
    base: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)  # a killed process needs no flushed disk
    every_death(base, name, killed, stride=1)


@pytest.mark.skipif(os.name == "nt", reason="needs fork and SIGKILL")
def test_sigkill_really_kills(tmp_path: Path) -> None:
    world = World(tmp_path / "w")
    child = os.fork()
    if child == 0:
        world.reconcile(KillingSystem(3))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
