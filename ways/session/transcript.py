"""Claude Code's transcript: token position, model, recent prose, queued messages (spec: hooks, Transcripts).

The file is another program's: absent, torn, one message behind, or huge are all normal. Everything
is found in one pass from its end that stops as soon as it has what was asked for.
"""

from __future__ import annotations

import os

from ways.core import ids, jsontext
from ways.core.record import record
from ways.core.text import clean
from ways.session.backwards import Backwards
from ways.session.stamps import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PROSE_BYTES = 64 * 1024
SYNTHETIC = "<synthetic>"
# Rows reach the file a little out of order: the search for queued messages goes this much further back.
ORDER_SLACK_SECONDS = 60.0
_SMALL_ROW = 8 * 1024
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MAX_SEARCHED = 4_000


@record
class Transcript:
    """What one pass found; an absent or empty transcript is `Transcript()`.

    `position` is the context in use in tokens (input + cache creation + cache read of the newest
    assistant row; what a later compaction left, and then `compacted` is true). `model` is that row's
    model id, `version` the Claude Code that wrote it. `prose` is Claude's text
    since the last human turn, from the last 64 KiB. `messages` are queued operator messages newer
    than the mark, oldest first, `mark` the timestamp of the newest queued row seen ("" for none newer),
    `newest` the timestamp of the newest row (only when messages were asked for). `inode` and `size`
    say which file was read how far, `bytes_read` what that cost.
    """

    path: str = ""
    position: int = 0
    model: str = ""
    version: str = ""
    prose: str = ""
    messages: tuple[str, ...] = ()
    mark: str = ""
    newest: str = ""
    inode: int = 0
    size: int = 0
    bytes_read: int = 0
    compacted: bool = False


@record
class Queue:
    """Which queued messages are wanted: those newer than `mark` (a timestamp; None asks for `newest`
    only) that `is_envelope` does not recognise. `scanned` is Session.queued_scanned(): rows before it
    in the same file are not looked at again."""

    mark: str | None
    is_envelope: Callable[[str], bool]
    scanned: tuple[int, int] = (0, 0)


def read(path: str, *, sidechain: bool = False, prose: bool = True, queue: Queue | None = None) -> Transcript:
    """Read what is known of `path` ("" for none). `sidechain` says that the file is a subagent's own, whose
    rows are all side-chain rows. Never raises: what cannot be read is empty."""
    if not path:
        return Transcript()
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return Transcript()
    try:
        info = os.fstat(descriptor)
        if info.st_mode & 0o170000 != 0o100000:
            return Transcript()
        scan = _Scan(info.st_size, info.st_ino, sidechain, prose, queue)
        lines = Backwards(descriptor, info.st_size, scan.needs_more)
        try:
            for offset, line in lines:
                scan.take(offset, line)
                if scan.is_done(offset):
                    break
        except OSError:
            pass  # a vanished mount or a failing disk: what was found until here still holds
        return scan.result(path, lines.bytes_read)
    finally:
        os.close(descriptor)


