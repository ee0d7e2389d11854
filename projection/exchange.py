"""Swapping two names in one step, so that a place never stands empty (case s06).

A link cannot be replaced by a folder with rename. Linux (`renameat2`) and macOS (`renamex_np`) can
swap two names atomically; where neither works, three renames do it and a moment is left between.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable

from ways.core import files

_AT_FDCWD = -100
_EXCHANGE = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS
_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})


def exchange(first: str, second: str, between: Callable[[], None]) -> None:
    """Swap what stands at two existing paths of one folder. Raises OSError.

    `between` is called at the moment that a crash would be noticed, in the way without a system call.
    """
    if not _in_one_step(first, second):
        aside = files.temporary_name(second)
        files.replace(second, aside)
        between()
        files.replace(first, second)
        files.replace(aside, first)


def _in_one_step(first: str, second: str) -> bool:
    """True when the system swapped them, False when it cannot. Raises OSError when it failed."""
    import ctypes  # dear to load, and needed for a change of mode only

    one, two = os.fsencode(first), os.fsencode(second)
    if sys.platform.startswith("linux"):
        call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        arguments: tuple[object, ...] = (_AT_FDCWD, one, _AT_FDCWD, two, ctypes.c_uint(_EXCHANGE))
    elif sys.platform == "darwin":
        call = getattr(ctypes.CDLL(None, use_errno=True), "renamex_np", None)
        arguments = (one, two, ctypes.c_uint(_EXCHANGE))
    else:
        return False
    if call is None:
        return False
    if call(*arguments) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), second)
