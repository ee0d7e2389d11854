"""PostToolUse, main agent: operator messages typed while Claude worked (spec: hooks, `queued`)."""

from __future__ import annotations

from ways.lanes.marks import set_first_mark
from ways.matching.envelopes import is_envelope
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
    if text.strip():
        _show(context, text)


def _show(context: Context, text: str) -> None:
    """Match what was typed, as a prompt is."""
    from ways.lanes.allowed import allowed
    from ways.lanes.prompt import match_and_show
    from ways.lanes.scan import Surface
    from ways.matching.surfaces import QUEUED

    session = context.session
    if session is None or not allowed(context):
        return
    reply = session.response()
    surface = Surface(QUEUED, text, semantic=text)
    match_and_show(context, surface, reply)
