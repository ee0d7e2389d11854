"""The four systems do the same thing, and say the same thing about it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from projection.system import Crash, CrashingSystem, DryRunSystem, RealSystem, Step, System
from ways.core.files import TEMPORARY_MARK

NAMES = st.sampled_from(["a", "b", "a/x", "a/y", "b/x", "a/x/z", "l", "l/x"])
OPERATIONS = st.one_of(
    st.tuples(st.just("mkdir"), NAMES),
    st.tuples(st.just("write"), NAMES, st.binary(max_size=3)),
    st.tuples(st.just("symlink"), NAMES, st.sampled_from(["a", "b", "a/x", "../b", "nowhere"])),
    st.tuples(st.just("copy"), NAMES, NAMES),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("rmdir"), NAMES),
    st.tuples(st.just("remove_tree"), NAMES),
)


def run(system: System, root: str, operation: tuple[str, ...]) -> bool:
    """Carry one operation out below `root`; False when the system refused it."""
    verb, first, *rest = operation
    path = os.path.join(root, first)
    try:
        match verb:
            case "write":
                system.write_atomic(path, rest[0])  # type: ignore[arg-type]
            case "symlink":
                system.symlink(rest[0], path)
            case "copy":
                if system.kind(os.path.join(root, rest[0])) != "file":
                    return False
                system.copy(os.path.join(root, rest[0]), path)
            case "move" | "rename":
                source = os.path.join(root, rest[0])
                if path == source or path.startswith(source + "/") or source.startswith(path + "/"):
                    return False
                if system.kind(source) == "folder" and verb == "rename":
                    return False
                getattr(system, verb)(source, path)
            case _:
                getattr(system, verb)(path)
    except OSError:
        return False
    return True


def view(system: System, folder: str) -> dict[str, object]:
    """Everything below `folder` as the system tells it."""
    seen: dict[str, object] = {}
    for name in system.names(folder):
        path = os.path.join(folder, name)
        kind = system.kind(path)
        if kind == "folder":
            seen[name] = view(system, path)
        elif kind == "link":
            seen[name] = ("link", system.read_link(path), system.exists(path))
        else:
            seen[name] = system.read_bytes(path)
    return seen


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.lists(OPERATIONS, max_size=6), after=st.lists(OPERATIONS, max_size=6))
def test_a_dry_run_foresees_what_the_real_run_does(
    tmp_path_factory: pytest.TempPathFactory, before: list[tuple[str, ...]], after: list[tuple[str, ...]]
) -> None:
    root = str(tmp_path_factory.mktemp("tree"))
    setup = RealSystem()
    for operation in before:
        run(setup, root, operation)
    untouched = view(RealSystem(), root)
    dry, real = DryRunSystem(), RealSystem()
    foreseen = [run(dry, root, operation) for operation in after]
    pretended = view(dry, root)
    assert view(RealSystem(), root) == untouched
    done = [run(real, root, operation) for operation in after]
    assert foreseen == done
    assert pretended == view(real, root)
    assert dry.steps == real.steps


def changes(root: str) -> list[Callable[[System], None]]:
    return [
        lambda s: s.write_atomic(os.path.join(root, "f"), b"new", 0o600),
        lambda s: s.symlink("f", os.path.join(root, "l")),
        lambda s: s.copy(os.path.join(root, "f"), os.path.join(root, "c")),
        lambda s: s.hard_link(os.path.join(root, "f"), os.path.join(root, "h")),
        lambda s: s.mkdir(os.path.join(root, "d")),
    ]


def test_crashing_dies_between_temporary_file_and_rename(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    with pytest.raises(Crash):
        CrashingSystem(after=1).write_atomic(str(tmp_path / "f"), b"new")
    assert (tmp_path / "f").read_bytes() == b"old"
    with pytest.raises(Crash):
        CrashingSystem(after=2).write_atomic(str(tmp_path / "f"), b"new")
    assert (tmp_path / "f").read_bytes() == b"new"


def test_crashing_counts_every_change(tmp_path: Path) -> None:
    died = 0
    for after in range(1, 50):
        system = CrashingSystem(after)
        try:
            for change in changes(str(tmp_path)):
                change(system)
        except Crash:
            died += 1
            for name in os.listdir(tmp_path):
                (tmp_path / name).unlink() if not (tmp_path / name).is_dir() else (tmp_path / name).rmdir()
        else:
            break
    assert died == 9  # four replacements of two moments each, and one folder


def test_killing_leaves_what_a_dead_process_leaves(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom projection.system import KillingSystem\n"
        "KillingSystem(after=1).write_atomic(sys.argv[1], b'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "f")], check=False)
    assert done.returncode != 0
    assert [TEMPORARY_MARK in name for name in os.listdir(tmp_path)] == [True]


def test_write_keeps_mode_and_replaces_a_link_itself(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"theirs")
    (tmp_path / "l").symlink_to("target")
    RealSystem().write_atomic(str(tmp_path / "l"), b"ours", 0o640)
    assert (tmp_path / "target").read_bytes() == b"theirs"
    assert (tmp_path / "l").stat().st_mode & 0o777 == 0o640


def test_hard_link_onto_itself_leaves_no_second_name(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")
    system = RealSystem()
    system.hard_link(str(tmp_path / "f"), str(tmp_path / "h"))
    system.hard_link(str(tmp_path / "f"), str(tmp_path / "h"))
    assert sorted(os.listdir(tmp_path)) == ["f", "h"]


def test_move_never_replaces(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    (tmp_path / "g").write_bytes(b"2")
    for system in (RealSystem(), DryRunSystem()):
        with pytest.raises(FileExistsError):
            system.move(str(tmp_path / "f"), str(tmp_path / "g"))
    assert (tmp_path / "g").read_bytes() == b"2"


def test_move_across_volumes_copies_the_whole_tree(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or os.stat(other).st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("no second volume here")
    destination = other / f"ways-move-{os.getpid()}"
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"x")
    (tmp_path / "d" / "f").chmod(0o640)
    (tmp_path / "d" / "l").symlink_to("f")
    system = RealSystem()
    system.move(str(tmp_path / "d"), str(destination))
    try:
        assert not (tmp_path / "d").exists()
        assert (destination / "f").stat().st_mode & 0o777 == 0o640
        assert os.readlink(destination / "l") == "f"
    finally:
        system.remove_tree(str(destination))


def test_steps_print_as_plan_lines() -> None:
    assert Step("make folder", "/a").line() == "make folder /a"
    assert Step("link", "/a", "/b").line() == "link /a -> /b"
    assert Step("copy", "/a", "/b").line() == "copy /a from /b"


@pytest.mark.parametrize("in_one_step", [True, False])
def test_exchange_swaps_a_link_and_a_folder(
    tmp_path: Path, in_one_step: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not in_one_step:
        monkeypatch.setattr("projection.exchange._in_one_step", lambda first, second: False)
    for system in (DryRunSystem(), RealSystem()):
        if system.changes_disk:
            (tmp_path / "folder").mkdir()
            (tmp_path / "folder/f").write_text("x")
            (tmp_path / "link").symlink_to("folder")
        else:
            system.mkdir(str(tmp_path / "folder"))
            system.write_atomic(str(tmp_path / "folder/f"), b"x")
            system.symlink("folder", str(tmp_path / "link"))
        system.exchange(str(tmp_path / "link"), str(tmp_path / "folder"))
        assert system.kind(str(tmp_path / "folder")) == "link"
        assert system.read_bytes(str(tmp_path / "link/f")) == b"x"
        assert system.names(str(tmp_path)) == ["folder", "link"]


def test_exchange_of_something_missing_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    for system in (DryRunSystem(), RealSystem()):
        with pytest.raises(FileNotFoundError):
            system.exchange(str(tmp_path / "gone"), str(tmp_path / "a"))
        assert system.read_bytes(str(tmp_path / "a")) == b"a"


def test_a_dry_run_follows_a_link_that_it_put_where_it_saw_a_folder(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old/f").write_bytes(b"old")
    (tmp_path / "new").mkdir()
    (tmp_path / "new/f").write_bytes(b"new")
    system = DryRunSystem()
    assert system.read_bytes(str(tmp_path / "old/f")) == b"old"
    system.move(str(tmp_path / "old"), str(tmp_path / "aside"))
    system.symlink("new", str(tmp_path / "old"))
    assert system.read_bytes(str(tmp_path / "old/f")) == b"new"
    assert system.real_path(str(tmp_path / "old/f")) == str(tmp_path / "new/f")
    assert system.read_bytes(str(tmp_path / "aside/f")) == b"old"


def test_a_dry_run_looks_at_a_folder_once_and_not_again_for_each_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a/b/c"
    folder.mkdir(parents=True)
    looked: list[str] = []
    lstat = os.lstat

    def noting(path: str, **more: int) -> os.stat_result:
        looked.append(os.fspath(path))
        return lstat(path, **more)

    monkeypatch.setattr(os, "lstat", noting)
    system = DryRunSystem()
    for number in range(50):
        (folder / f"f{number}").touch()
        assert system.kind(str(folder / f"f{number}")) == "file"
    for parent in (folder, folder.parent, folder.parent.parent):
        assert looked.count(str(parent)) == 1
