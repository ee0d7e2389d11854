"""The mark up to which queued operator messages have been matched."""

from __future__ import annotations

from ways.core import clock
from ways.matching.envelopes import is_envelope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def set_first_mark(context: Context) -> bool:
    """Give a session without a mark the newest row's time (now, before there is a row), so that a
    resumed one replays nothing. True when this call did it."""
    session = context.session
    if session is None or session.queued_mark() is not None:
        return False
    from ways.session.transcript import Queue

    newest = context.read_transcript(queue=Queue(None, is_envelope)).newest
    return session.claim_queued(None, newest or clock.utc_iso())
