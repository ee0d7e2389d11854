"""Applying a settings plan: read → merge → back up → write → read again → compare → save the base.

The plan that was shown is made again under the lock, because the file may have changed since; when
nothing did, it is the same plan. Other programs write this file without our lock, so the file is
compared with what was merged at the last moment before the rename (spec: projection, "Writing" and
"Concurrent writers").
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from projection.claude_settings import backup, shape, store, text
from projection.claude_settings.ownership import Ownership
from projection.claude_settings.plan import Action, SettingsPlan, Snapshot, plan_settings, take_snapshot
from projection.claude_settings.report import Report, printable_path
from projection.claude_settings.text import Malformed
from projection.claude_settings.view import users_view
from projection.system import FileInfo, System
from ways.core import files
from ways.core.errors import WRITE_FAILED, UserError

if TYPE_CHECKING:
    import portalocker

ATTEMPTS = 5
LOCK_SECONDS = 20.0
NEW_FILE_MODE = 0o600
_POLL_SECONDS = 0.02


@dataclass(frozen=True)
class SettingsOutcome:
    """What applying did. `backup` is the copy taken before the write, "" when none was needed."""

    path: str
    action: Action
    report: Report
    warnings: tuple[str, ...]
    backup: str = ""
    attempts: int = 1


class _Moved(Exception):
    """Another program wrote the file between our reading and our writing."""


def apply_settings(system: System, plan: SettingsPlan, lock_seconds: float = LOCK_SECONDS) -> SettingsOutcome:
    """Carry out a plan. Raises UserError with exit code 3 (refused) or 5 (not written, nothing
    changed), and leaves the user's part of the file as it was in every case."""
    if plan.action == "unchanged" and plan.base_is_tidy:
        return SettingsOutcome(plan.path, plan.action, plan.report, plan.warnings)
    warnings: list[str] = []
    with _locked(system, plan, lock_seconds, warnings):
        for attempt in range(1, ATTEMPTS + 1):
            fresh = plan_settings(system, plan.path, plan.ours, plan.context)
            if fresh.refusal:
                raise fresh.refusal.error()
            try:
                kept = _carry_out(system, fresh)
            except _Moved:
                continue
            except OSError as error:
                raise _failed(plan, f"cannot be written: {error.strerror or error}") from error
            found = (*fresh.warnings, *warnings)
            return SettingsOutcome(plan.path, fresh.action, fresh.report, found, kept, attempt)
    raise _failed(plan, f"another program kept changing it; nothing was changed after {ATTEMPTS} attempts")


def _carry_out(system: System, plan: SettingsPlan) -> str:
    """Write what the plan says; returns the backup's path. Raises _Moved, OSError, UserError."""
    if not plan.changes_something:
        if not plan.base_is_tidy:
            _sweep(system, plan)
            store.save(system, plan.context.store, plan.base)
        return ""
    _sweep(system, plan)
    snapshot = plan.snapshot
    mode = snapshot.info.mode if snapshot.info else NEW_FILE_MODE
    kept = backup.back_up(system, _backups(plan), snapshot.content, mode)
    store.announce(system, plan.context.store, plan.base, snapshot.content, plan.after)
    if plan.after is None:
        _ensure_unmoved(system, plan)
        system.remove(snapshot.real_path)
        written = None
    else:
        written = _write(system, plan, plan.after, mode)
    _verify(system, plan, written, mode)
    store.save(system, plan.context.store, plan.base)
    return kept


def _write(system: System, plan: SettingsPlan, after: bytes, mode: int) -> FileInfo | None:
    """Write beside the real file, look once more whether it is still what was merged, and rename: all
    that is left to chance is the time between that look and the rename. Returns what was written."""
    real, info = plan.snapshot.real_path, plan.snapshot.info
    system.make_folders(os.path.dirname(real))
    staged = files.temporary_name(real)
    owner = (info.uid, info.gid) if info else _owner_of_a_new_file(system, os.path.dirname(real))
    try:
        system.write_atomic(staged, after, mode, owner, durable=True)
        if system.read_bytes(staged) != after:
            raise OSError(errno.EIO, "the disk did not keep what was written")
        written = system.info(staged)
        _ensure_unmoved(system, plan)
        system.rename(staged, real)
    except (OSError, _Moved):
        if system.kind(staged):
            system.remove(staged)
        raise
    return written


def _owner_of_a_new_file(system: System, folder: str) -> tuple[int, int] | None:
    """Root (an installer under sudo) leaves a new file to whom the folder belongs, or Claude Code could
    not read its own settings. None: whoever writes."""
    about = system.info(folder, follow=True)
    return (about.uid, about.gid) if about and os.name != "nt" and os.geteuid() == 0 else None


