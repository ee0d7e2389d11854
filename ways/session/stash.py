"""Ways that a Task prompt matched, kept until the subagent starts (spec: disclosure, Subagent stash)."""

from __future__ import annotations

from ways.core.record import record
from ways.session import handover

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ways.session.state import Session

FOLDER = "subagent-stash"
# What Claude Code starts for a Task that names no type.
DEFAULT_TYPE = "general-purpose"


@record
class Stash:
    """What one Task left. `ways` holds (way id, trigger) in the order in which they are shown;
    `team` is the team's name, "" without one. No field ever becomes a path (case h05)."""

    ways: tuple[tuple[str, str], ...] = ()
    subagent_type: str = ""
    tool_use_id: str = ""
    team: str = ""
    name: str = ""


def write_stash(session: Session, stash: Stash) -> None:
    """Leave a stash; an empty one too, so that its subagent does not claim another's. Raises OSError."""
    document = {
        "ways": [list(pair) for pair in stash.ways],
        "subagent_type": stash.subagent_type,
        "tool_use_id": stash.tool_use_id,
        "team": stash.team,
        "name": stash.name,
    }
    handover.leave(session, FOLDER, handover.unique_stamp(), document)


def claim_oldest(session: Session, agent_type: str | None) -> Stash | None:
    """Take the oldest stash of `agent_type`, the oldest of all when it is None or "". A Task that
    named no type counts as `general-purpose`. None when there is none; two racing claims never get
    the same one."""
    for name in handover.waiting(session, FOLDER):
        if agent_type:
            document = handover.peek(session, FOLDER, name)
            if document is None or _type_of(document) != agent_type:
                continue
        claimed = handover.claim(session, FOLDER, name)
        if claimed is not None:
            return _stash(claimed)
    return None


def drop_unclaimed(session: Session, tool_use_id: str) -> int:
    """Remove the stash of a Task that has ended without a subagent claiming it; how many went."""
    if not tool_use_id:
        return 0
    gone = 0
    for name in handover.waiting(session, FOLDER):
        document = handover.peek(session, FOLDER, name)
        if document is not None and document.get("tool_use_id") == tool_use_id:
            gone += handover.claim(session, FOLDER, name) is not None
    return gone


def sweep(session: Session, now: float) -> int:
    """Remove claimed stashes that a crash left more than an hour ago; how many went."""
    return handover.sweep(session, FOLDER, now)


def _type_of(document: dict[str, Any]) -> str:
    return _text(document, "subagent_type") or DEFAULT_TYPE


def _text(document: dict[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def _stash(document: dict[str, Any]) -> Stash:
    """The record of a stash file; entries of another shape are left out."""
    ways = document.get("ways")
    pairs = (
        [pair for pair in ways if isinstance(pair, list) and len(pair) == 2] if isinstance(ways, list) else []
    )
    return Stash(
        ways=tuple(
            (way, trigger) for way, trigger in pairs if isinstance(way, str) and isinstance(trigger, str)
        ),
        subagent_type=_text(document, "subagent_type"),
        tool_use_id=_text(document, "tool_use_id"),
        team=_text(document, "team"),
        name=_text(document, "name"),
    )
