"""The key is nowhere but in its file, in the agent's memory and in the header to the provider."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.judge_home import Home, home, wait_for
from tests.e2e.provider_server import KEY
from tests.e2e.test_judge_agent_life import HOOK

NEEDLES = [KEY, KEY[:20], KEY[10:30], KEY[-20:]]


def files_with_key(folder: Path) -> set[str]:
    """Every file below `folder` that holds a part of the key."""
    found = set()
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if any(needle.encode() in data for needle in NEEDLES):
                found.add(str(path.relative_to(folder)))
    return found


@pytest.fixture
def used(tmp_path: Path) -> Iterator[Home]:
    """A home that has seen verdicts and every kind of failure near the key, with WAYS_DEBUG on."""
    with home(tmp_path) as user:
        os.environ["WAYS_DEBUG"] = "1"
        for behaviour in ("ok", 401, 400, "dropped", "not_http", "not_json", 500):
            user.server.behaviour = behaviour
            # A provider that repeats the key in its error text.
            user.server.error_body = {"error": {"message": f"bad key {KEY}", "code": 1}}
            user.judge()
        user.server.behaviour, user.server.check = "ok", 401
        user.profile["model"] = "another"
        user.configure()
        user.judge()
        user.store_key(key=KEY + " " + KEY)
        user.judge()
        user.store_key(mode=0o644)
        user.judge()
        user.store_key()
        user.server.check = 200
        yield user


def test_the_key_is_in_no_log_record_or_cache(used: Home) -> None:
    assert len(used.reasons()) == 9
    assert files_with_key(used.folder) == {"config/keys/anthropic"}


def test_the_key_is_in_no_process_list_and_no_environment(used: Home) -> None:
    used.judge()
    assert used.pid() > 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        for name in ("cmdline", "environ"):
            try:
                data = (entry / name).read_bytes()
            except OSError:
                continue
            assert not any(needle.encode() in data for needle in NEEDLES)


def test_the_key_goes_into_the_header_and_nowhere_else(used: Home) -> None:
    used.server.seen.clear()
    used.judge()
    for seen in used.server.seen:
        assert seen.headers["x-api-key"] == KEY
        others = {name: value for name, value in seen.headers.items() if name != "x-api-key"}
        assert KEY not in str(others) + seen.path + seen.body.decode()


def test_the_memory_of_a_hook_never_holds_the_key(used: Home) -> None:
    """The hook's memory while it waits for the agent, as a core file would keep it."""
    used.server.delay = 1.0
    hook = subprocess.Popen([sys.executable, "-c", HOOK], stdout=subprocess.PIPE)
    posts = len(used.server.posts)
    wait_for(lambda: len(used.server.posts) > posts)
    os.kill(hook.pid, signal.SIGSTOP)
    try:
        memory = read_memory(hook.pid)
    finally:
        os.kill(hook.pid, signal.SIGCONT)
    hook.communicate()
    assert b"guidance" in memory or b"alpha please" in memory, "the memory was really read"
    assert not any(needle.encode() in memory for needle in NEEDLES)


def read_memory(pid: int) -> bytes:
    """All writable memory of a process."""
    parts = []
    with open(f"/proc/{pid}/mem", "rb") as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            start, end = (int(number, 16) for number in span.split("-"))
            try:
                memory.seek(start)
                parts.append(memory.read(end - start))
            except OSError:
                continue
    return b"".join(parts)


def test_the_agent_writes_no_core_file(used: Home) -> None:
    used.judge()
    limits = Path(f"/proc/{used.pid()}/limits").read_text()
    (line,) = [line for line in limits.splitlines() if line.startswith("Max core file size")]
    assert line.split()[4:6] == ["0", "0"]
