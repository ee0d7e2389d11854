"""A number that may stand for a living process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from ways.core import processes


def test_this_process_runs() -> None:
    assert processes.may_run(os.getpid())


@pytest.mark.parametrize("pid", [0, -1])
def test_what_is_no_process_does_not_run(pid: int) -> None:
    assert not processes.may_run(pid)


def test_a_number_that_no_system_gives_cannot_be_told() -> None:
    assert processes.may_run(2**80)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells")
def test_a_process_that_ended_and_was_not_waited_for_does_not_run() -> None:
    child = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()  # its end closes the pipe
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not processes.may_run(child.pid)
    child.wait()
    assert not processes.may_run(child.pid)
