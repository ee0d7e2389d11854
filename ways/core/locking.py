"""Locks on separate `.lock` files: bounded in time, never unlinked (spec: roots and files).

Importing portalocker costs more than a whole hook, so the hook's path takes the very same lock
through `fcntl.flock` or `msvcrt.locking`; `tests/property/test_locking.py` races the two.
"""

from __future__ import annotations

import os
import time

from ways.core.files import make_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

POLL_SECONDS = 0.004


class LockTimeout(Exception):
    """The lock was not had in time (`held`: by another process), or the file system cannot lock.
    Carries the path and why."""

    def __init__(self, path: str, why: str, held: bool = False) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why
        self.held = held


def _try_lock(descriptor: int) -> bool:
    """True when the lock was taken, False when another holds it. Raises OSError when the file
    system cannot lock at all."""
    if os.name == "nt":
        import msvcrt

        # portalocker locks one byte at the current position; a fresh descriptor stands at 0.
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        except PermissionError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(descriptor: int) -> None:
    if os.name == "nt":
        import msvcrt

        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


class Lock:
    """An exclusive lock on `path` (a `.lock` file, made when missing with its folder), as a context manager.

    Entering waits at most `timeout` seconds, then raises LockTimeout; so does a file system that
    cannot lock. The file is never removed: removing a lock file lets two holders in.
    """

    def __init__(self, path: str, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self._descriptor = -1

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """Take the lock or raise LockTimeout."""
        descriptor = self._open()
        deadline = time.monotonic() + self.timeout
        try:
            while not _try_lock(descriptor):
                if time.monotonic() >= deadline:
                    raise LockTimeout(self.path, f"held by another process for {self.timeout:g} s", held=True)
                time.sleep(POLL_SECONDS)
        except OSError as error:
            os.close(descriptor)
            raise LockTimeout(self.path, f"cannot be locked here: {error.strerror or error}") from error
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock back. Closing the descriptor frees it even where unlocking fails."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            try:
                _unlock(descriptor)
            except OSError:
                pass  # a network file system may fail here; closing frees the lock in any case
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            try:
                return os.open(self.path, flags, 0o600)
            except FileNotFoundError:
                make_private(os.path.dirname(self.path))
                return os.open(self.path, flags, 0o600)
        except OSError as error:
            raise LockTimeout(self.path, f"cannot be opened: {error.strerror or error}") from error
