"""Sorting the notes of a run (trace.c) into phases.

A note says that a call into the C library began; what follows until the next note is the call itself and the
program's own work after it. So each stretch belongs to the phase of the note that begins it. What has no
phase of its own (closing a file, asking for memory) goes on with the phase before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

START, BOOTLOADER, INTERPRETER = "start of the process", "bootloader", "interpreter"
MODULES, PLACE, PAYLOAD = "loading modules", "roots, version lock", "reading the payload"
SETTINGS, CATALOGUE, MATCHING = "settings, switches", "catalogue: is it current", "matching"
TRANSCRIPT, CORPUS, RESIDENT = "transcript", "corpus file", "resident embedder"
ENGINE, STATE, LOG = "engine in the hook itself", "session state", "event log"
BODY, ANSWER, END = "reading the way", "answer", "end of the process"
WAITING = "waiting for the resident"
PHASES = (
    *(START, BOOTLOADER, INTERPRETER, MODULES, PLACE, PAYLOAD, SETTINGS, CATALOGUE, MATCHING),
    *(TRANSCRIPT, CORPUS, RESIDENT, ENGINE, STATE, BODY, LOG, ANSWER, END),
)

# Parts of paths, the first that fits decides.
_BY_PATH = (
    ("/.embed/", RESIDENT),
    ("/claude-sessions/", STATE),
    ("base_library.zip", INTERPRETER),
    ("libpython", INTERPRETER),
    (".in-use", PLACE),
    ("ways_native", ENGINE),
    (".gguf", ENGINE),
    ("/_internal/", MODULES),
    ("/catalogue-", CATALOGUE),
    ("/ways-corpus", CORPUS),
    ("/embed-manifest", CORPUS),
    ("/events.", LOG),
    ("/.config/agent-ways/ways", CATALOGUE),
    ("/hooks/ways", CATALOGUE),
    ("/.claude/ways.yaml", SETTINGS),
    ("/.claude/ways", CATALOGUE),
    ("/.config/agent-ways", SETTINGS),
    ("/settings/", SETTINGS),
    ("/.local/state/agent-ways", SETTINGS),
    ("/.claude/projects/", TRANSCRIPT),
    ("/.claude/agents", SETTINGS),
)


@dataclass(frozen=True)
class Note:
    """One call: the process, nanoseconds on the monotonic clock and of processor time so far, its name, the
    file handle (-1 for none) and the path ("" for none)."""

    process: int
    at: int
    busy: int
    call: str
    handle: int
    path: str


def read(text: str) -> list[Note]:
    """The notes of the process that began first, in order."""
    found = []
    for line in text.splitlines():
        process, at, busy, call, handle, path = line.split(" ", 5)
        found.append(Note(int(process), int(at), int(busy), call, int(handle), "" if path == "-" else path))
    return [note for note in found if note.process == found[0].process]


def durations(notes: Sequence[Note], end_ms: float, cpu_ms: float) -> dict[str, float]:
    """Milliseconds of processor time in each phase of a run that took `cpu_ms` in all, and under WAITING
    those on the wall that it waited for the resident embedder. The run ended at `end_ms` on the monotonic
    clock.

    Processor time, because a busy machine stretches the wall time of one phase or another by chance.
    """
    found = dict.fromkeys((*PHASES, WAITING), 0.0)
    phases = list(_phases(notes))
    found[START] = notes[0].busy / 1e6
    for index, note in enumerate(notes):
        last = index + 1 == len(notes)
        busy = (cpu_ms if last else notes[index + 1].busy / 1e6) - note.busy / 1e6
        wall = (end_ms if last else notes[index + 1].at / 1e6) - note.at / 1e6
        phase = phases[index]
        if not last and phases[index + 1] != phase and _is_look(note, phase):
            phase = MATCHING  # the work after the last look is not looking any more
        found[phase] += busy
        if phase == RESIDENT:
            found[WAITING] += wall - busy
    return found


def _is_look(note: Note, phase: str) -> bool:
    """True for a look at one way's file, or for whether one way was shown."""
    if phase == CATALOGUE:
        return note.call == "stat"
    return phase == STATE and note.call == "open" and note.handle < 0 and ".marker" in note.path


def _phases(notes: Iterable[Note]) -> Iterable[str]:
    """The phase of every note."""
    opened: dict[int, str] = {}
    program = ""
    current = BOOTLOADER
    for note in notes:
        if note.call == "exec":
            program = note.path
        if note.call in {"open", "connect"} and note.handle >= 0:
            opened[note.handle] = note.path
        current = _phase(note, opened, program) or current
        yield current


def _phase(note: Note, opened: dict[int, str], program: str) -> str:
    """The phase that a note begins, "" for none of its own."""
    if note.call in {"begin", "exec"}:
        return BOOTLOADER
    if note.call == "exit":
        return END
    if note.call == "timer":
        return MATCHING
    if note.handle == 0 and note.call in {"read", "poll"}:
        return PAYLOAD
    if note.handle == 1 and note.call == "write":
        return ANSWER
    if note.call in {"connect", "send", "recv"}:
        return RESIDENT
    path = note.path or opened.get(note.handle, "")
    if not path:
        return ""
    phase = next((phase for part, phase in _BY_PATH if part in path), "")
    if phase == CATALOGUE and note.call in {"open", "read"} and path.endswith(".md"):
        return BODY
    if not phase and note.call == "stat" and (program.startswith(path) or path.endswith("/run")):
        return PLACE
    return phase
