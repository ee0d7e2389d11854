"""PostToolUse, main agent: operator messages typed while Claude worked (spec: hooks, `queued`)."""

from __future__ import annotations

from ways.core import clock
from ways.lanes.allowed import allowed
from ways.lanes.prompt import match_and_show
from ways.lanes.scan import Surface
from ways.matching.envelopes import is_envelope
from ways.matching.types import QUEUED
from ways.session.transcript import Queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Take the messages newer than the mark as one surface; the epoch is not bumped (case h16)."""
    session = context.session
    if session is None or context.payload.agent_id or set_first_mark(context):
        return
    mark = session.queued_mark()
    transcript = context.read_transcript(queue=Queue(mark, is_envelope, session.queued_scanned()))
    if transcript.mark and not session.claim_queued(mark, transcript.mark):
        return  # a parallel hook took these messages
    if transcript.path:
        session.set_queued_scanned(transcript.inode, transcript.size)
    text = "\n\n".join(transcript.messages)
    if not text.strip() or not allowed(context):
        return
    reply = session.response()
    surface = Surface(QUEUED, text, semantic=text)
    match_and_show(context, surface, reply)


def set_first_mark(context: Context) -> bool:
    """Give a session without a mark the newest row's time (now, before there is a row), so that a
    resumed one replays nothing. True when this call did it."""
    session = context.session
    if session is None or session.queued_mark() is not None:
        return False
    newest = context.read_transcript(queue=Queue(None, is_envelope)).newest
    return session.claim_queued(None, newest or clock.utc_iso())
