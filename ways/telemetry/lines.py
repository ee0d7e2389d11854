"""Appending whole lines to a log whose lock is held."""

from __future__ import annotations

import os

from ways.core import files


def append_bytes(events_path: str, data: bytes) -> int:
    """Append whole lines in one write; the log's new size. The lock must be held.

    A torn last line, left by a crash, is terminated first. A write that the disk takes in part is
    taken back, so that nothing torn stays. Raises OSError.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(events_path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size:
            os.lseek(descriptor, size - 1, os.SEEK_SET)
            if os.read(descriptor, 1) != b"\n":
                data = b"\n" + data
        try:
            files.write_all(descriptor, data)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
        return size + len(data)
    finally:
        os.close(descriptor)
