"""The lines of a file from its end, read in blocks: a transcript of 500 MiB costs what one of 1 MiB does."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

FIRST_BLOCK = 64 * 1024
BLOCK = 256 * 1024
MAX_LINE = 2 * 1024 * 1024
MAX_SCAN = 32 * 1024 * 1024


class Backwards:
    """Iterates over `(offset, line)` of an open descriptor, newest line first, split on line feeds only.

    Starts at `size`; ends after `max_scan` bytes, when the caller stops, or when `needs_more(position)`
    says no before a further block is read (every line still to come begins before `position`).
    A line longer than `max_line` bytes is None and is never held in memory. `bytes_read` counts what was
    read. Raises OSError.
    """

    def __init__(
        self,
        descriptor: int,
        size: int,
        needs_more: Callable[[int], bool] | None = None,
        max_scan: int = MAX_SCAN,
        max_line: int = MAX_LINE,
    ) -> None:
        self.descriptor = descriptor
        self.size = size
        self.needs_more = needs_more
        self.max_line = max_line
        self.lowest = max(0, size - max_scan)
        self.bytes_read = 0

    def __iter__(self) -> Iterator[tuple[int, bytes | None]]:
        position = self.size
        pending: list[bytes] = []  # pieces of the line that began further ahead, last piece first
        length = 0
        while position > self.lowest:
            if self.bytes_read and self.needs_more is not None and not self.needs_more(position):
                return
            wanted = min(BLOCK if self.bytes_read else FIRST_BLOCK, position - self.lowest)
            position -= wanted
            block = self._read(position, wanted)
            if len(block) < wanted:
                return  # the file was cut off meanwhile
            end = wanted
            while (newline := block.rfind(b"\n", 0, end)) >= 0:
                length += end - newline - 1
                yield position + newline + 1, self._line(block[newline + 1 : end], pending, length)
                pending, length, end = [], 0, newline
            length += end
            if length <= self.max_line:
                pending.append(block[:end])
            else:
                pending.clear()
        if position == 0 and length:
            yield 0, self._line(b"", pending, length)

    def _line(self, first: bytes, rest: list[bytes], length: int) -> bytes | None:
        if length > self.max_line:
            return None
        return first + b"".join(reversed(rest)) if rest else first

    def _read(self, position: int, count: int) -> bytes:
        os.lseek(self.descriptor, position, os.SEEK_SET)
        parts = []
        while count:
            part = os.read(self.descriptor, count)
            if not part:
                break
            parts.append(part)
            count -= len(part)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        self.bytes_read += len(data)
        return data