def _sweep(system: System, plan: SettingsPlan) -> None:
    """Remove the temporary files that an earlier run of ours left when it died; we hold the lock."""
    folder, name = os.path.split(plan.snapshot.real_path)
    for place, start in ((folder, name[:90]), (plan.context.store, "settings-"), (_backups(plan), "")):
        if system.kind(place) != "folder":
            continue
        for found in system.names(place):
            if files.TEMPORARY_MARK in found and found.lstrip(".").startswith(start.lstrip(".")):
                system.remove(os.path.join(place, found))


def _ensure_unmoved(system: System, plan: SettingsPlan) -> None:
    now, refusal = take_snapshot(system, plan.path)
    if refusal or not _same_file(now, plan.snapshot):
        raise _Moved


def _same_file(one: Snapshot, other: Snapshot) -> bool:
    if one.real_path != other.real_path or one.content != other.content:
        return False
    if one.info is None or other.info is None:
        return one.info is other.info
    # Not only the content: a writer that put the same bytes there has the file in hand right now.
    return (one.info.identity, one.info.mtime_ns) == (other.info.identity, other.info.mtime_ns)


def _verify(system: System, plan: SettingsPlan, written: FileInfo | None, mode: int) -> None:
    """Read the file again and compare the user's view with the one before (case s08)."""
    now, refusal = take_snapshot(system, plan.path)
    if refusal is None and (now.content == plan.after or _view_is_kept(system, plan, now)):
        return
    if refusal is None and now.content == plan.snapshot.content:
        raise _failed(plan, "is unchanged although the system reported that it was written")
    if not _is_what_we_wrote(now, written):
        # Somebody wrote right after us: theirs is the newer, and we merge again into it.
        raise _Moved
    _restore(system, plan, mode)
    raise _failed(plan, "did not hold what was written to it; what was there before has been put back")


def _is_what_we_wrote(now: Snapshot, written: FileInfo | None) -> bool:
    """Whether the very file that we wrote stands there and nobody wrote to it since."""
    if now.info is None or written is None:
        return now.info is written
    return (now.info.identity, now.info.mtime_ns) == (written.identity, written.mtime_ns)


def _view_is_kept(system: System, plan: SettingsPlan, now: Snapshot) -> bool:
    if now.content is None:
        return False
    try:
        document = text.parse(now.content)
        shape.check(document)
    except Malformed:
        return False
    recogniser = plan.context.recogniser(system, plan.ours)
    ownership = Ownership(text.plain(document.root), plan.base, recogniser)
    return users_view(ownership) == plan.view and not ownership.vanished()


def _restore(system: System, plan: SettingsPlan, mode: int) -> None:
    real, before = plan.snapshot.real_path, plan.snapshot.content
    if before is None:
        if system.kind(real):
            system.remove(real)
    else:
        info = plan.snapshot.info
        system.write_atomic(real, before, mode, (info.uid, info.gid) if info else None, durable=True)


@contextmanager
def _locked(system: System, plan: SettingsPlan, seconds: float, warnings: list[str]) -> Iterator[None]:
    """Our lock on the real file, whichever target it is reached through (case s11)."""
    lock = _lock(plan, seconds, warnings) if system.changes_disk else None
    try:
        yield
    finally:
        if lock:
            lock.release()


def _lock(plan: SettingsPlan, seconds: float, warnings: list[str]) -> portalocker.Lock[Any] | None:
    """The lock, held. One that another run holds costs exit code 5; a file system that cannot lock
    costs a warning (case u10). Locks are never on the data file and never removed."""
    import portalocker

    name = hashlib.sha256(os.fsencode(plan.snapshot.real_path)).hexdigest()[:16]
    path = os.path.join(plan.context.locks, f"settings-{name}.lock")
    lock = portalocker.Lock(path, "ab", timeout=seconds, check_interval=_POLL_SECONDS)
    try:
        files.make_private(plan.context.locks)
        lock.acquire()
    except portalocker.AlreadyLocked as error:
        raise _failed(plan, f"another run of ways has been writing it for {seconds:g} s") from error
    except portalocker.LockException as error:
        why = error.strerror or str(error)
        warnings.append(f"{printable_path(path)} cannot be locked here ({why}); went on without the lock")
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise _failed(plan, f"the lock {printable_path(path)} cannot be opened: {why}") from error
    return lock


def _backups(plan: SettingsPlan) -> str:
    return os.path.join(plan.context.store, backup.FOLDER)


def _failed(plan: SettingsPlan, what: str) -> UserError:
    return UserError(f"{printable_path(plan.path)}: {what}", "ways reconcile", WRITE_FAILED)
