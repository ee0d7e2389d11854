"""Reading the event log: for commands, never on a hook's path."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ways.core import jsontext
from ways.telemetry import folding

MAX_LINE = 1 << 20
_TEXT_ONLY = {str}


def read(events_path: str, wanted: Callable[[bytes], bool] | None = None) -> Iterator[dict[str, str]]:
    """The events of the log in its order, then those put aside beside it.

    Torn lines, foreign lines, lines without `event` and lines over 1 MiB are passed over; in old lines
    a number or a boolean is given as text and a nested value is left out. A log that cannot be read
    is empty. Lines being folded at this moment may be given twice or not yet. `wanted` sees each raw line
    and says whether it is worth parsing: a session's own lines are a small part of a log.
    """
    yield from read_file(events_path, wanted)
    for path in folding.waiting(events_path):
        if path.endswith(".jsonl"):
            yield from read_file(path, wanted)


def read_file(path: str, wanted: Callable[[bytes], bool] | None = None) -> Iterator[dict[str, str]]:
    """The events of one file, of the lines that are `wanted`."""
    try:
        with open(path, "rb") as file:
            while line := file.readline(MAX_LINE):
                if not line.endswith(b"\n") and len(line) == MAX_LINE:
                    while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                        pass
                    continue
                if wanted is not None and not wanted(line):
                    continue
                event = parse(line)
                if event is not None:
                    yield event
    except OSError:
        return


def parse(line: bytes) -> dict[str, str] | None:
    """One line as an event, None when it is none."""
    document = jsontext.loads_or_none(line)
    if not isinstance(document, dict) or not isinstance(document.get("event"), str):
        return None
    if set(map(type, document.values())) == _TEXT_ONLY:
        return document
    event: dict[str, str] = {}
    for key, value in document.items():
        if isinstance(value, str):
            event[key] = value
        elif isinstance(value, bool):
            event[key] = "true" if value else "false"
        elif isinstance(value, int | float):
            event[key] = str(value)
    return event
