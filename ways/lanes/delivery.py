"""When tool-lane context is handed over: before the tool or after it (spec: hooks, `hooks.tool_delivery`).

Some versions of Claude Code have been measured to drop context that a PreToolUse hook adds, while
PostToolUse delivered. `auto` goes by the version in the transcript; `delivery.json` lists the ranges.
"""

from __future__ import annotations

import os

from ways.core import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context

PRE, POST, AUTO = "pre", "post", "auto"
_TABLE = "delivery.json"


def after_tool(context: Context) -> bool:
    """True when this match must wait for its tool's end."""
    setting = context.settings.tool_delivery
    if setting == AUTO:
        return drops_before(context.transcript.version, load_table())
    return setting == POST


def load_table() -> list[tuple[str, str]]:
    """(first, last) version of each range known to drop context at PreToolUse; both ends inclusive."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), _TABLE)
    document = jsontext.object_or_empty(files.read_bytes_or_none(path, 65536))
    ranges = document.get("drops_pre_tool_context")
    return [(str(pair[0]), str(pair[1])) for pair in ranges] if isinstance(ranges, list) else []


def drops_before(version: str, ranges: list[tuple[str, str]]) -> bool:
    """True when `version` lies in one of the ranges; an unknown version does not."""
    number = _number(version)
    return bool(number) and any(_number(first) <= number <= _number(last) for first, last in ranges)


def _number(version: str) -> tuple[int, ...]:
    """`2.1.206` as (2, 1, 206); () for anything else."""
    parts = version.split("-", 1)[0].split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
