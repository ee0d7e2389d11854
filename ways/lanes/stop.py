"""Stop: keep Claude's last response for the next prompt's matching (spec: hooks, `stop`)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Record `last_assistant_message`, or clear the record. Answers nothing: an answer would
    continue the turn. Only the main agent's reply is what the next prompt answers to."""
    if context.session is None or context.payload.agent_id:
        return
    context.session.record_response(context.payload.text("last_assistant_message") or None)
