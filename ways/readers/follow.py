"""New lines of the event log as they are written (`ways session live`)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ways.telemetry import reading

_MOST = 4 << 20


class Follower:
    """Reads what was appended since the last call. A log that was compacted meanwhile is a new file: its
    lines up to the newest that was seen are passed over."""

    def __init__(self, path: str, *, from_start: bool = False) -> None:
        self._path = path
        self._identity: tuple[int, int] = (0, 0)
        self._position = 0
        self._newest = ""
        self._torn = b""
        if not from_start:
            self._to_end()

    def new(self) -> Iterator[dict[str, str]]:
        """The events that came since the last call. A log that cannot be read has none."""
        try:
            with open(self._path, "rb") as file:
                info = os.fstat(file.fileno())
                identity = (info.st_dev, info.st_ino)
                skip = ""
                if identity != self._identity or info.st_size < self._position:
                    skip = self._newest if self._identity != (0, 0) else ""
                    self._identity, self._position, self._torn = identity, 0, b""
                file.seek(self._position)
                while data := file.read(_MOST):
                    self._position += len(data)
                    yield from self._events(data, skip)
        except OSError:
            return

    def _events(self, data: bytes, skip: str) -> Iterator[dict[str, str]]:
        lines = (self._torn + data).split(b"\n")
        # A line that is still being written has no end yet.
        self._torn = lines.pop()[: reading.MAX_LINE]
        for line in lines:
            event = reading.parse(line)
            if event is None or (skip and event.get("ts", "") <= skip):
                continue
            self._newest = max(self._newest, event.get("ts", ""))
            yield event

    def _to_end(self) -> None:
        try:
            info = os.stat(self._path)
        except OSError:
            return
        self._identity, self._position = (info.st_dev, info.st_ino), info.st_size
        with open(self._path, "rb") as file:
            file.seek(max(0, info.st_size - reading.MAX_LINE))
            for line in file.read(reading.MAX_LINE).split(b"\n")[1:]:
                event = reading.parse(line)
                if event is not None:
                    self._newest = max(self._newest, event.get("ts", ""))
