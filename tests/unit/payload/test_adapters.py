"""The adapters under real shells with a stand-in program: they never fail, whatever is wrong.

An exit code of 2 on UserPromptSubmit would erase the user's prompt; it must be impossible.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.payload import shipped

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows runs the program itself, not the adapters")

SHELLS = [shell for shell in ("dash", "bash", "busybox", "ksh", "zsh") if shutil.which(shell)]
ADAPTERS = [path for path in shipped.files() if path.suffix == ".sh" and path.name != "require-ways.sh"]
LANES = [path for path in ADAPTERS if "\nrun_ways hook" in path.read_text(encoding="utf-8")]
NAMES = ["plain", "A B&(c)' \u00e9\u732b $HOME `x` \""]
ECHO = '#!/bin/sh\nread -r line\nprintf "%s|%s" "$*" "$line"\n'


def shell_command(shell: str) -> list[str]:
    """busybox is one program of many names; zsh is asked to behave as sh."""
    return {"busybox": ["busybox", "sh"], "zsh": ["zsh", "--emulate", "sh"]}.get(shell, [shell])


def make_target(folder: Path, *, linked: bool = True) -> Path:
    """A target whose hooks folder is a link to the payload, or a copy of it, without a program."""
    target = folder / ".claude"
    (target / "bin").mkdir(parents=True)
    if linked:
        (target / "hooks").symlink_to(shipped.HOOKS, target_is_directory=True)
    else:
        shutil.copytree(shipped.HOOKS, target / "hooks")
    return target


def install(target: Path, text: str, mode: int = 0o755) -> Path:
    """A stand-in for the program in the target's bin/."""
    program = target / "bin" / "ways"
    program.write_text(text, encoding="utf-8")
    program.chmod(mode)
    return program


