"""Notes of a run, sorted into phases."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks import breakdown
from benchmarks.measure import Call, Spawner
from benchmarks.tracing import phases

BUNDLE = "/home/x/.local/share/agent-ways/versions/1/bin"
RUN = f"""\
7 2000000 500000 begin -1 -
7 2500000 1000000 exec -1 {BUNDLE}/ways
7 3000000 1500000 begin -1 -
7 4000000 2500000 dlopen -1 {BUNDLE}/_internal/libpython3.11.so.1.0
7 9000000 7500000 open 3 {BUNDLE}/_internal/hooks.pack
8 9100000 7600000 begin -1 -
7 9500000 8000000 read 3 -
7 11000000 9500000 read 0 -
7 11500000 10000000 open 4 /home/x/.cache/agent-ways/user/catalogue-1.bin
7 12000000 10500000 stat -1 /home/x/.claude/hooks/ways/a/a.md
7 12100000 10600000 stat -1 /home/x/.claude/hooks/ways/b/b.md
7 14000000 12500000 connect 5 /run/user/1/claude-sessions/.embed/en.sock
7 14500000 13000000 recv 5 -
7 16000000 13300000 rename -1 /run/user/1/claude-sessions/s/epoch
7 16200000 13500000 mmap -1 -
7 16500000 13800000 write 1 -
7 16600000 13900000 exit -1 -
"""


def test_each_stretch_belongs_to_the_note_that_begins_it() -> None:
    found = phases.durations(phases.read(RUN), 17.0, 14.3)
    assert {name: round(value, 2) for name, value in found.items() if value} == {
        phases.START: 0.5,
        phases.BOOTLOADER: 2.0,
        phases.INTERPRETER: 5.0,
        phases.MODULES: 2.0,
        phases.PAYLOAD: 0.5,
        phases.CATALOGUE: 0.6,
        phases.MATCHING: 1.9,
        phases.RESIDENT: 0.8,
        phases.WAITING: 1.2,
        phases.STATE: 0.5,
        phases.ANSWER: 0.1,
        phases.END: 0.4,
    }


def test_the_phases_add_up_to_the_processor_time() -> None:
    found = phases.durations(phases.read(RUN), 17.0, 14.3)
    assert sum(found[name] for name in phases.PHASES) == pytest.approx(14.3)


def test_work_after_the_last_look_for_a_marker_is_matching() -> None:
    marker = "/run/user/1/claude-sessions/s/ways/a/.marker.main"
    notes = f"7 0 0 begin -1 -\n7 1000000 1000000 open -1 {marker}\n7 2000000 2000000 exit -1 -\n"
    found = phases.durations(phases.read(notes), 3.0, 3.0)
    assert (found[phases.MATCHING], found[phases.STATE]) == (1.0, 0.0)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_library_notes_a_real_run(tmp_path: Path) -> None:
    library = breakdown.compiled(tmp_path)
    notes = tmp_path / "notes"
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": str(library), "WAYS_TRACE": str(notes)}
    true = shutil.which("true") or "/bin/true"
    with Spawner() as spawner:
        [sample] = spawner.run([Call((true,), environment, "/")])
    assert sample.code == 0
    found = phases.read(notes.read_text("utf-8"))
    assert (found[0].call, found[-1].call) == ("begin", "exit")
    whole = phases.durations(found, sample.started * 1e3 + sample.wall_ms, sample.cpu_ms)
    assert sum(whole[name] for name in phases.PHASES) == pytest.approx(sample.cpu_ms)
