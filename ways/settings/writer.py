"""Writing settings files (spec: settings): lock, change only the keys being set, keep everything else,
write atomically, refuse a file that does not parse."""

from __future__ import annotations

import os
import shlex
import stat
from binascii import crc32
from collections.abc import Callable, Iterable, Mapping

from ways.core import debuglog, files
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.core.locking import Lock, LockTimeout
from ways.settings import editing, registry, values
from ways.settings.editing import CannotEdit
from ways.settings.parsing import MAX_BYTES, Unreadable
from ways.settings.registry import PROJECT, USER

LOCK_SECONDS = 10.0
_ATTEMPTS = 5
_LINT = "ways settings lint"


def set_values(path: str, changes: Mapping[str, object], *, state_root: str, scope: str = USER) -> bool:
    """Set settings by dotted key in the file of this scope; made when it is missing. True when it changed.

    Raises UserError: an unknown key or a wrong value (exit 2), a file that does not parse or cannot be
    edited without touching other lines (3), a write that failed (5). The file is then as it was.
    """
    return rewrite(path, _setter(changes, scope), state_root, scope)


def preview(path: str, changes: Mapping[str, object], *, scope: str = USER) -> bytes:
    """The file as set_values would write it, without writing. Raises UserError as that does."""
    real = os.path.realpath(path)
    try:
        data = b"" if _identity(real) is None else _read(path, real)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", WRITE_FAILED) from error
    return _changed(path, data, _setter(changes, scope))


def _setter(changes: Mapping[str, object], scope: str) -> Callable[[str], str]:
    checked = [(*_placed(key, scope), value) for key, value in changes.items()]
    wanted = [(place, _check(key, setting, value)) for (key, setting, place, value) in checked]

    def change(text: str) -> str:
        for place, value in wanted:
            text = editing.set_value(text, place, value)
        return text

    return change


def unset(path: str, keys: Iterable[str], *, state_root: str, scope: str = USER) -> bool:
    """Remove settings by dotted key, with the groups that this empties. True when the file changed.
    Raises UserError as set_values does."""
    places = [_placed(key, scope)[2] for key in keys]

    def change(text: str) -> str:
        for place in places:
            text = editing.unset_value(text, place)
        return text

    return rewrite(path, change, state_root, scope) if os.path.lexists(path) else False


def _placed(key: str, scope: str) -> tuple[str, registry.Setting, tuple[str, ...]]:
    try:
        setting, place = registry.find(key)
    except registry.NotASetting as error:
        raise UserError(f"{key} is not a setting", "ways settings list", USAGE) from error
    if scope not in setting.scopes:
        allowed = " and ".join(setting.scopes)
        raise UserError(f"{key} may be set in {allowed} settings only", f"ways settings help {key}", USAGE)
    return key, setting, place


def _check(key: str, setting: registry.Setting, value: object) -> object:
    try:
        return values.check(setting, value)
    except values.WrongValue as error:
        raise UserError(f"{key} {error}", f"ways settings help {key}", USAGE) from error


def rewrite(path: str, change: Callable[[str], str], state_root: str, scope: str = USER) -> bool:
    """Read, change, and replace the file under its lock; again when another program wrote meanwhile.

    `change` gets the text with `\\n` line ends. True when the file changed. Raises UserError as
    set_values does.
    """
    real = os.path.realpath(path)
    name = f"settings-{crc32(os.fsencode(real)):08x}.lock"
    lock = Lock(os.path.join(state_root, "locks", name), LOCK_SECONDS)
    try:
        lock.acquire()
    except LockTimeout as error:
        if error.held:
            why = f"{path} is being changed by another process ({error.why})"
            raise UserError(why, "wait for it, then the same command again", WRITE_FAILED) from error
        # A file system that cannot lock (case u10): the write below notices what another wrote meanwhile.
        debuglog.note(state_root, "settings", f"goes on without a lock: {error}")
    try:
        for _attempt in range(_ATTEMPTS):
            outcome = _attempt_once(path, real, change, scope)
            if outcome is not None:
                return outcome
    except OSError as error:
        raise UserError(
            f"{path} cannot be changed: {error.strerror or error}",
            f"make {shlex.quote(os.path.dirname(real))} writable, then the same command again",
            WRITE_FAILED,
        ) from error
    finally:
        lock.release()
    raise UserError(f"{path} keeps being changed by another program", "the same command again", WRITE_FAILED)


def _attempt_once(path: str, real: str, change: Callable[[str], str], scope: str) -> bool | None:
    """True when written, False when nothing was to be written, None when the file changed meanwhile."""
    before = _identity(real)
    data = b"" if before is None else _read(path, real)
    new = _changed(path, data, change)
    if new == data:
        return False
    if before is None:
        folder = os.path.dirname(real)
        if scope == PROJECT:
            os.makedirs(folder, exist_ok=True)
        else:
            files.make_private(folder)
        mode = 0o644 if scope == PROJECT else 0o600
    else:
        mode = stat.S_IMODE(os.stat(real).st_mode)
        if not os.access(real, os.W_OK):
            raise UserError(f"{path} is read-only", f"chmod u+w {shlex.quote(real)}", WRITE_FAILED)
    if _identity(real) != before:
        return None
    files.write_atomic(real, new, mode, durable=True)
    return True


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.stat(path)
    except FileNotFoundError:
        return None
    return info.st_size, info.st_mtime_ns, info.st_ino


def _read(path: str, real: str) -> bytes:
    if not os.path.isfile(real):
        raise UserError(f"{path} is not a file", f"move {shlex.quote(real)} away", REFUSED)
    data = files.read_bytes(real, MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UserError(f"{path} is larger than {MAX_BYTES} bytes", _LINT, REFUSED)
    return data


def _changed(path: str, data: bytes, change: Callable[[str], str]) -> bytes:
    """The file's new bytes: BOM and line endings as they were. Raises UserError (exit 3)."""
    bom = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: is not UTF-8 text", _LINT, REFUSED) from error
    windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    try:
        new = change(text.replace("\r\n", "\n") if windows else text)
    except Unreadable as error:
        where = f"{path}:{error.line}" if error.line else path
        raise UserError(f"{where}: {error.message}", _LINT, REFUSED) from error
    except CannotEdit as error:
        raise UserError(f"{path}: {error}", f"edit {path} by hand", REFUSED) from error
    return bom + (new.replace("\n", "\r\n") if windows else new).encode("utf-8")
