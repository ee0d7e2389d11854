"""SessionStart (startup, compact, clear): begin afresh (spec: hooks, `session-start`)."""

from __future__ import annotations

from ways.core import clock
from ways.disclosure import switches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context

CLEARING_SOURCES = frozenset(["startup", "compact", "clear"])


def run(context: Context) -> None:
    """Clear this session's state, prune what old sessions left, and log the start.

    Upkeep: it runs even when ways are switched off. `state` runs for the same event at the same
    time and resets under the same lock, so its markers are never lost.
    """
    source = context.payload.text("source")
    session = context.session
    if session is not None and source in CLEARING_SOURCES:
        session.reset(source, clock.now())
        _prune(context)
    context.log("session_start", source=source or None)


def _prune(context: Context) -> None:
    """Old sessions, their switches and inboxes. A fault here is noted and costs nothing else."""
    from ways.attend import peers
    from ways.session.clearing import prune

    own = context.payload.session_id
    try:
        prune(context.roots.sessions, own, clock.now())
        switches.prune(context.roots.state, clock.now(), own)
        peers.prune(context.roots, clock.now())
    except OSError as error:
        context.note(f"pruning old sessions: {error}")
