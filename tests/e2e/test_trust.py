"""`ways trust`: what is shown before the answer, and the command that the note names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.e2e.session_home import PROGRAM, Home, Session, write_way


def with_macro(project: Path, way_id: str = "team/status") -> Path:
    path = write_way(project / ".claude/ways", way_id, "pattern: status\nmacro: append", "BODY")
    (path.parent / "macro.sh").write_text("echo MACRO\n")
    return path.parent


def test_case_h27_the_command_in_the_note_helps_for_a_second_target(home: Home, tmp_path: Path) -> None:
    project = tmp_path / 'it\'s $(touch ran) "odd"'
    project.mkdir()
    with_macro(project)
    work = home.path / "second"
    home.ways("target", "add", str(work))
    session = Session(home, project, config=work)
    session.start()
    shown = session.prompt("status")
    typed = re.search(r"To allow it: (.*)\)$", shown)
    assert typed is not None, shown
    subprocess.run(
        ["sh", "-c", f'PATH="{PROGRAM.parent}:$PATH"; cd "$HOME"; {typed[1]} --yes'],
        env=home.environment,
        check=True,
    )
    assert (work / "trusted-project-macros").read_text() == f"{project}\n"
    assert not (home.path / "ran").exists()
    session.start("clear")
    assert session.prompt("status") == "BODY\n\nMACRO"


def test_scripts_reached_through_a_link_are_shown_first(home: Home, project: Path) -> None:
    hidden = project / "vendor" / "thing"
    hidden.mkdir(parents=True)
    (hidden / "thing.md").write_text("---\npattern: x\nmacro: append\n---\nBODY\n")
    (hidden / "macro.sh").write_text("echo HIDDEN-SCRIPT\n")
    (project / ".claude/ways").mkdir(parents=True)
    (project / ".claude/ways/team").symlink_to("../../vendor")
    out = home.ways("trust", "add", "--yes", str(project))
    assert "HIDDEN-SCRIPT" in out and "no macro" not in out
    home.ways("trust", "remove", str(project))


def test_without_a_terminal_the_error_says_what_to_type(home: Home, project: Path) -> None:
    done = subprocess.run(
        [str(PROGRAM), "trust", "add", str(project)],
        env=home.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"Next: ways trust add --yes '{project}'" in done.stderr.replace("'\"'\"'", "'")
    assert not (home.claude / "trusted-project-macros").exists()