class _Scan:
    """The state of one backward pass."""

    def __init__(self, size: int, inode: int, sidechain: bool, prose: bool, queue: Queue | None) -> None:
        self.size = size
        self.inode = inode
        self.sidechain = sidechain
        self.queue = queue
        self.position: int | None = None
        self.compacted = False
        self.model = ""
        self.version = ""
        self.wants_prose = prose
        self.prose: list[str] = []
        self.newest = ""
        self.mark = ""
        self.messages: list[str] = []
        self.after = seconds_of(queue.mark) if queue is not None and queue.mark is not None else None
        self.wants_queued = self.after is not None
        self.floor = queue.scanned[1] if queue is not None and queue.scanned[0] == inode else 0

    def is_done(self, offset: int) -> bool:
        """True when nothing that is wanted can lie before the line at `offset`."""
        if self.wants_queued and offset < self.floor:
            self.wants_queued = False
        return not self.needs_more(offset)

    def needs_more(self, position: int) -> bool:
        """True while something that is wanted may be in a line that begins before `position`."""
        if position <= self.size - PROSE_BYTES:
            self.wants_prose = False
        wants_newest = self.queue is not None and not self.newest
        wants_usage = self.position is None or not self.model
        return wants_usage or self.wants_prose or self.wants_queued or wants_newest

    def take(self, offset: int, line: bytes | None) -> None:
        """Look at one line; most are passed over without being parsed."""
        if line is None or not self._is_wanted(offset, line):
            return
        row = jsontext.loads_or_none(line)
        if not isinstance(row, dict):
            return
        self._take_time(row)
        kind = row.get("type")
        if kind == "queue-operation":
            self._take_queued(row)
        elif row.get("isSidechain") is True and not self.sidechain:
            return
        elif kind == "assistant":
            self._take_assistant(row)
        elif kind == "system" and row.get("subtype") == "compact_boundary":
            if self.position is None:
                self.position = _count(_mapping(row.get("compactMetadata")).get("postTokens"))
                self.compacted = True
        elif kind == "user" and self.wants_prose and is_human_turn(row):
            self.wants_prose = False

    def _is_wanted(self, offset: int, line: bytes) -> bool:
        if (self.position is None or not self.model) and (b'"usage"' in line or b"compact_boundary" in line):
            return True
        if (
            self.wants_prose
            and offset >= self.size - PROSE_BYTES
            and (b'"user"' in line or b'"assistant"' in line)
        ):
            return True
        if self.queue is None:
            return False
        if self.wants_queued and b"queue-operation" in line:
            return True
        # Any small row tells the time: how new the file is, and how far back this is.
        return len(line) <= _SMALL_ROW and (self.wants_queued or not self.newest)

    def _take_time(self, row: dict[str, Any]) -> None:
        if self.queue is None:
            return
        stamp = row.get("timestamp")
        moment = seconds_of(stamp)
        if moment is None or not isinstance(stamp, str):
            return
        self.newest = self.newest or stamp
        if self.after is not None and moment < self.after - ORDER_SLACK_SECONDS:
            self.wants_queued = False

    def _take_assistant(self, row: dict[str, Any]) -> None:
        message = _mapping(row.get("message"))
        model = message.get("model")
        if model == SYNTHETIC or row.get("isApiErrorMessage") is True:
            return
        tokens = context_tokens(message)
        if tokens:
            if self.position is None:
                self.position = tokens
            if not self.model and isinstance(model, str):
                self.model = clean(model)
                version = row.get("version")
                self.version = clean(version) if isinstance(version, str) else ""
        if self.wants_prose:
            self.prose.extend(reversed(_texts(message.get("content"))))

    def _take_queued(self, row: dict[str, Any]) -> None:
        stamp = row.get("timestamp")
        moment = seconds_of(stamp)
        if not self.wants_queued or row.get("operation") != "enqueue" or self.after is None:
            return
        if moment is None or moment <= self.after or not isinstance(stamp, str):
            return
        if not self.mark or moment > (seconds_of(self.mark) or 0.0):
            self.mark = stamp
        origin = row.get("origin")
        kind = origin.get("kind") if isinstance(origin, dict) else None
        text = "\n".join(_texts(row.get("content")))
        if (
            kind in {None, "human"}
            and text.strip()
            and self.queue is not None
            and not self.queue.is_envelope(text)
        ):
            self.messages.append(text)

    def result(self, path: str, bytes_read: int) -> Transcript:
        return Transcript(
            path=path,
            position=self.position or 0,
            model=self.model,
            version=self.version,
            prose="\n\n".join(reversed(self.prose)),
            messages=tuple(reversed(self.messages)),
            mark=self.mark,
            newest=self.newest,
            inode=self.inode,
            size=self.size,
            bytes_read=bytes_read,
            compacted=self.compacted,
        )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int:
    """A number of tokens; anything that is not a whole number above 0 counts as 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def context_tokens(message: dict[str, Any]) -> int:
    """The context in use after this assistant message, in tokens; 0 when it does not say."""
    return sum(_count(_mapping(message.get("usage")).get(name)) for name in _USAGE)


def _texts(content: object) -> list[str]:
    """The texts of a message's content: a string, or the text blocks of a list."""
    if isinstance(content, str):
        return [clean(content)] if content else []
    found = []
    for block in content if isinstance(content, list) else []:
        text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
        if isinstance(text, str) and text:
            found.append(clean(text))
    return found


