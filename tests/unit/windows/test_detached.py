"""A process that we leave behind holds no handle of ours: whoever reads our output would wait for its end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ways.core import local_socket
from windows import after_exit

ROOT = Path(__file__).resolve().parents[3]
STARTER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ways.core.local_socket import spawn_detached
command = [sys.executable, "-c", sys.argv[2], *sys.argv[3:]]
spawn_detached(command, dict(os.environ), os.path.dirname(sys.argv[3]))
print("started", flush=True)
"""
LEFT_BEHIND = """
import os, sys, time
deadline = time.monotonic() + 60
while not os.path.exists(sys.argv[1]) and time.monotonic() < deadline:
    time.sleep(0.05)
open(sys.argv[2], "w").close()
"""


def test_case_h19_pipes_end_with_the_starter_and_not_with_what_it_left_behind(tmp_path: Path) -> None:
    """Its two output streams, and a handle that it was given by accident. On every system, and under Wine."""
    go, done = tmp_path / "go", tmp_path / "done"
    inherited, other = os.pipe()
    os.set_inheritable(other, True)
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(ROOT), LEFT_BEHIND, str(go), str(done)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        close_fds=False,
    )
    os.close(other)
    said, told = starter.communicate()
    assert (said.split(), told) == ([b"started"], b"")
    assert os.read(inherited, 1) == b""
    os.close(inherited)
    assert not done.exists(), "the pipes stayed open until the process left behind had ended"
    go.touch()
    deadline = time.monotonic() + 60
    while not done.exists():
        assert time.monotonic() < deadline, "nothing was left behind"
        time.sleep(0.05)


def _detached(folder: str) -> None:
    local_socket.spawn_detached(["ways.exe"], {}, folder)


@pytest.mark.parametrize("start", [_detached, after_exit.remove_folder])
def test_every_start_for_good_on_windows_names_the_null_device_and_passes_nothing_else(
    start: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three named streams with `close_fds`: Python then hands over a list of these three handles alone."""
    asked: list[dict[str, Any]] = []

    class Noted:
        def __init__(self, command: list[str], **options: Any) -> None:
            asked.append(options)

        def poll(self) -> None:
            return None

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(subprocess, "CREATE_NO_WINDOW", 0x08000000, raising=False)
    monkeypatch.setattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0x00000200, raising=False)
    monkeypatch.setattr(subprocess, "Popen", Noted)
    start(str(tmp_path))
    [options] = asked
    streams = {options[name] for name in ("stdin", "stdout", "stderr")}
    assert streams == {subprocess.DEVNULL}
    assert options["close_fds"] is True
    assert "startupinfo" not in options
    assert options["creationflags"] & 0x08000200 == 0x08000200, "no window, and no Ctrl-C of the starter's"
