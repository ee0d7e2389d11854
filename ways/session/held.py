"""Context matched before a tool call and delivered after it (spec: hooks, `hooks.tool_delivery`)."""

from __future__ import annotations

from ways.core import clock, ids
from ways.session import handover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ways.session.state import Session

FOLDER = "held"
# A tool call that was denied has no PostToolUse; no tool call takes a day.
UNCLAIMED_SECONDS = 86400.0


def hold(session: Session, tool_use_id: str, document: dict[str, Any]) -> bool:
    """Keep `document` for the PostToolUse of this tool call. False when the id may not become a
    path: nothing can be delivered then. Raises OSError."""
    if not ids.is_session_id(tool_use_id):
        return False
    handover.leave(session, FOLDER, tool_use_id, document)
    sweep(session, clock.now())
    return True


def take(session: Session, tool_use_id: str) -> dict[str, Any] | None:
    """What is held for this tool call, once; None when there is nothing (any more)."""
    if not ids.is_session_id(tool_use_id):
        return None
    return handover.claim(session, FOLDER, tool_use_id)


def sweep(session: Session, now: float) -> int:
    """Remove what a crash left claimed for an hour and what nobody took for a day; how many went.
    `hold` does it too, so that the folder stays small."""
    return handover.sweep(session, FOLDER, now, UNCLAIMED_SECONDS)
