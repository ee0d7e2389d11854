"""Stop: hand the agent the messages that came for its session (docs/attend.md).

An answer at Stop makes the agent go on, which is what a delivery is for: at most three times in a row, so
that two agents that answer each other come to rest.
"""

from __future__ import annotations

from ways.attend import inbox as inboxes
from ways.attend.inbox import Checkpoint, Inbox
from ways.core import clock
from ways.core.locking import LockTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.attend.message import Message
    from ways.lanes.context import Context
    from ways.lanes.showing import Showing

LOCK_SECONDS = 1.0
TRIGGER = "attend"


def run(context: Context) -> None:
    """Deliver what waits, oldest first, then move the checkpoint. Only for the main agent."""
    session = context.payload.session_id
    if not session or context.payload.agent_id:
        return
    register(context)
    inbox = Inbox(context.roots, session)
    if not inbox.has_mail() or not context.settings.attend_deliver:
        return
    try:
        inboxes.check_private(context.roots)
        with inbox.lock("drain", LOCK_SECONDS):
            _deliver(context, inbox)
    except (inboxes.Unsafe, LockTimeout) as problem:
        context.note(f"messages were not delivered: {problem}")


def register(context: Context) -> None:
    """Note that this session is here. A fault costs the others an address, not this session anything."""
    from ways.attend import peers

    try:
        peers.register(context.roots, context.payload.session_id, context.project)
    except (inboxes.Unsafe, OSError) as problem:
        context.note(f"this session cannot be addressed: {problem}")


def _deliver(context: Context, inbox: Inbox) -> None:
    from ways.attend import delivery

    now = clock.now()
    waiting = inbox.waiting(now)
    if not waiting:
        return
    checkpoint = inbox.checkpoint()
    streak = delivery.streak(checkpoint, context.payload.raw.get("stop_hook_active"), now)
    if streak >= delivery.MAX_IN_A_ROW:
        context.note(f"{len(waiting)} messages wait: {streak} deliveries in a row are enough")
        return
    taken = delivery.take(waiting)
    if _show(context, taken, delivery.render(taken, len(waiting) - len(taken))):
        inbox.mark(Checkpoint(taken[-1].number, streak + 1, now))


def _show(context: Context, taken: list[Message], rendered: str) -> bool:
    """Print the messages and the ways that they bring; True when the messages were printed."""
    from ways.lanes import show
    from ways.lanes.showing import Showing

    wanted = [Showing(way=None, trigger=TRIGGER, text=rendered), *_ways(context, taken)]
    shown = show.deliver(context, show.prepare(context, wanted, context.scope))
    return any(showing.way is None for showing in shown)


def _ways(context: Context, taken: list[Message]) -> list[Showing]:
    """The ways that wait for a signal of one of these messages, in tree order."""
    from ways.catalogue import way as model
    from ways.lanes.allowed import allowed
    from ways.lanes.rules import is_eligible
    from ways.lanes.showing import Showing

    if not allowed(context):
        return []
    given = dict.fromkeys(signal for message in taken for signal in message.signals)
    found = []
    for way in context.catalogue.with_trigger(lambda _id, trigger: trigger == model.ATTEND):
        heard = next((signal for signal in given if signal in way.signals), "")
        if heard and is_eligible(context, way):
            found.append(Showing(way=way, trigger=f"{TRIGGER}:{heard}"))
    return found
