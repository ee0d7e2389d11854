"""How an agent's context grew, and its epochs: one pass over a transcript from its beginning.

The transcript is another program's file: rows that are torn, foreign or of another version are passed over,
and a transcript that is gone is simply empty. No text of it is kept.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ways.core import jsontext
from ways.session.stamps import seconds_of
from ways.session.transcript import SYNTHETIC, context_tokens, is_human_turn

# The tools whose call is an epoch (spec: hooks, the command and file lanes).
EPOCH_TOOLS = frozenset({"Bash", "PowerShell", "Edit", "Write", "NotebookEdit"})
MAX_ROW = 64 << 20
_MARKS = (b'"usage"', b'"tool_use"', b"compact_boundary", b'"user"')
_STEP = 1 << 20


@dataclass(frozen=True)
class Growth:
    """`tokens` holds (seconds, tokens in use) in order of time; `epochs` the seconds at which the epoch of
    the agent rose; `path` the transcript, "" when there is none."""

    path: str = ""
    tokens: tuple[tuple[float, int], ...] = ()
    epochs: tuple[float, ...] = ()

    def tokens_at(self, seconds: float) -> int | None:
        """The context in use at that moment, None before the first row that says so."""
        index = bisect.bisect_right(self.tokens, (seconds, 1 << 62))
        return self.tokens[index - 1][1] if index else None

    def epochs_between(self, after: float, until: float) -> int:
        """How often the epoch rose in (after, until]."""
        return bisect.bisect_right(self.epochs, until) - bisect.bisect_right(self.epochs, after)


def read(path: str, sidechain: bool = False, progress: Callable[[int], None] | None = None) -> Growth:
    """The growth that a transcript tells ("" for none). `sidechain`: it is a subagent's own file."""
    scan = _Scan(sidechain)
    try:
        with open(path, "rb") as file:
            waiting = 0
            while line := file.readline(MAX_ROW):
                waiting += len(line)
                if progress is not None and waiting >= _STEP:
                    progress(waiting)
                    waiting = 0
                if any(mark in line for mark in _MARKS):
                    scan.take(jsontext.loads_or_none(line))
    except (OSError, ValueError):
        if not scan.tokens:
            return Growth()
    return Growth(path, tuple(sorted(scan.tokens)), tuple(sorted(scan.epochs)))


class _Scan:
    """The state of the pass."""

    def __init__(self, sidechain: bool) -> None:
        self.sidechain = sidechain
        self.tokens: list[tuple[float, int]] = []
        self.epochs: list[float] = []
        self.calls: set[str] = set()

    def take(self, row: object) -> None:
        """Look at one row."""
        if not isinstance(row, dict) or (row.get("isSidechain") is True and not self.sidechain):
            return
        moment = seconds_of(row.get("timestamp"))
        if moment is None:
            return
        if row.get("type") == "assistant":
            self._take_assistant(row, moment)
        elif row.get("type") == "user" and is_human_turn(row) and not self.sidechain:
            self.epochs.append(moment)
        elif row.get("type") == "system" and row.get("subtype") == "compact_boundary":
            metadata = row.get("compactMetadata")
            left = metadata.get("postTokens") if isinstance(metadata, dict) else 0
            self.tokens.append((moment, left if isinstance(left, int) and left > 0 else 0))

    def _take_assistant(self, row: dict[str, Any], moment: float) -> None:
        message = row.get("message")
        if not isinstance(message, dict) or message.get("model") == SYNTHETIC:
            return
        if row.get("isApiErrorMessage") is True:
            return
        tokens = context_tokens(message)
        if tokens:
            self.tokens.append((moment, tokens))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict) or block.get("type") != "tool_use":
                continue
            name = str(block.get("id", len(self.calls)))
            # One message is written in several rows; a call counts once.
            if block.get("name") in EPOCH_TOOLS and name not in self.calls:
                self.calls.add(name)
                self.epochs.append(moment)
