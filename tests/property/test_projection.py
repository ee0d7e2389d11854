"""Whatever the user has, does and asks for: nothing of theirs is lost, and a run that succeeds is final."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from projection.system import RealSystem
from tests.unit.projection.world import World, tree
from ways.core.errors import DONE

# Places where ours belong, places beside them, and places above and below them.
PLACES = st.sampled_from(
    [
        "settings.local.json",
        "hooks/ways",
        "hooks/ways/check-prompt.sh",
        "hooks/ways/mine.md",
        "hooks/mine.sh",
        "skills",
        "skills/ways/SKILL.md",
        "skills/ways/mine.md",
        "skills/mine/SKILL.md",
        "agents/reviewer.md",
        "agents",
        "commands/ways.md",
        "commands/mine.md",
        "bin/ways",
        "bin/mine",
    ]
)
SHIPPED = st.sampled_from(
    [
        "agents/reviewer.md",
        "agents/new.md",
        "commands/ways.md",
        "skills/ways/SKILL.md",
        "skills/ways/more/notes.md",
    ]
)
ACTIONS = st.one_of(
    st.tuples(st.just("write"), PLACES),
    st.tuples(st.just("link"), PLACES),
    st.tuples(st.just("reconcile"), st.sampled_from(["", "link", "copy"])),
    st.tuples(st.just("force"), st.sampled_from(["", "link", "copy"])),
    st.tuples(st.just("enable"), st.booleans()),
    st.tuples(
        st.just("ship"), st.sampled_from(["agents/reviewer.md", "skills/ways/SKILL.md", "agents/new.md"])
    ),
    st.tuples(
        st.just("unship"), st.sampled_from(["agents/new.md", "commands/ways.md", "skills/ways/more/notes.md"])
    ),
)


def users_things(world: World) -> set[object]:
    """Every text and every link of the user's, wherever it is now."""
    found = tree(world.base)
    texts = {what[2] for what in found.values() if what[0] == "file" and what[2].startswith(b"user ")}
    links = {what[1] for what in found.values() if what[0] == "link" and what[1].startswith("/user/")}
    return texts | links


def put(world: World, place: str, number: int, link: bool) -> None:
    """The user writes a file or a link there, over a file of ours too; never through a link into the app."""
    path = world.target() / place
    if os.path.realpath(path.parent).startswith(os.path.realpath(world.roots.app)):
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            return
        if path.is_symlink() or (path.exists() and not path.read_bytes().startswith(b"user ")):
            if path.is_symlink() and os.readlink(path).startswith("/user/"):
                return
            path.unlink()
        if path.exists():
            return
        path.symlink_to(f"/user/{number}") if link else path.write_text(f"user {number}")
    except (FileExistsError, NotADirectoryError):
        return  # a file stands where a folder would be needed


def act(world: World, number: int, verb: str, argument: object) -> None:
    match verb:
        case "write" | "link":
            put(world, str(argument), number, verb == "link")
        case "enable":
            world.list_targets({"path": "~/.claude", "enabled": argument})
        case "ship":
            world.ship(str(argument), f"shipped {number}")
        case "unship":
            if (world.payload / str(argument)).exists():
                world.ship(str(argument), None)
        case _:
            options = {"mode": argument} if argument else {}
            [outcome] = world.reconcile(force=verb == "force", **options)
            if outcome.exit_code == DONE:
                before = tree(world.home)
                [again] = world.reconcile(**options)
                assert (again.exit_code, again.changed) == (DONE, False)
                assert tree(world.home) == before
                assert world.unresolved() == []


@settings(max_examples=40, deadline=None)
@given(st.lists(ACTIONS, min_size=2, max_size=10))
def test_nothing_of_the_users_is_ever_lost(actions: list[tuple[str, object]]) -> None:
    memory = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None, prefix="ways-property-"))
    try:
        world = World(base / "w")
        for number, (verb, argument) in enumerate(actions):
            before = users_things(world)
            act(world, number, verb, argument)
            assert users_things(world) >= before, (verb, argument)
        before = users_things(world)
        outcomes = world.withdraw(RealSystem())
        assert users_things(world) >= before
        if all(outcome.exit_code == DONE for outcome in outcomes):
            ours = [path for path, what in tree(world.target()).items() if is_ours(world, what)]
            assert ours == []
            assert world.hook_commands() == []
    finally:
        shutil.rmtree(base)


def is_ours(world: World, what: tuple[object, ...]) -> bool:
    """True for a link into the app and for a file that is not the user's."""
    if what[0] == "link":
        return str(what[1]).startswith(world.roots.app)
    return what[0] == "file" and not str(what[2]).startswith("b'user ")
