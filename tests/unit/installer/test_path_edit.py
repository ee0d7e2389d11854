"""Making `ways` callable, and taking it back byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from installer import path_edit, receipt
from installer.receipt import LINES, Edit
from projection.system import DryRunSystem, RealSystem
from ways.core import roots as core_roots
from ways.core.roots import Roots

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX start files and links")
SYSTEM = RealSystem()


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    home = tmp_path / "h"
    home.mkdir()
    return core_roots.resolve({"HOME": str(home), "XDG_RUNTIME_DIR": str(tmp_path)})


def environ(
    roots: Roots, shell: str = "/bin/bash", path: str = "/usr/bin:/bin", **more: str
) -> dict[str, str]:
    return {"HOME": roots.home, "SHELL": shell, "PATH": path, **more}


def rc(roots: Roots, name: str = ".bashrc") -> Path:
    return Path(roots.home, name)


def do(roots: Roots, known: tuple[Edit, ...] = (), **how: str) -> path_edit.PathPlan:
    plan = path_edit.plan(SYSTEM, roots, environ(roots, **how), known)
    assert path_edit.apply(SYSTEM, plan) == ()
    return plan


def tree(roots: Roots) -> dict[str, object]:
    return {
        str(path): os.readlink(path) if path.is_symlink() else path.is_dir() or path.read_bytes()
        for path in Path(roots.home).rglob("*")
    }


def test_link_and_line_are_made_once_and_taken_back(roots: Roots) -> None:
    rc(roots).write_bytes(b"alias ll='ls -l'\n")
    before = tree(roots)
    plan = do(roots)
    assert os.readlink(Path(roots.home, ".local/bin/ways")) == os.path.join(roots.app, "bin", "ways")
    assert rc(roots).read_bytes().count(path_edit.MARK.encode()) == 1
    again = path_edit.plan(SYSTEM, roots, environ(roots), plan.edits)
    assert again.missing == ()
    assert again.edits == plan.edits
    assert path_edit.withdraw(SYSTEM, plan.edits) == ()
    assert tree(roots) == before


def test_no_line_when_the_folder_is_on_the_path(roots: Roots) -> None:
    do(roots, path=f"/usr/bin:{roots.home}/.local/bin/")
    assert not rc(roots).exists()


@pytest.mark.parametrize("entry", ["{}/.local/bin2", "{}/.local/bin/x", "/x{}/.local/bin", ".local/bin"])
def test_entries_are_compared_as_a_whole(roots: Roots, entry: str) -> None:
    do(roots, path="/usr/bin:" + entry.format(roots.home))
    assert rc(roots).exists()


def test_an_entry_through_a_link_or_a_tilde_is_the_same_folder(roots: Roots, tmp_path: Path) -> None:
    Path(roots.home, ".local/bin").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(roots.home)
    for entry in ("~/.local/bin", f"{tmp_path}/alias/.local/bin"):
        assert path_edit.on_path(f"{roots.home}/.local/bin", f"/bin:{entry}", roots.home)


def test_case_u08_no_final_newline_and_installing_twice_adds_one_line(roots: Roots) -> None:
    rc(roots).write_bytes(b"export A=1")
    first = do(roots)
    second = do(roots, first.edits)
    assert rc(roots).read_bytes() == f"export A=1\n{path_edit.guarded_line('.bashrc')}\n".encode()
    path_edit.withdraw(SYSTEM, second.edits)
    assert rc(roots).read_bytes() == b"export A=1"


def test_case_u08_a_lost_receipt_adds_no_second_line(roots: Roots) -> None:
    rc(roots).write_bytes(b"export A=1")
    do(roots)
    do(roots)
    assert rc(roots).read_bytes().count(path_edit.MARK.encode()) == 1


def test_case_u08_a_start_file_that_is_a_folder_is_a_warning(roots: Roots) -> None:
    rc(roots).mkdir()
    [warning] = do(roots).warnings
    assert "is a folder" in warning
    assert path_edit.guarded_line(".bashrc") in warning
    assert Path(roots.home, ".local/bin/ways").is_symlink()


def test_case_u08_a_read_only_start_file_is_a_warning(roots: Roots) -> None:
    rc(roots).write_bytes(b"x\n")
    rc(roots).chmod(0o444)
    [warning] = do(roots).warnings
    assert "is read-only" in warning
    assert rc(roots).read_bytes() == b"x\n"


def test_a_start_file_that_is_a_device_is_a_warning(roots: Roots) -> None:
    rc(roots).symlink_to("/dev/null")
    [warning] = do(roots).warnings
    assert "no ordinary file" in warning


def test_lines_that_came_behind_ours_stay_and_stay_lines(roots: Roots) -> None:
    rc(roots).write_bytes(b"one")
    plan = do(roots)
    with rc(roots).open("ab") as file:
        file.write(b"two\n")
    path_edit.withdraw(SYSTEM, plan.edits)
    assert rc(roots).read_bytes() == b"one\ntwo\n"


def test_a_start_file_that_is_a_link_stays_one_and_modes_stay(roots: Roots) -> None:
    real = Path(roots.home, "dotfiles")
    real.write_bytes(b"x\n")
    real.chmod(0o600)
    rc(roots).symlink_to("dotfiles")
    plan = do(roots)
    assert rc(roots).is_symlink()
    assert path_edit.MARK.encode() in real.read_bytes()
    path_edit.withdraw(SYSTEM, plan.edits)
    assert rc(roots).is_symlink()
    assert real.read_bytes() == b"x\n"
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_program_of_the_users_by_that_name_stays(roots: Roots) -> None:
    place = Path(roots.home, ".local/bin/ways")
    place.parent.mkdir(parents=True)
    place.write_text("mine")
    plan = do(roots)
    assert "is not ours" in plan.warnings[0]
    assert plan.edits == ()
    assert place.read_text() == "mine"
    assert not rc(roots).exists()


def test_a_link_of_ours_to_an_older_place_is_set_right(roots: Roots) -> None:
    place = Path(roots.home, ".local/bin/ways")
    place.parent.mkdir(parents=True)
    place.symlink_to(os.path.join(roots.app, "versions", "0.1", "bin", "ways"))
    do(roots)
    assert os.readlink(place) == os.path.join(roots.app, "bin", "ways")


def test_a_link_that_was_changed_since_stays(roots: Roots) -> None:
    plan = do(roots)
    place = Path(roots.home, ".local/bin/ways")
    place.unlink()
    place.symlink_to("/elsewhere")
    path_edit.withdraw(SYSTEM, plan.edits)
    assert os.readlink(place) == "/elsewhere"


def test_a_dry_run_changes_nothing(roots: Roots) -> None:
    rc(roots).write_bytes(b"x")
    before, dry = tree(roots), DryRunSystem()
    plan = path_edit.plan(dry, roots, environ(roots))
    path_edit.apply(dry, plan)
    assert dry.read_bytes(str(rc(roots))).startswith(b"x\n")
    assert tree(roots) == before


@pytest.mark.parametrize(
    ("shell", "there", "platform", "expected"),
    [
        ("/bin/zsh", (), "linux", ".zshrc"),
        ("/usr/bin/fish", (), "linux", ".config/fish/config.fish"),
        ("/bin/bash", (), "macos", ".bash_profile"),
        ("/bin/bash", (".profile",), "macos", ".profile"),
        ("/bin/dash", (), "linux", ".profile"),
        ("/opt/nu", (), "linux", ""),
        ("", (), "linux", ""),
    ],
)
def test_each_shell_has_its_start_file(
    roots: Roots, shell: str, there: tuple[str, ...], platform: str, expected: str
) -> None:
    for name in there:
        rc(roots, name).touch()
    found = path_edit.start_file(environ(roots, shell), roots.home, platform)
    assert found == (os.path.join(roots.home, expected) if expected else "")


def test_zsh_keeps_its_files_where_zdotdir_says(roots: Roots) -> None:
    found = path_edit.start_file(environ(roots, "/bin/zsh", ZDOTDIR="/z"), roots.home, "linux")
    assert found == "/z/.zshrc"


@pytest.mark.parametrize(
    "shell",
    [
        *(["sh", name] for name in ("sh", "dash", "bash", "zsh", "mksh", "ksh93")),
        ["sh", "busybox", "sh"],
        ["fish", "fish"],
    ],
)
def test_the_line_works_in_the_shell_and_only_once(roots: Roots, shell: list[str]) -> None:
    kind, *command = shell
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    line = path_edit.guarded_line("config.fish" if kind == "fish" else ".profile")
    show = "string join : $PATH" if kind == "fish" else 'printf "%s\\n" "$PATH"'
    done = subprocess.run(
        [*command, "-c", f"{line}\n{line}\n{show}"],
        env={"HOME": roots.home, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"/usr/bin:/bin:{roots.home}/.local/bin"


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60), st.sampled_from([b"", b"later\n", b"later"]))
def test_taking_the_line_out_leaves_every_other_byte(text: bytes, later: bytes) -> None:
    line = b"THE LINE\n"
    added = (b"\n" if text and not text.endswith(b"\n") else b"") + line
    rest = path_edit.without_lines(text + added + later, added)
    assert rest == (text + added + later).replace(line, b"", 1) if later else rest == text


def test_text_without_our_line_is_untouched() -> None:
    assert path_edit.without_lines(b"# THE LINE\n", b"THE LINE\n") == b"# THE LINE\n"
    assert path_edit.without_lines(b"x", b"") == b"x"


def test_the_edits_survive_the_receipt(roots: Roots) -> None:
    plan = do(roots)
    receipt.save(SYSTEM, roots, receipt.Receipt(version="1.0.0", edits=plan.edits))
    assert receipt.load(SYSTEM, roots).edits == plan.edits
    assert LINES in {edit.kind for edit in plan.edits}
