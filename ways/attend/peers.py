"""Who can be written to: the sessions that have been seen in the last week (docs/attend.md)."""

from __future__ import annotations

import os

from ways.attend import inbox
from ways.attend.message import is_name
from ways.core import files, ids, jsontext
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

EVERYBODY = "all"
KEEP_SECONDS = 7 * 86400.0
MAX_GROUPS = 20
_MAX_BYTES = 16_384


@record
class Peer:
    """One session. `project` is a path or ""; `name` is the project's folder's until one is given; `seen` is
    when its last hook ran, in seconds since 1970."""

    session: str
    project: str
    name: str
    groups: tuple[str, ...]
    seen: float


def register(where: Roots, session: str, project: str) -> None:
    """Note that a session is here. A known one only gets a new time. Raises OSError, inbox.Unsafe.

    `session` must be a session id (ids.is_session_id).
    """
    path = _path(where, session)
    known = _read(path)
    if known is not None and (known.project == project or not project):
        os.utime(path)
        return
    name = known.name if known is not None else default_name(project)
    save(where, Peer(session, project, name, known.groups if known is not None else (), 0.0))


def save(where: Roots, peer: Peer) -> None:
    """Write what is known of a session. Raises OSError, inbox.Unsafe."""
    inbox.check_private(where)
    row = {"project": peer.project, "name": peer.name, "groups": list(peer.groups[:MAX_GROUPS])}
    path = _path(where, peer.session)
    try:
        files.write_atomic(path, jsontext.dump_bytes(jsontext.clean_tree(row)))
    except FileNotFoundError:
        files.make_private(os.path.dirname(path))
        files.write_atomic(path, jsontext.dump_bytes(jsontext.clean_tree(row)))


def find(where: Roots, session: str) -> Peer | None:
    """The session of that id, None when it has not been seen."""
    return _read(_path(where, session)) if ids.is_session_id(session) else None


def known(where: Roots, now: float) -> list[Peer]:
    """The sessions of the last week, the one seen last first. Never raises."""
    place = os.path.join(inbox.folder(where), "peers")
    try:
        names = os.listdir(place)
    except OSError:
        return []
    found = [_read(os.path.join(place, name)) for name in names if name.endswith(".json")]
    kept = [peer for peer in found if peer is not None and now - peer.seen < KEEP_SECONDS]
    return sorted(kept, key=lambda peer: (-peer.seen, peer.session))


def prune(where: Roots, now: float) -> None:
    """Remove the records and the inboxes of sessions that nothing has touched for a week. Raises OSError."""
    base = inbox.folder(where)
    for place in ("peers", "inbox"):
        try:
            entries = sorted(os.scandir(os.path.join(base, place)), key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        for entry in entries:
            if entry.name == inbox.PERSON or now - _newest(entry.path) < KEEP_SECONDS:
                continue
            if entry.is_dir(follow_symlinks=False):
                _remove_inbox(entry.path)
            elif entry.name.endswith(".json") or files.TEMPORARY_MARK in entry.name:
                files.remove_if_there(entry.path)


def default_name(project: str) -> str:
    """What a session is called until it is given a name: its project's folder, made one word."""
    words = os.path.basename(os.path.normpath(project)) if project else ""
    name = "".join("-" if char.isspace() or char in "@,:/\\" else char for char in words)[:60]
    return name if is_name(name) else "session"


def groups_of(peer: Peer) -> tuple[str, ...]:
    """The groups that reach a session: everybody, its project's, and those that it has joined."""
    return tuple(dict.fromkeys((EVERYBODY, default_name(peer.project), *peer.groups)))


def _path(where: Roots, session: str) -> str:
    return os.path.join(inbox.folder(where), "peers", f"{session}.json")


def _read(path: str) -> Peer | None:
    session = os.path.basename(path).removesuffix(".json")
    data = files.read_bytes_or_none(path, _MAX_BYTES)
    if data is None or not ids.is_session_id(session):
        return None
    row = jsontext.object_or_empty(data)
    project, name, groups = row.get("project"), row.get("name"), row.get("groups")
    project = project if isinstance(project, str) else ""
    kept = tuple(group for group in groups if is_name(group)) if isinstance(groups, list) else ()
    try:
        seen = os.stat(path).st_mtime
    except OSError:
        return None
    return Peer(session, project, name if is_name(name) else default_name(project), kept[:MAX_GROUPS], seen)  # type: ignore[arg-type]


def _newest(path: str) -> float:
    """When something in a folder, or the file itself, was last written."""
    times = [os.lstat(path).st_mtime]
    if os.path.isdir(path) and not os.path.islink(path):
        times += [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(path)]
    return max(times)


def _remove_inbox(path: str) -> None:
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        files.remove_if_there(entry.path)
    os.rmdir(path)
