"""The session directory: who has been shown what (spec: roots and files, Session directory).

Every file here has this module, `stash` or `held` as its only owner. A damaged file counts as absent
or as zero; a write is a temporary file plus rename; locks live in `locks/` and outlive a reset. A
session or agent id that may not become a path never gets here: `open_session` and `Session.agent`
answer None (case h10).
"""

from __future__ import annotations

import os

from ways.core import debuglog, files, ids, jsontext
from ways.core.clock import utc_iso
from ways.core.locking import Lock, LockTimeout
from ways.core.text import clean, cut_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

MAIN = "main"
RESPONSE_BYTES = 2_000
RESET_SECONDS = 10.0
SCAN_STEP = 64 * 1024
LOCK_SECONDS = 1.0
_NUMBER_BYTES = 20
_WRITE_ATTEMPTS = 5
_STATE_BYTES = 4 << 20
_TEAM_BYTES = 256


def open_session(roots: Roots, session_id: object) -> Session | None:
    """The session's state, None when the id may not become a path or the place is not a folder of
    its own (a link in the sessions root must not lead a reset elsewhere). Makes nothing."""
    if not ids.is_session_id(session_id):
        return None
    session = Session(roots.sessions, str(session_id), roots.state, roots.sessions_note)
    if not is_plain_folder_or_free(session.directory):
        debuglog.note(roots.state, "session", f"{session.directory} is not a folder; going on without state")
        return None
    return session


def is_plain_folder_or_free(path: str) -> bool:
    """True when `path` is a real folder (no link) or nothing is there yet."""
    try:
        return os.lstat(path).st_mode & 0o170000 == 0o040000
    except FileNotFoundError:
        return True
    except OSError:
        return False


class Session:
    """The state of one session. `session_id` must be valid (ids.is_session_id).

    Methods that write raise OSError when the disk does not take it; methods that read never raise.
    """

    def __init__(self, sessions_root: str, session_id: str, state_root: str = "", note: str = "") -> None:
        if not ids.is_session_id(session_id):
            raise ValueError(f"not a session id: {session_id!r}")
        self.sessions_root = sessions_root
        self.session_id = session_id
        self.directory = os.path.join(sessions_root, session_id)
        self._state_root = state_root
        self._note = note

    def agent(self, agent_id: str) -> Agent | None:
        """The state of one agent; `main` is the session's own. None for an unusable id."""
        return Agent(self, agent_id) if ids.is_session_id(agent_id) else None

    def path(self, *names: str) -> str:
        """A path inside the session directory; the names are trusted."""
        return os.path.join(self.directory, *names)

    def make(self) -> None:
        """Make the session directory (0700) when it is missing. Raises OSError."""
        if os.path.isdir(self.directory):
            return
        files.make_private(self.directory)
        if self._note:
            debuglog.note(self._state_root, "sessions root", self._note)

    def write(self, path: str, data: bytes) -> None:
        """Replace one file of this session (0600), making its folders (0700). Raises OSError."""
        for attempt in range(_WRITE_ATTEMPTS):
            try:
                files.write_atomic(path, data)
                return
            except FileNotFoundError:
                # The folder is missing, or a reset removed it at this moment.
                if attempt == _WRITE_ATTEMPTS - 1:
                    raise
                self.make()
                files.make_private(os.path.dirname(path))

    def lock(self, name: str, timeout: float = LOCK_SECONDS) -> Lock:
        """A lock of this session; entering raises LockTimeout after `timeout` seconds."""
        return Lock(self.path("locks", f"{name}.lock"), timeout)

    def hold(self, name: str, timeout: float = LOCK_SECONDS) -> Lock | None:
        """The lock, taken; None (with a debug line) when it cannot be had in time, so that a network
        file system costs a bounded wait and not the hook (case u10). The caller releases it."""
        lock = self.lock(name, timeout)
        self.make()
        try:
            lock.acquire()
        except LockTimeout as error:
            if self._state_root:
                debuglog.note(self._state_root, "session lock", str(error))
            return None
        return lock

    # Resets

    def reset(self, source: str, now: float) -> bool:
        """Clear this session's state for one SessionStart; True when this call did it.

        `session-start` and `state` run at once for the same event, and both call this: the first one
        clears and records, the other finds a record of the same source younger than 10 s and leaves
        everything alone (spec: hooks, The lanes). A running teammate stays one through a
        `compact`, which ends no agent. Raises OSError when the record cannot be written.
        """
        from ways.session import clearing

        self.make()
        clearing.make_root_private(self.sessions_root)
        lock = self.hold("session")
        try:
            if self._is_fresh(source, now):
                return False
            clearing.clear(self.directory, keep_teams=source == "compact")
            record = {"source": clean(source), "at": utc_iso(now), "seconds": now}
            self.write(self.path("reset.json"), jsontext.dump_bytes(record))
            return True
        finally:
            if lock is not None:
                lock.release()

    def _is_fresh(self, source: str, now: float) -> bool:
        record = self.last_reset()
        seconds = record.get("seconds")
        if not isinstance(seconds, int | float) or record.get("source") != clean(source):
            return False
        return abs(now - seconds) < RESET_SECONDS

    def last_reset(self) -> dict[str, object]:
        """The record of the last reset (`source`, `at`), {} when there was none."""
        return jsontext.object_or_empty(files.read_bytes_or_none(self.path("reset.json"), _STATE_BYTES))

    # Claude's last response

    def record_response(self, text: str | None) -> None:
        """Keep the first 2,000 bytes of Claude's last response, cut on a character; None or ""
        removes the record. Raises OSError."""
        path = self.path("response-context.json")
        if not text:
            files.remove_if_there(path)
            return
        record = {"text": cut_bytes(text, RESPONSE_BYTES), "at": utc_iso()}
        self.write(path, jsontext.dump_bytes(record))

    def response(self) -> str:
        """Claude's last response as recorded, "" when there is none."""
        record = jsontext.object_or_empty(
            files.read_bytes_or_none(self.path("response-context.json"), _STATE_BYTES)
        )
        text = record.get("text")
        return cut_bytes(text, RESPONSE_BYTES) if isinstance(text, str) else ""

    # Queued operator messages

    def queued_mark(self) -> str | None:
        """The timestamp of the newest queued message already scanned; None before the first mark."""
        data = files.read_bytes_or_none(self.path("queued-mark"), 256)
        return None if data is None else data.decode("utf-8", "replace").strip()

    def set_queued_mark(self, timestamp: str) -> None:
        """Set the mark, whatever it was. Raises OSError."""
        self.write(self.path("queued-mark"), cut_bytes(timestamp, 200).encode("utf-8") + b"\n")

    def claim_queued(self, expected: str | None, timestamp: str) -> bool:
        """Move the mark from `expected` to `timestamp`; False when another hook was quicker, whose
        messages they then are: parallel tool calls must not match one message twice."""
        lock = self.hold("session")
        try:
            if self.queued_mark() != expected:
                return False
            self.set_queued_mark(timestamp)
            return True
        finally:
            if lock is not None:
                lock.release()

    def queued_scanned(self) -> tuple[int, int]:
        """(inode, size) of the transcript as far as it was scanned for queued messages; (0, 0) when
        not known. Rows before it need not be looked at again."""
        parts = (files.read_bytes_or_none(self.path("queued-scanned"), 64) or b"").split()
        if len(parts) != 2 or not all(part.isdigit() for part in parts):
            return 0, 0
        return int(parts[0]), int(parts[1])

    def set_queued_scanned(self, inode: int, size: int) -> None:
        """Remember how far the transcript was scanned, in steps of 64 KiB: this runs after every tool
        call, and a scan reads a block of that size anyway. Raises OSError."""
        before, reached = self.queued_scanned()
        if before == inode and reached <= size < reached + SCAN_STEP:
            return
        self.write(self.path("queued-scanned"), b"%d %d\n" % (inode, size))

    # Markers of the whole session

    def mark_tasks_active(self) -> None:
        """Write the dormant marker of the TaskCreate lane. Raises OSError."""
        if not os.path.lexists(self.path("tasks-active")):
            self.write(self.path("tasks-active"), utc_iso().encode("ascii") + b"\n")

    def first_time(self, name: str) -> bool:
        """True once a session (until the next reset) for each `name`, even when hooks race: for
        notices that must not come at every prompt (case h22). False too where that cannot be kept.
        `name` is a constant of ours."""
        path = self.path("notices", name)
        for attempt in range(2):
            try:
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                return True
            except FileNotFoundError:
                if attempt or not self._makes(os.path.dirname(path)):
                    return False
            except OSError:
                return False
        return False

    def _makes(self, folder: str) -> bool:
        try:
            self.make()
            files.make_private(folder)
        except OSError:
            return False
        return True


class Agent:
    """The state of one agent of a session: `main` at the session's root, others in `agents/<id>/`."""

    def __init__(self, session: Session, agent_id: str) -> None:
        self.session = session
        self.agent_id = agent_id
        self.directory = session.directory if agent_id == MAIN else session.path("agents", agent_id)

    def lock(self, timeout: float = LOCK_SECONDS) -> Lock:
        """The admission lock: re-check, record and emit under it, so that two hooks racing for one
        agent show a way once. Entering raises LockTimeout."""
        return self.session.lock(f"admit-{self.agent_id}", timeout)

    # Epoch

    def epoch(self) -> int:
        """Prompts, commands and file edits of this agent so far."""
        return _number(os.path.join(self.directory, "epoch")) or 0

    def bump_epoch(self) -> int:
        """Add one and return the new epoch. Counted under a lock (case h18). Raises OSError."""
        lock = self.session.hold(f"epoch-{self.agent_id}")
        try:
            epoch = self.epoch() + 1
            self.session.write(os.path.join(self.directory, "epoch"), b"%d\n" % epoch)
            return epoch
        finally:
            if lock is not None:
                lock.release()

    # Way markers

    def marker(self, way_id: str) -> int | None:
        """The token position at which the way was last shown to this agent, None when it was not.
        A marker with unreadable content counts as position 0."""
        path = self._way_file(way_id, "marker")
        return None if path is None else _number(path)

    def shown(self, way_id: str) -> bool:
        """True when the way has been shown to this agent since the last reset."""
        return self.marker(way_id) is not None

    def record_fire(self, way_id: str, token_position: int, epoch: int) -> None:
        """Record that the way has been shown: the marker, then the engagement. Call it with the
        admission lock held. Raises OSError; an unusable way id is not recorded."""
        path = self._way_file(way_id, "marker")
        if path is None:
            return
        self.session.write(path, b"%d\n" % max(0, token_position))
        engagement = self.engagement()
        fires = engagement.get(way_id, {}).get("fires", 0)
        engagement[way_id] = {"fires": fires + 1, "token_position": max(0, token_position), "epoch": epoch}
        self.session.write(os.path.join(self.directory, "engagement.json"), jsontext.dump_bytes(engagement))

    def engagement(self) -> dict[str, dict[str, int]]:
        """Per way id `{"fires", "token_position", "epoch"}`: how often, at which token position last
        and in which epoch last. Damaged entries are left out."""
        path = os.path.join(self.directory, "engagement.json")
        document = jsontext.object_or_empty(files.read_bytes_or_none(path, _STATE_BYTES))
        return {way_id: _counts(entry) for way_id, entry in document.items() if isinstance(entry, dict)}

    def first_suppression(self, way_id: str) -> bool:
        """True the first time a way is held back since it was last shown: `refire` suppression is
        logged once per way and window. Raises OSError."""
        marker = self.marker(way_id)
        path = self._way_file(way_id, "suppressed")
        if path is None or marker is None or _number(path) == marker:
            return False
        self.session.write(path, b"%d\n" % marker)
        return True

    def _way_file(self, way_id: str, kind: str) -> str | None:
        if not ids.is_way_id(way_id) or any(part.startswith(".") for part in way_id.split("/")):
            return None
        return self.session.path("ways", *way_id.split("/"), f".{kind}.{self.agent_id}")

    # Checks

    def check_fires(self, check_id: str) -> int:
        """How often the check has been shown to this agent since the last reset."""
        path = self._check_file(check_id)
        return 0 if path is None else _number(path) or 0

    def record_check(self, check_id: str) -> None:
        """Count one showing. Call it with the admission lock held. Raises OSError."""
        path = self._check_file(check_id)
        if path is not None:
            self.session.write(path, b"%d\n" % (self.check_fires(check_id) + 1))

    def _check_file(self, check_id: str) -> str | None:
        """`check-fires/<id>/.fires`: an id may be the beginning of another, so it is a folder."""
        if not ids.is_way_id(check_id) or any(part.startswith(".") for part in check_id.split("/")):
            return None
        return os.path.join(self.directory, "check-fires", *check_id.split("/"), ".fires")

    # core.md

    def core_shown(self) -> bool:
        """True when core.md has been shown to this agent since the last reset."""
        return os.path.lexists(self.session.path(f"core.marker.{self.agent_id}"))

    def mark_core_shown(self) -> None:
        """Record that core.md has been shown. Raises OSError."""
        path = self.session.path(f"core.marker.{self.agent_id}")
        self.session.write(path, utc_iso().encode("ascii") + b"\n")

    # Teams

    def make_teammate(self, team: str) -> None:
        """Make this subagent a teammate of `team`. Nothing for the main agent. Raises OSError."""
        if self.agent_id != MAIN:
            name = " ".join(cut_bytes(team, _TEAM_BYTES).split())
            self.session.write(os.path.join(self.directory, "teammate"), name.encode("utf-8") + b"\n")

    def team(self) -> str | None:
        """The team's name when this agent is a teammate, else None."""
        if self.agent_id == MAIN:
            return None
        data = files.read_bytes_or_none(os.path.join(self.directory, "teammate"), _TEAM_BYTES + 16)
        return None if data is None else data.decode("utf-8", "replace").strip()


def _number(path: str) -> int | None:
    """The whole number in a file; 0 when it holds anything else, None when there is no file."""
    data = files.read_bytes_or_none(path, _NUMBER_BYTES + 4)
    if data is None:
        return None
    digits = data.strip()
    return int(digits) if digits.isdigit() and len(digits) <= _NUMBER_BYTES else 0


def _counts(entry: dict[str, object]) -> dict[str, int]:
    names = ("fires", "token_position", "epoch")
    values = ((name, entry.get(name)) for name in names)
    return {
        name: value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
        for name, value in values
    }
