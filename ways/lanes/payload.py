"""Reading Claude Code's hook payload (spec: hooks, Reading the payload)."""

from __future__ import annotations

import os
import time

from ways.core import jsontext, text
from ways.core.ids import is_session_id
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_BYTES = 8 * 1024 * 1024
DEADLINE_SECONDS = 3.0
_QUIET_SECONDS = 0.05
# Bytes of one read: what a pipe holds.
PART = 1 << 16


class PayloadProblem(Exception):
    """The payload cannot be used; the text says why, for the debug log."""


@record
class Payload:
    """One hook call. Strings are decoded, without lone surrogates, "" when absent or of a wrong type.

    `session_id` is "" when it may not become a path; `agent_id` is "" for the main agent;
    `agent_unusable` is true when an agent id was given that may not become a path. `raw` is the
    cleaned document, `data` the bytes as they came.
    """

    event: str
    session_id: str
    agent_id: str
    agent_unusable: bool
    agent_type: str
    transcript_path: str
    cwd: str
    tool_use_id: str
    tool_name: str
    tool_input: Mapping[str, Any]
    raw: Mapping[str, Any]
    data: bytes = b""

    def text(self, name: str) -> str:
        """A string field of the payload, "" when absent or not a string."""
        value = self.raw.get(name)
        return value if isinstance(value, str) else ""

    def tool_text(self, *names: str) -> str:
        """The first of these string fields of the tool's input that is there, else ""."""
        for name in names:
            value = self.tool_input.get(name)
            if isinstance(value, str) and value:
                return value
        return ""


def read(descriptor: int) -> tuple[dict[str, Any], bytes]:
    """The first complete JSON object on `descriptor`, without waiting for its end (case h01).

    Reads at most 8 MiB for at most 3 s. Raises PayloadProblem.
    """
    deadline = time.monotonic() + DEADLINE_SECONDS
    data = bytearray()
    tried = 0
    wait = None
    part = _first_part(descriptor)
    while True:
        if part is not None:
            data += part
            if not part:
                return _parse(bytes(data))
            if len(data) > MAX_BYTES:
                raise PayloadProblem(f"the payload is larger than {MAX_BYTES} bytes")
        # Parsing after every part would be quadratic: try when the value may just have ended.
        if len(data) > tried and (part is None or data.rstrip()[-1:] == b"}"):
            tried = len(data)
            try:
                return _parse(bytes(data))
            except PayloadProblem:
                pass  # not complete yet: the deadline decides
        left = deadline - time.monotonic()
        if left <= 0:
            if not data:
                raise PayloadProblem("nothing came on standard input")
            return _parse(bytes(data))
        # Made only now: nearly always the first part is the whole, and what waits for more is not loaded.
        wait = wait or _waiter(descriptor)
        part = os.read(descriptor, PART) if wait(_QUIET_SECONDS if data else left) else None


class _Silence(Exception):
    """Nothing came in time."""


def _first_part(descriptor: int) -> bytes | None:
    """What one read gives, b"" at the end; None when nothing came in time, or where no timer can end a read
    (on Windows, and in another thread than the main one)."""
    if os.name == "nt":
        return None
    import _signal as signals  # type: ignore[import-not-found,unused-ignore]

    def end(_signal: int, _frame: object) -> None:
        raise _Silence

    if signals.SIGALRM in signals.pthread_sigmask(signals.SIG_BLOCK, ()):
        return None  # whoever started us keeps the signal from us
    try:
        former = signals.signal(signals.SIGALRM, end)
    except ValueError:
        return None
    try:
        signals.setitimer(signals.ITIMER_REAL, DEADLINE_SECONDS)
        try:
            return os.read(descriptor, PART)
        finally:
            signals.setitimer(signals.ITIMER_REAL, 0.0)
    except _Silence:
        return None
    finally:
        signals.signal(signals.SIGALRM, signals.SIG_DFL if former is None else former)


def _waiter(descriptor: int) -> Any:
    """A function that waits up to so many seconds and says whether there is something to read."""
    if os.name == "nt":
        # select knows no pipes on Windows: read what comes, and let a watchdog end a silent wait.
        import _thread

        def watchdog() -> None:
            time.sleep(DEADLINE_SECONDS)
            os._exit(0)

        _thread.start_new_thread(watchdog, ())
        return lambda seconds: True
    import select

    poller = select.poll()
    poller.register(descriptor, select.POLLIN | select.POLLHUP)
    return lambda seconds: bool(poller.poll(max(0, int(seconds * 1000))))


def _parse(data: bytes) -> tuple[dict[str, Any], bytes]:
    source = text.decode(data).lstrip()
    if not source:
        raise PayloadProblem("the payload is empty")
    try:
        value = jsontext.first_value(source)
    except ValueError as error:
        raise PayloadProblem(f"the payload is not JSON: {text.snippet(str(error))}") from error
    if not isinstance(value, dict):
        raise PayloadProblem("the payload is not a JSON object")
    return value, data


def parse(document: Mapping[str, Any], data: bytes = b"") -> Payload:
    """The payload record. A wrongly typed optional field counts as absent."""
    raw = jsontext.clean_tree(document)
    session_id = raw.get("session_id")
    agent_id = raw.get("agent_id")
    given = isinstance(agent_id, str) and agent_id != ""
    tool_input = raw.get("tool_input")

    def string(name: str) -> str:
        value = raw.get(name)
        return value if isinstance(value, str) else ""

    return Payload(
        event=string("hook_event_name"),
        session_id=session_id if is_session_id(session_id) else "",
        agent_id=agent_id if is_session_id(agent_id) else "",
        agent_unusable=given and not is_session_id(agent_id),
        agent_type=string("agent_type"),
        transcript_path=string("transcript_path"),
        cwd=string("cwd"),
        tool_use_id=string("tool_use_id"),
        tool_name=string("tool_name"),
        tool_input=tool_input if isinstance(tool_input, dict) else {},
        raw=raw,
        data=data,
    )
