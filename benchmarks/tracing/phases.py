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
    """One call: the process, nanoseconds on the monotonic clock, its name, the file handle (-1 for none) and
    the path ("" for none)."""

    process: int
    at: int
    call: str
    handle: int
    path: str


def read(text: str) -> list[Note]:
    """The notes of the process that began first, in order."""
    found = []
    for line in text.splitlines():
        process, at, call, handle, path = line.split(" ", 4)
        found.append(Note(int(process), int(at), call, int(handle), "" if path == "-" else path))
    return [note for note in found if note.process == found[0].process]


def durations(notes: Sequence[Note], begin: float, end: float) -> dict[str, float]:
    """Milliseconds in each phase of a run that began and ended at these seconds on the monotonic clock."""
    found = dict.fromkeys(PHASES, 0.0)
    phases = list(_phases(notes))
    found[START] = notes[0].at / 1e6 - begin * 1e3
    for index, note in enumerate(notes):
        last = index + 1 == len(notes)
        until = end * 1e3 if last else notes[index + 1].at / 1e6
        phase = phases[index]
        # Work after the last look at the ways' files is not looking any more.
        if phase == CATALOGUE and not last and phases[index + 1] != CATALOGUE and note.call == "stat":
            phase = MATCHING
        found[phase] += until - note.at / 1e6
    return found


def _phases(notes: Iterable[Note]) -> Iterable[str]:
    """The phase of every note."""
    opened: dict[int, str] = {}
    program = ""
    current = BOOTLOADER
    for note in notes:
        if note.call == "exec":
            program = note.path
        if note.call == "open" and note.handle >= 0:
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