def is_human_turn(row: dict[str, Any]) -> bool:
    """A user row that is no tool result, not meta and no compact summary."""
    if row.get("isMeta") is True or row.get("isCompactSummary") is True or "toolUseResult" in row:
        return False
    content = _mapping(row.get("message")).get("content")
    if isinstance(content, list):
        return not any(isinstance(block, dict) and block.get("type") == "tool_result" for block in content)
    return isinstance(content, str)


# Finding the file


def locate(transcript_path: str, session_id: str, agent_id: str, config_dir: str) -> str:
    """The transcript of one agent, "" when there is none (cases h11, h23).

    `agent_id` is "" or `main` for the main agent. Its file is `transcript_path` when that exists, else
    `projects/*/<session>.jsonl` below `config_dir`, found by session id: the project's folder name
    is never computed. A subagent's is `<slug>/<session>/subagents/**/agent-<id>.jsonl`, whatever
    `transcript_path` says, which in some versions names the parent's.
    """
    if agent_id in {"", "main"}:
        if _is_file(transcript_path):
            return transcript_path
        return _newest(_in_projects(config_dir, session_id, f"{session_id}.jsonl"))
    if not ids.is_session_id(agent_id):
        return ""
    name = f"agent-{agent_id}.jsonl"
    if os.path.basename(transcript_path) == name and _is_file(transcript_path):
        return transcript_path
    for folder in _subagent_folders(transcript_path, session_id, config_dir):
        found = _below(folder, name)
        if found:
            return found
    return ""


def _subagent_folders(transcript_path: str, session_id: str, config_dir: str) -> Iterator[str]:
    """Where a subagent's transcript may lie, most likely first."""
    if transcript_path.endswith(".jsonl"):
        yield os.path.join(transcript_path[: -len(".jsonl")], "subagents")
        if os.path.basename(transcript_path).startswith("agent-"):
            yield os.path.dirname(transcript_path)
    yield from _in_projects(config_dir, session_id, os.path.join(session_id, "subagents"))


def _in_projects(config_dir: str, session_id: str, tail: str) -> list[str]:
    """The existing `<config_dir>/projects/*/<tail>`."""
    if not ids.is_session_id(session_id):
        return []
    projects = os.path.join(config_dir, "projects")
    try:
        names = os.listdir(projects)
    except (OSError, ValueError):
        return []
    paths = (os.path.join(projects, name, tail) for name in names)
    return [path for path in paths if os.path.lexists(path)]


def _newest(paths: list[str]) -> str:
    """The file that was written last; a session moved to another project leaves an older copy."""
    best, best_time = "", -1.0
    for path in paths:
        try:
            moment = os.stat(path).st_mtime
        except OSError:
            continue
        if moment > best_time and os.path.isfile(path):
            best, best_time = path, moment
    return best


def _below(folder: str, name: str) -> str:
    """The file called `name` in `folder` or below it, links not followed, a bounded search."""
    direct = os.path.join(folder, name)
    if _is_file(direct):
        return direct
    searched = 0
    waiting = [folder]
    while waiting and searched < _MAX_SEARCHED:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    searched += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name == name:
                        return entry.path
        except (OSError, ValueError):
            continue
    return ""


def _is_file(path: str) -> bool:
    try:
        return bool(path) and os.path.isfile(path)
    except ValueError:
        return False
