"""Fifty hooks of ten sessions at once: one agent, four calls in flight, every verdict its own session's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.e2e.judge_home import home, wait_for

SESSIONS, HOOKS_EACH = 10, 5

# One session: five hooks at once, each with a word of its own that makes one of its ways relevant.
SESSION = """
import os, sys, threading, time
from ways.core import roots
from ways.gate.client import judge
from ways.gate.types import GateHit, GateRequest
from ways.telemetry import log
session, count, ready, go = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
resolved = roots.resolve()
lines = []
def hook(number):
    word = f"w{session}x{number}"
    hits = tuple(GateHit(f"{session}/{number}/{other}", f"about {word if other == 'own' else 'w0none'}")
                 for other in ("own", "foreign"))
    outcome = judge(GateRequest(resolved, "prompt", hits, f"please {word}", session=session))
    log.append(resolved.events, list(outcome.events), timeout=20)
    lines.append(f"{number} {','.join(sorted(outcome.blocked))}")
threads = [threading.Thread(target=hook, args=(number,)) for number in range(count)]
open(ready, "w").close()
while not os.path.exists(go):
    time.sleep(0.002)
for thread in threads: thread.start()
for thread in threads: thread.join()
print("\\n".join(sorted(lines)))
"""


def test_fifty_hooks_of_ten_sessions_at_once(tmp_path: Path) -> None:
    with home(tmp_path, delay=0.05) as user:
        go = tmp_path / "go"
        sessions = {}
        for number in range(SESSIONS):
            arguments = [f"s{number}", str(HOOKS_EACH), str(tmp_path / f"ready{number}"), str(go)]
            sessions[f"s{number}"] = subprocess.Popen(
                [sys.executable, "-c", SESSION, *arguments], stdout=subprocess.PIPE, text=True
            )
        wait_for(lambda: all((tmp_path / f"ready{number}").exists() for number in range(SESSIONS)), 60)
        go.touch()
        outputs = {name: process.communicate()[0] for name, process in sessions.items()}

        # Every hook got the verdict on its own ways: the one whose word it named passes, the other not.
        for name, output in outputs.items():
            expected = [f"{number} {name}/{number}/foreign" for number in range(HOOKS_EACH)]
            assert output.splitlines() == expected
        assert user.reasons() == []
        assert len(user.server.posts) == SESSIONS * HOOKS_EACH
        assert user.server.most_in_flight == 4
        assert len(user.server.gets) == 1, "the key is checked once for all who wait"
        assert len(user.logged("judge_call")) == SESSIONS * HOOKS_EACH
        for event in user.logged("way_judged"):
            assert event["way"].startswith(event["session"] + "/")

        assert user.agents() == [user.pid()]
        assert not os.path.exists(os.path.join(user.roots.state, "agent", "start-failed"))