def run(
    target: Path,
    adapter: Path,
    shell: str,
    payload: str = '{"a": 1}\n',
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """The adapter as it lies in the target, in an environment without anything of the user's."""
    path = target / "hooks" / adapter.relative_to(shipped.HOOKS)
    return subprocess.run(
        [*shell_command(shell), str(path)],
        input=payload,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
        cwd=target,
        env={"PATH": os.environ["PATH"], "HOME": str(target.parent / "home"), **environment},
    )


def arguments_of(adapter: Path) -> str:
    line = next(row for row in adapter.read_text("utf-8").splitlines() if row.startswith("run_ways"))
    return line.removeprefix("run_ways ")


def wait_for(condition: Callable[[], bool]) -> bool:
    """Whether the condition came true within half a minute."""
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def pid_in(file: Path) -> int:
    """The process id that a stand-in has written, once it is complete."""
    assert wait_for(lambda: file.exists() and file.read_text().endswith("\n"))
    return int(file.read_text())


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("adapter", [*ADAPTERS, shipped.WAYS / "require-ways.sh"], ids=lambda path: path.name)
def test_the_shell_accepts_the_file(adapter: Path, shell: str) -> None:
    done = subprocess.run([*shell_command(shell), "-n", str(adapter)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", NAMES, ids=["plain", "odd"])
@pytest.mark.parametrize("linked", [True, False], ids=["linked", "copied"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_lane_adapter_passes_payload_and_answer(
    tmp_path: Path, shell: str, linked: bool, name: str
) -> None:
    target = make_target(tmp_path / name, linked=linked)
    install(target, ECHO)
    for adapter in LANES:
        done = run(target, adapter, shell)
        assert (done.returncode, done.stdout) == (0, f'{arguments_of(adapter)}|{{"a": 1}}')


def test_case_s16_the_rendered_command_runs_from_an_odd_home(tmp_path: Path) -> None:
    target = make_target(tmp_path / "A B&(c)' \u00e9")
    install(target, ECHO)
    command = f'"{target}/hooks/ways/check-prompt.sh"'
    for shell in SHELLS:
        done = subprocess.run(
            [*shell_command(shell), "-c", command],
            input="x\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        assert (done.returncode, done.stdout) == (0, "hook prompt|x")


BROKEN: dict[str, Callable[[Path], object]] = {
    "missing": lambda target: None,
    "exits 2": lambda target: install(target, "#!/bin/sh\nexit 2\n"),
    "killed": lambda target: install(target, "#!/bin/sh\nkill -KILL $$\n"),
    "crashes": lambda target: install(target, "#!/bin/sh\nkill -SEGV $$\n"),
    "not executable": lambda target: install(target, ECHO, 0o644),
    "empty": lambda target: install(target, ""),
    "no such interpreter": lambda target: install(target, "#!/nowhere/at/all\n"),
    "binary rubbish": lambda target: (
        (target / "bin/ways").write_bytes(b"\x7fNOT\0\1\2" * 400),
        (target / "bin/ways").chmod(0o755),
    ),
    "a folder": lambda target: (target / "bin/ways").mkdir(),
    "a dangling link": lambda target: (target / "bin/ways").symlink_to("nowhere"),
    "a link to itself": lambda target: (target / "bin/ways").symlink_to("ways"),
    "no bin folder": lambda target: (target / "bin").rmdir(),
}


@pytest.mark.parametrize("fault", BROKEN)
@pytest.mark.parametrize("shell", SHELLS)
def test_an_adapter_exits_0_and_stays_silent(tmp_path: Path, shell: str, fault: str) -> None:
    target = make_target(tmp_path / "t")
    BROKEN[fault](target)
    for adapter in ADAPTERS:
        if adapter.name != "check-setup.sh":
            done = run(target, adapter, shell)
            assert (done.returncode, done.stdout) == (0, ""), adapter.name


@pytest.mark.parametrize("damage", ["missing", "empty", "cut off", "unreadable folder"])
@pytest.mark.parametrize("shell", SHELLS)
def test_an_adapter_exits_0_when_its_own_files_are_damaged(tmp_path: Path, shell: str, damage: str) -> None:
    target = make_target(tmp_path / "t", linked=False)
    install(target, ECHO)
    shared = target / "hooks/ways/require-ways.sh"
    if damage == "missing":
        shared.unlink()
    elif damage == "empty":
        shared.write_text("")
    elif damage == "cut off":
        text = shared.read_text(encoding="utf-8")
        shared.write_text(text[: text.index("esac")], encoding="utf-8")
    else:
        shared.unlink()
        shared.mkdir()
    for adapter in ADAPTERS:
        done = run(target, adapter, shell)
        assert done.returncode == 0, adapter.name
        if adapter.name != "check-setup.sh":  # which may say that a new installation repairs it
            assert done.stdout == "", adapter.name


TASK = shipped.WAYS / "issues-task-created.sh"
REFUSAL, END = "ways: refuse this task", "ways: end of the reason"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_task_is_refused_with_the_programs_reason(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    install(
        target, f"#!/bin/sh\nread -r line\nprintf '{REFUSAL}\\nIt is %s.\\nTwo lines.\\n{END}\\n' \"$line\"\n"
    )
    done = run(target, TASK, shell, payload="#12\n")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "It is #12.\nTwo lines.\n")


NOT_REFUSED = {
    "nothing": "exit 0",
    "exit 2": "exit 2",
    "exit 2 with a message": "echo problem >&2; exit 2",
    "another answer": "echo '{}'",
    "the line without a reason": f"echo '{REFUSAL}'",
    "the line later": f"printf 'x\\n{REFUSAL}\\nreason\\n'",
    "the line with more on it": f"printf '{REFUSAL}s\\nreason\\n'",
    "a crash in the middle": f"printf '{REFUSAL}\\nreason\\n'; exit 2",
    "killed": f"printf '{REFUSAL}\\nreason\\n'; kill -9 $$",
    "no reason": f"printf '{REFUSAL}\\n{END}\\n'",
    "more after the end": f"printf '{REFUSAL}\\nreason\\n{END}\\nTraceback\\n'",
}


@pytest.mark.parametrize("answer", NOT_REFUSED)
@pytest.mark.parametrize("shell", SHELLS)
def test_nothing_but_a_refusal_refuses_a_task(tmp_path: Path, shell: str, answer: str) -> None:
    target = make_target(tmp_path / "t")
    install(target, f"#!/bin/sh\n{NOT_REFUSED[answer]}\n")
    done = run(target, TASK, shell)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_an_answer_with_a_bad_exit_code_is_passed_and_the_code_is_not(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    install(target, "#!/bin/sh\nprintf answer\nexit 2\n")
    done = run(target, shipped.WAYS / "check-prompt.sh", shell)
    assert (done.returncode, done.stdout) == (0, "answer")


@pytest.mark.parametrize("shell", SHELLS)
def test_case_h01_an_open_stdin_does_not_hold_the_adapter(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    install(target, ECHO)
    read, write = os.pipe()
    try:
        os.write(write, b"first\n")
        done = subprocess.run(
            [*shell_command(shell), str(target / "hooks/ways/check-prompt.sh")],
            stdin=read, capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
    finally:
        os.close(read)
        os.close(write)
    assert (done.returncode, done.stdout) == (0, "hook prompt|first")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_application_is_found_when_the_target_has_no_program(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    for place, variables in (
        ("t/home/.local/share/agent-ways", {}),
        ("data/agent-ways", {"XDG_DATA_HOME": str(tmp_path / "data")}),
        ("app", {"WAYS_APP_ROOT": str(tmp_path / "app"), "XDG_DATA_HOME": str(tmp_path / "data")}),
    ):
        program = tmp_path / place / "bin" / "ways"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\nprintf {Path(place).name}\n")
        program.chmod(0o755)
        done = run(target, shipped.WAYS / "check-state.sh", shell, **variables)
        assert (done.returncode, done.stdout) == (0, Path(place).name)
    install(target, "#!/bin/sh\nprintf target\n")
    assert run(target, shipped.WAYS / "check-state.sh", shell, **variables).stdout == "target"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_relative_data_folder_is_ignored(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    stray = target / "data/agent-ways/bin/ways"
    stray.parent.mkdir(parents=True)
    stray.write_text("#!/bin/sh\nprintf stray\n")
    stray.chmod(0o755)
    assert run(target, shipped.WAYS / "check-state.sh", shell, XDG_DATA_HOME="data").stdout == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_two_targets_use_their_own_programs(tmp_path: Path, shell: str) -> None:
    first, second = make_target(tmp_path / "one"), make_target(tmp_path / "two")
    install(first, "#!/bin/sh\nprintf one\n")
    install(second, "#!/bin/sh\nprintf two\n")
    adapter = shipped.WAYS / "check-state.sh"
    assert [run(target, adapter, shell).stdout for target in (first, second)] == ["one", "two"]


@pytest.mark.parametrize("shell", SHELLS)
def test_check_setup_speaks_only_when_the_program_is_missing_or_broken(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    adapter = shipped.WAYS / "check-setup.sh"
    answer = json.loads(run(target, adapter, shell).stdout)
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "was not found" in answer["hookSpecificOutput"]["additionalContext"]
    # A source install whose checkout has moved, a wrong architecture: the file is there and does not start.
    for broken in (
        "#!/nowhere/at/all\n",
        "#!/bin/sh\nexit 1\n",
        "#!/bin/sh\necho noise; echo noise >&2; exit 2\n",
    ):
        install(target, broken)
        done = run(target, adapter, shell)
        assert (done.returncode, done.stderr) == (0, "")
        assert "does not start" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    install(target, ECHO)
    done = run(target, adapter, shell)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_init_project_shows_nothing_and_reads_no_payload(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    record = tmp_path / "record"
    install(target, f'#!/bin/sh\necho noise\nprintf "%s|%s" "$*" "$(cat)" > "{record}"\n')
    done = run(target, shipped.WAYS / "init-project.sh", shell)
    assert (done.returncode, done.stdout) == (0, "")
    assert record.read_text() == "init --project-only --quiet|"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ways/corpus-refresh.sh", "corpus --if-stale --quiet"),
        ("check-config-updates.sh", "update --check --quiet"),
    ],
)
@pytest.mark.parametrize("shell", SHELLS)
def test_case_h19_a_background_starter_lets_go_of_the_pipes(
    tmp_path: Path, shell: str, name: str, arguments: str
) -> None:
    target = make_target(tmp_path / "t")
    record, pid = tmp_path / "record", tmp_path / "pid"
    install(
        target,
        f'#!/bin/sh\necho noise\nprintf "%s|%s" "$*" "$(cat)" > "{record}"\n'
        f'echo $$ > "{pid}"\nexec sleep 300\n',
    )
    done = run(target, shipped.HOOKS / name, shell)  # returns at the end of both pipes, long before the sleep
    assert (done.returncode, done.stdout) == (0, "")
    process = pid_in(pid)
    os.kill(process, signal.SIGKILL)  # fails when it had ended: it was running after the adapter's end
    assert record.read_text() == f"{arguments}|"


@pytest.mark.parametrize("shell", SHELLS)
def test_an_update_notice_is_shown_when_there_is_one(tmp_path: Path, shell: str) -> None:
    target = make_target(tmp_path / "t")
    state = tmp_path / "state dir"
    state.mkdir()
    adapter = shipped.HOOKS / "check-config-updates.sh"
    assert run(target, adapter, shell, WAYS_STATE_ROOT=str(state)).stdout == ""
    notice = '{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "newer"}}'
    (state / "update-notice.json").write_text(notice)
    assert run(target, adapter, shell, WAYS_STATE_ROOT=str(state)).stdout == notice
    shared = target.parent / "home/.local/state/agent-ways"
    shared.mkdir(parents=True)
    (shared / "update-notice.json").write_text("{}")
    assert run(target, adapter, shell, XDG_STATE_HOME="relative").stdout == "{}"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("shell", SHELLS)
def test_the_end_of_a_hook_ends_the_program(tmp_path: Path, shell: str, sent: signal.Signals) -> None:
    """Claude Code signals the shell of a hook that took too long; the program must not live on."""
    target = make_target(tmp_path / "t")
    started, ended = tmp_path / "started", tmp_path / "ended"
    install(
        target,
        f"#!{sys.executable}\n"
        "import os, signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(ended)!r}, 'w').close()\n"
        "    sys.exit(2)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"open({str(started)!r}, 'w').write(f'{{os.getpid()}}\\n')\n"
        "time.sleep(300)\n",
    )
    adapter = subprocess.Popen(
        [*shell_command(shell), str(target / "hooks/ways/check-prompt.sh")], stdin=subprocess.PIPE
    )
    try:
        pid_in(started)
        adapter.send_signal(sent)
        assert adapter.wait(timeout=30) == 0
        assert wait_for(ended.exists)
    finally:
        adapter.kill()
        if adapter.stdin:
            adapter.stdin.close()
