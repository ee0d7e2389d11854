"""How commands end that cannot do their work: one line, the right exit code, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.session_home import PROGRAM, Home


def run(
    home: Home, *arguments: str, cwd: Path | None = None, shell: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *arguments]
    return subprocess.run(
        ["sh", "-c", shell, *command] if shell else command,
        env={**home.environment, **more},
        cwd=cwd or home.path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["frob"], "ways: no such command 'frob'  Next: ways --help"),
        (["reconcile", "--bogus"], "ways: no such option '--bogus'  Next: ways reconcile --help"),
        (["target", "add"], "ways: missing argument 'PATH'  Next: ways target add --help"),
        (
            ["reconcile", "--mode", "x"],
            "ways: invalid value for '--mode': 'x' is not one of 'link', 'copy'  Next: ways reconcile --help",
        ),
        (
            ["settings", "set", "language", "de", "--project"],
            "ways: option '--project' requires an argument  Next: ways settings set --help",
        ),
        (["status", "x"], "ways: got unexpected extra argument (x)  Next: ways status --help"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_2(home: Home, arguments: list[str], line: str) -> None:
    done = run(home, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


@pytest.mark.parametrize("command", ["status", "reconcile", "target list", "uninstall", "doctor --no-hooks"])
def test_case_h24_commands_work_where_the_folder_has_been_deleted(
    home: Home, tmp_path: Path, command: str
) -> None:
    inside = f'mkdir "{tmp_path}/gone" && cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec "$0" "$@"'
    done = run(home, *command.split(), shell=inside)
    expected = 1 if command.startswith("doctor") else 0  # the engine is missing in this home
    assert (done.returncode, done.stderr) == (expected, ""), done.stdout


@pytest.mark.parametrize("command", ["target plan x", "trust add ."])
def test_what_needs_the_folder_says_that_it_is_gone(home: Home, tmp_path: Path, command: str) -> None:
    inside = f'mkdir "{tmp_path}/gone" && cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" && exec "$0" "$@"'
    done = run(home, *command.split(), shell=inside)
    assert done.returncode == 2
    assert (
        done.stderr == "ways: the current folder has been deleted  Next: cd ~, then the same command again\n"
    )


@pytest.mark.parametrize("command", ["status", "settings list", "--help", "target list"])
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_one_line(home: Home, command: str) -> None:
    done = run(home, *command.split(), shell='exec "$0" "$@" > /dev/full')
    assert done.returncode == 5
    assert len(done.stderr.splitlines()) == 1 and "No space left on device" in done.stderr


@pytest.mark.parametrize("where", [">&-", "<&-", "| head -n 1", "| true"])
@pytest.mark.parametrize("command", ["status", "settings list"])
def test_closed_streams_and_readers_that_leave_are_no_fault(home: Home, command: str, where: str) -> None:
    done = run(home, *command.split(), shell=f'"$0" "$@" {where}')
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("columns", ["40", "200"])
def test_a_table_of_targets_is_never_cut(home: Home, columns: str) -> None:
    done = run(home, "target", "list", COLUMNS=columns)
    assert str(home.claude) in done.stdout and "…" not in done.stdout


@pytest.mark.parametrize("module", ["ways.cli.main", "click", "ways.cli.doctor", "installer.stage"])
def test_ctrl_c_at_any_moment_is_exit_130_without_a_traceback(home: Home, module: str) -> None:
    """The signal arrives just when this module is being loaded."""
    script = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from ways.entry import main
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", script, "doctor"],
        env=home.environment,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130 and "Traceback" not in done.stderr, done.stderr
    assert done.stderr.strip() == "Interrupted; nothing more was changed."
