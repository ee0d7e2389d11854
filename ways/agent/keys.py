"""Key files: `{config}/keys/<provider>`, 0600 in a folder 0700 (spec: judge and agent, Keys).

A key comes from this file or from nowhere. It is written only where the modes can be set, and shown
to people as its last four characters at most.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from dataclasses import dataclass

from ways.core import errors, files
from ways.core.errors import UserError
from ways.core.roots import Roots
from ways.gate import paths

MAX_KEY = 4096
MIN_KEY = 8
_FOLDER_MODE, _FILE_MODE = 0o700, 0o600


@dataclass(frozen=True)
class Key:
    """A key and the identity of the file it was read from; `repr` never shows the key."""

    value: str
    identity: tuple[int, ...]

    def __repr__(self) -> str:
        return f"Key({masked(self.value)})"


class NoKey(Exception):
    """There is no key file."""


class KeyProblem(Exception):
    """There is a key file that must not or cannot be used; the message says why, without the key."""


def masked(value: str) -> str:
    """`…` and the last four characters; only `…` for a key too short to show any of."""
    return f"…{value[-4:]}" if len(value) >= 20 else "…"


def parse(text: str) -> str:
    """The key in what a person typed, piped or stored: one word of 8 to 4,096 printable ASCII characters.

    Raises KeyProblem, whose message does not repeat the text.
    """
    value = text.strip()
    if not MIN_KEY <= len(value) <= MAX_KEY:
        raise KeyProblem(f"a key has {MIN_KEY} to {MAX_KEY} characters")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise KeyProblem("a key is one word of printable ASCII characters")
    return value


def read(roots: Roots, provider: str) -> Key:
    """The stored key. Raises NoKey, and KeyProblem for a file that others could read or have written."""
    path = paths.key_file(roots, provider)
    folder_problem = _folder_problem(paths.keys_folder(roots))
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise NoKey from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise KeyProblem("the key file is a symbolic link") from error
        raise KeyProblem(f"the key file cannot be read: {error.strerror}") from error
    try:
        info = os.fstat(descriptor)
        problem = folder_problem or _file_problem(path, info)
        if problem:
            raise KeyProblem(problem)
        data = os.read(descriptor, MAX_KEY + 64)
    finally:
        os.close(descriptor)
    if not data.isascii():
        raise KeyProblem("a key is one word of printable ASCII characters")
    return Key(parse(data.decode("ascii")), _identity(info))


def identity(roots: Roots, provider: str) -> tuple[int, ...] | None:
    """What tells one state of the key file from the next; None without one. Holds nothing of the key."""
    try:
        return _identity(os.lstat(paths.key_file(roots, provider)))
    except OSError:
        return None


def store(roots: Roots, provider: str, value: str) -> None:
    """Write a key, replacing the former one. Raises UserError when the modes cannot be set, before
    any byte of the key has been written."""
    folder = paths.keys_folder(roots)
    path = paths.key_file(roots, provider)
    if os.path.islink(path) or (os.path.exists(path) and not os.path.isfile(path)):
        raise UserError(f"{path} is not a plain file", "remove it, then add the key again", errors.REFUSED)
    try:
        _make_folder(folder)
        _write(path, value)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}", "", errors.WRITE_FAILED
        ) from error


def remove(roots: Roots, provider: str) -> bool:
    """Remove a key file, and the folder when nothing is left in it. False when there was none."""
    path = paths.key_file(roots, provider)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise UserError(
            f"{path} cannot be removed: {error.strerror or error}", "", errors.WRITE_FAILED
        ) from error
    try:
        os.rmdir(os.path.dirname(path))
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise UserError(f"{os.path.dirname(path)}: {error.strerror}", "", errors.WRITE_FAILED) from error
    return True


def stored_providers(roots: Roots, providers: tuple[str, ...]) -> tuple[str, ...]:
    """Those of `providers` that have a key file."""
    return tuple(name for name in providers if os.path.lexists(paths.key_file(roots, name)))


def _make_folder(folder: str) -> None:
    """The keys folder with mode 0700, whoever made it. Raises UserError, OSError."""
    os.makedirs(folder, mode=_FOLDER_MODE, exist_ok=True)
    if os.path.islink(folder):
        raise UserError(f"{folder} is a symbolic link", "remove it, then add the key again", errors.REFUSED)
    if sys.platform == "win32":
        from windows import acl

        acl.restrict_to_current_user(folder)
        return
    if os.lstat(folder).st_uid == os.getuid():
        os.chmod(folder, _FOLDER_MODE)
    problem = _folder_problem(folder)
    if problem:
        raise UserError(
            f"{problem}: a key is stored only where nobody else can read it",
            "move the config root to a file system with modes (XDG_CONFIG_HOME)",
            errors.REFUSED,
        )


def _write(path: str, value: str) -> None:
    temporary = files.temporary_name(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(temporary, flags, _FILE_MODE)
    try:
        try:
            _close_to_others(temporary, descriptor)
            files.write_all(descriptor, value.encode("ascii") + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        files.replace(temporary, path)
    except BaseException:
        files.remove_if_there(temporary)
        raise


def _close_to_others(path: str, descriptor: int) -> None:
    """Make sure that the still empty file is the user's alone. Raises UserError."""
    if sys.platform == "win32":
        from windows import acl

        acl.restrict_to_current_user(path)
        return
    os.fchmod(descriptor, _FILE_MODE)
    problem = _file_problem(path, os.fstat(descriptor))
    if problem:
        raise UserError(
            f"{problem}: a key is stored only where nobody else can read it",
            "move the config root to a file system with modes (XDG_CONFIG_HOME)",
            errors.REFUSED,
        )


def _folder_problem(folder: str) -> str:
    if sys.platform == "win32":
        return ""
    try:
        info = os.lstat(folder)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} cannot be looked at: {error.strerror}"
    if not stat.S_ISDIR(info.st_mode):
        return f"{folder} is not a folder of its own"
    return _access_problem(folder, info, _FOLDER_MODE)


def _file_problem(path: str, info: os.stat_result) -> str:
    if not stat.S_ISREG(info.st_mode):
        return f"{path} is not a plain file"
    return "" if sys.platform == "win32" else _access_problem(path, info, _FILE_MODE)


def _access_problem(path: str, info: os.stat_result, wanted: int) -> str:
    if info.st_uid != os.getuid():
        return f"{path} belongs to user {info.st_uid}"
    mode = stat.S_IMODE(info.st_mode)
    if mode & 0o077:
        return f"{path} has mode {mode:04o} and needs {wanted:04o}"
    return ""


def _identity(info: os.stat_result) -> tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns
