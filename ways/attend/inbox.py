"""Inboxes: one a session and one for the person, each with a checkpoint of what has been delivered.

An inbox is `{state}/attend/inbox/<session or @person>/`: `messages.jsonl`, replaced as a whole under a lock,
and `checkpoint.json`. Delivery is at least once: whoever delivers prints first and moves the checkpoint then,
so a kill in between delivers again. A damaged line or checkpoint costs itself (docs/attend.md).
"""

from __future__ import annotations

import os

from ways.attend import message as messages
from ways.attend.message import Message
from ways.core import files, jsontext, roots
from ways.core.locking import Lock
from ways.core.record import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

PERSON = "@person"
MAX_WAITING = 200
MAX_AGE_SECONDS = 7 * 86400.0
LOCK_SECONDS = 2.0
_MAX_BYTES = 4 << 20


class InboxFull(Exception):
    """So many messages wait that no more are taken."""


class Unsafe(Exception):
    """The folder of the messages is not the user's alone; the text says which and why."""


@record
class Checkpoint:
    """What has been delivered: the number of the last message, how many deliveries in a row made the agent
    go on, and when the last one was (seconds since 1970)."""

    delivered: int = 0
    streak: int = 0
    at: float = 0.0


def folder(where: Roots) -> str:
    """The folder of everything that is kept for messages."""
    return os.path.join(where.state, "attend")


def check_private(where: Roots) -> None:
    """Raises Unsafe when another user could read or write the messages; closes our own folder to others."""
    path = folder(where)
    if os.name == "nt" or not os.path.lexists(path):
        return
    problem = roots.unsafe_folder(path)
    if problem:
        raise Unsafe(f"{path} {problem}")
    if os.lstat(path).st_mode & 0o077:
        os.chmod(path, 0o700)


class Inbox:
    """The inbox of a session (`key` is its id, checked by the caller) or of the person (PERSON)."""

    def __init__(self, where: Roots, key: str) -> None:
        self.key = key
        self.directory = os.path.join(folder(where), "inbox", key)
        self._where = where

    @property
    def path(self) -> str:
        """The messages."""
        return os.path.join(self.directory, "messages.jsonl")

    def has_mail(self) -> bool:
        """False when nothing was ever sent here: one look at the disk."""
        try:
            return os.stat(self.path).st_size > 0
        except OSError:
            return False

    def lock(self, name: str = "messages", timeout: float = LOCK_SECONDS) -> Lock:
        """`messages` is held to change the messages, `drain` while they are delivered. Entering raises
        LockTimeout."""
        return Lock(os.path.join(self.directory, f"{name}.lock"), timeout)

    def put(self, message: Message, now: float) -> Message:
        """Append a message under a number of its own; what was delivered or is too old goes.

        Raises InboxFull, Unsafe, LockTimeout, OSError.
        """
        check_private(self._where)
        files.make_private(self.directory)
        with self.lock():
            delivered = self.checkpoint().delivered
            kept = self._read()
            last = max([delivered, *(item.number for item in kept)])
            waiting = [item for item in kept if item.number > delivered and _is_young(item, now)]
            if len(waiting) >= MAX_WAITING:
                raise InboxFull(f"{MAX_WAITING} messages wait there already")
            message = replace(message, number=last + 1)
            self._write([*waiting, message])
        return message

    def waiting(self, now: float) -> list[Message]:
        """The messages that have not been delivered, oldest first. Never raises."""
        delivered = self.checkpoint().delivered
        return [item for item in self._read() if item.number > delivered and _is_young(item, now)]

    def checkpoint(self) -> Checkpoint:
        """What has been delivered."""
        path = os.path.join(self.directory, "checkpoint.json")
        row = jsontext.object_or_empty(files.read_bytes_or_none(path, 4096))
        delivered, streak, at = row.get("delivered"), row.get("streak"), row.get("at")
        return Checkpoint(
            delivered if type(delivered) is int and delivered > 0 else 0,
            streak if type(streak) is int and streak > 0 else 0,
            float(at) if isinstance(at, int | float) else 0.0,
        )

    def mark(self, checkpoint: Checkpoint) -> None:
        """Move the checkpoint. Raises OSError."""
        files.make_private(self.directory)
        path = os.path.join(self.directory, "checkpoint.json")
        files.write_atomic(path, jsontext.dump_bytes(dict(checkpoint.__dict__)), durable=True)

    def _read(self) -> list[Message]:
        data = files.read_bytes_or_none(self.path, _MAX_BYTES) or b""
        found = (messages.parse(jsontext.loads_or_none(line)) for line in data.split(b"\n") if line.strip())
        return sorted((item for item in found if item is not None), key=lambda item: item.number)

    def _write(self, kept: list[Message]) -> None:
        files.write_atomic(self.path, b"".join(map(messages.line, kept)), durable=True)


def _is_young(message: Message, now: float) -> bool:
    return now - message.at < MAX_AGE_SECONDS
