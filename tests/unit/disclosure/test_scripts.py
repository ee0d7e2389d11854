"""Macros and postchecks that sleep, flood, fork, fail and look around."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ways.disclosure import scripts


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def run(
    path: str, folder: Path, timeout: float = 5.0, limit: int = 8000, stdin: bytes | None = None
) -> scripts.ScriptResult:
    return scripts.run(path, str(folder), {"WAYS_WAY_ID": "a/b"}, timeout, limit, stdin=stdin)


def test_a_shell_macro_and_a_python_macro(tmp_path: Path) -> None:
    assert (
        run(script(tmp_path, "macro.sh", 'echo "$WAYS_WAY_ID $(pwd)"'), tmp_path).output
        == f"a/b {tmp_path}\n"
    )
    python = script(tmp_path, "macro.py", "import os\nprint(os.environ['WAYS_WAY_ID'], os.getcwd())")
    assert run(python, tmp_path).output == f"a/b {tmp_path}\n"


def test_a_script_of_another_kind_says_so(tmp_path: Path) -> None:
    result = run(script(tmp_path, "macro.rb", "puts 1"), tmp_path)
    assert result.code is None and "nothing on this machine runs" in result.why


def test_case_h20_sleeping_macro_is_killed_with_its_group(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    path = script(tmp_path, "macro.sh", f"sleep 60 & echo $! > {pid_file}\nsleep 60")
    result = run(path, tmp_path, timeout=0.3)
    assert result.code is None and "longer than" in result.why
    grandchild = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and _runs(grandchild):
        time.sleep(0.02)
    assert not _runs(grandchild)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_case_h20_flood_is_cut_and_the_script_killed(tmp_path: Path) -> None:
    result = run(script(tmp_path, "macro.sh", "yes flood"), tmp_path, limit=1000)
    assert result.code is None and result.why == "printed more than 1000 characters"
    assert len(result.output) == 1000


def test_case_h20_grandchild_with_our_pipe_does_not_hold_us(tmp_path: Path) -> None:
    result = run(script(tmp_path, "macro.sh", "sleep 60 &\necho done"), tmp_path)
    assert (result.code, result.output) == (0, "done\n")


def test_case_h20_exit_1_is_reported_with_its_stderr(tmp_path: Path) -> None:
    result = run(script(tmp_path, "macro.sh", "echo out; echo why >&2; exit 1"), tmp_path)
    assert (result.code, result.stderr) == (1, "why")


def test_case_h21_git_takes_no_optional_locks(tmp_path: Path) -> None:
    assert run(script(tmp_path, "macro.sh", 'echo "$GIT_OPTIONAL_LOCKS"'), tmp_path).output == "0\n"


def test_stdin_is_closed_or_given(tmp_path: Path) -> None:
    path = script(tmp_path, "postcheck.sh", "cat")
    assert run(path, tmp_path).output == ""
    assert run(path, tmp_path, stdin=b'{"a":1}').output == '{"a":1}'


def test_a_script_that_reads_nothing_of_a_large_stdin(tmp_path: Path) -> None:
    assert run(script(tmp_path, "postcheck.sh", "exit 0"), tmp_path, stdin=b"x" * 4_000_000).code == 0


def test_a_folder_that_has_gone_is_no_fault(tmp_path: Path) -> None:
    path = script(tmp_path, "macro.sh", "echo here")
    assert run(path, tmp_path / "gone").output == "here\n"


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    assert run(script(tmp_path, "macro.sh", "printf 'a\\377\\000b'"), tmp_path).output == "a\ufffd\ufffdb"


def test_case_u06_the_bundles_variables_do_not_reach_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.frozen", True, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", "/bundle")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/users")
    monkeypatch.setenv("LIBPATH", "/bundle")
    monkeypatch.setenv("_PYI_ARCHIVE_FILE", "/bundle/ways")
    values = scripts.script_environment({})
    assert values["LD_LIBRARY_PATH"] == "/users"
    assert not {"LD_LIBRARY_PATH_ORIG", "LIBPATH", "_PYI_ARCHIVE_FILE"} & set(values)
    assert os.environ["LD_LIBRARY_PATH"] == "/bundle"
