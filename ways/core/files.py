"""Reading and writing files that other processes read too (spec: roots and files).

Every write is a temporary file plus rename in the same directory; on Windows the rename is
retried while a scanner or a reader holds the old file.
"""

from __future__ import annotations

import os
import time

TEMPORARY_MARK = ".ways-tmp-"
_RETRIES = 12
_counter = 0


def read_bytes(path: str, limit: int | None = None) -> bytes:
    """The file's bytes, at most `limit` of them. Raises OSError. Never blocks on a FIFO."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        parts = []
        left = limit
        while left is None or left > 0:
            part = os.read(descriptor, 1 << 20 if left is None else min(left, 1 << 20))
            if not part:
                break
            parts.append(part)
            if left is not None:
                left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(descriptor)


def read_bytes_or_none(path: str, limit: int | None = None) -> bytes | None:
    """As read_bytes, None when the file cannot be read."""
    try:
        return read_bytes(path, limit)
    except OSError:
        return None


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls that takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def temporary_name(path: str) -> str:
    """A name beside `path` that no other process uses."""
    global _counter  # noqa: PLW0603 - unique within the process
    _counter += 1
    folder, name = os.path.split(path)
    # 40 characters are at most 160 bytes: a long name in another script must stay under 255.
    return os.path.join(
        folder, f".{name[:40]}{TEMPORARY_MARK}{os.getpid()}-{_counter}-{time.time_ns() % 10**9}"
    )


def write_atomic(path: str, data: bytes, mode: int = 0o600, durable: bool = False) -> None:
    """Replace `path` by `data` so that a reader sees the old file or the new one, never a part.

    `mode` is the new file's mode on POSIX; `durable` waits for the disk (for records whose loss
    would matter after a power cut). The folder must exist. Raises OSError, leaving nothing behind.
    """
    temporary = temporary_name(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(temporary, flags, mode)
    try:
        try:
            write_all(descriptor, data)
            if os.name != "nt":
                os.fchmod(descriptor, mode)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        replace(temporary, path)
    except BaseException:
        remove_if_there(temporary)
        raise


def replace(source: str, target: str) -> None:
    """`os.replace`, retried for about a second on Windows sharing violations (case s12)."""
    for attempt in range(_RETRIES):
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if os.name != "nt" or attempt == _RETRIES - 1:
                raise
            time.sleep(0.005 * (attempt + 1) ** 1.5)


def remove_if_there(path: str) -> None:
    """Remove a file; no error when there is none. Raises OSError for anything else."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def make_private(folder: str) -> None:
    """Make `folder` and its parents, mode 0700 for each that is new. Raises OSError.

    (`os.makedirs` gives its mode to the last folder only.)
    """
    try:
        os.mkdir(folder, 0o700)
    except FileNotFoundError:
        parent = os.path.dirname(folder)
        if parent == folder:
            raise
        make_private(parent)
        # Another process may have been quicker, here as below.
        make_private(folder)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
