"""One message and who sent it (docs/attend.md)."""

from __future__ import annotations

from ways.core import ids, jsontext, text
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_TEXT = 4_000  # UTF-16 units, as Claude Code counts
MAX_NAME = 60
MAX_SIGNAL = 60
ANY = "message"  # the signal that every message gives besides its own


@record
class Message:
    """A message in an inbox. `number` counts up in each inbox; `at` is in seconds since 1970; `session` is
    the sender's session id, "" for a person; `name`, `project` and `to` are as shown; `signal` is "" for
    none."""

    number: int
    id: str
    at: float
    session: str
    name: str
    project: str
    to: str
    text: str
    signal: str = ""

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals that this message gives."""
        return (ANY, self.signal) if self.signal and self.signal != ANY else (ANY,)


def is_signal(value: object) -> bool:
    """True for 1 to 60 letters, digits, dots, dashes and underscores, as session ids are made of."""
    return ids.is_session_id(value) and len(str(value)) <= MAX_SIGNAL


def is_name(value: object) -> bool:
    """True for what a session or a group may be called: one word without control characters, `@` and `,`."""
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME or text.printable(value) != value:
        return False
    return not any(character.isspace() or character in "@,:/\\" for character in value)


def parse(row: object) -> Message | None:
    """The message in a JSON value; None for anything else."""
    if not isinstance(row, dict):
        return None
    number, at, signal = row.get("number"), row.get("at"), row.get("signal", "")
    strings = {name: row.get(name) for name in ("id", "session", "name", "project", "to", "text")}
    if type(number) is not int or number < 1 or not isinstance(at, int | float):
        return None
    if not all(isinstance(value, str) for value in strings.values()):
        return None
    fields: dict[str, Any] = {**strings, "signal": signal if is_signal(signal) else ""}
    return Message(number=number, at=float(at), **fields)


def line(message: Message) -> bytes:
    """The message as one line of JSON."""
    return jsontext.dump_bytes(jsontext.clean_tree(dict(message.__dict__)))
