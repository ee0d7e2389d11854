"""The agent's named pipe; runs on Windows and under Wine."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.unit.windows.machine import on_windows

pytestmark = on_windows


def test_a_client_that_leaves_before_it_is_seen_does_not_end_the_listener(tmp_path: Path) -> None:
    if sys.platform != "win32":
        pytest.skip("needs Windows")
    import _winapi

    from windows import named_pipe

    listener = named_pipe.PipeListener(str(tmp_path))
    name = (tmp_path / named_pipe.RECORD_NAME).read_text("ascii").splitlines()[0]
    both = _winapi.GENERIC_READ | _winapi.GENERIC_WRITE
    for _ in range(3):
        _winapi.CloseHandle(_winapi.CreateFile(name, both, 0, 0, _winapi.OPEN_EXISTING, 0, 0))
        gone = listener.accept(0.1)
        if gone is not None:  # it was still to be seen: it says nothing
            assert gone.recv(1) == b""
            gone.close()
    clients: list[Any] = []
    caller = threading.Thread(target=lambda: clients.append(named_pipe.connect(str(tmp_path), 30.0)))
    caller.start()
    served = listener.accept(30.0)
    assert served is not None and listener.is_known(served, 30.0)
    caller.join(30.0)
    served.settimeout(30.0)
    served.send(b"hello")
    clients[0].settimeout(30.0)
    assert clients[0].recv(5) == b"hello"
    clients[0].close()
    served.close()
    listener.close()
