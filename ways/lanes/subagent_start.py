"""SubagentStart: claim the oldest stash and show its ways to the new agent (spec: Subagent stash)."""

from __future__ import annotations

from ways.catalogue.way import SUBAGENT, TEAMMATE
from ways.core import clock
from ways.disclosure import switches
from ways.lanes import show
from ways.lanes.allowed import subagents_off
from ways.lanes.showing import Showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context
    from ways.session.stash import Stash


def run(context: Context) -> None:
    """Claim, render with `WAYS_SCOPE=subagent`, record under the subagent's id, answer.

    A defined agent's Task left no stash, so its start must not claim another's.
    """
    from ways.session import stash

    session, agent = context.session, context.agent
    if session is None or agent is None or not context.payload.agent_id:
        return
    kind = context.payload.agent_type
    if kind and switches.is_defined_agent(kind, context.project, context.target):
        return
    stash.sweep(session, clock.now())
    claimed = stash.claim_oldest(session, kind or None)
    if claimed is None or not context.settings.enabled or subagents_off(context, kind):
        return
    if claimed.team:
        agent.make_teammate(claimed.team)
    wanted = _showings(context, claimed)
    show.deliver(context, show.prepare(context, wanted, SUBAGENT))


def _showings(context: Context, claimed: Stash) -> list[Showing]:
    """The stashed ways that still exist and are switched on. They show whatever the parent has seen."""
    from ways.lanes.rules import is_switched_on

    scope = TEAMMATE if claimed.team else SUBAGENT
    found = ((context.catalogue.find(way_id), trigger) for way_id, trigger in claimed.ways)
    return [
        Showing(way=way, trigger=trigger, ignore_refire=True, fields=(("scope", scope),))
        for way, trigger in found
        if way is not None and is_switched_on(context, way)
    ]
