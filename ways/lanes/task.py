"""PreToolUse Task and Agent: match the Task prompt and leave a stash (spec: Subagent stash)."""

from __future__ import annotations

from ways.disclosure import switches
from ways.lanes import scan
from ways.lanes.allowed import allowed, subagents_off
from ways.lanes.payload import PayloadProblem
from ways.lanes.scan import Surface
from ways.matching.surfaces import TASK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def run(context: Context) -> None:
    """Write what the subagent will be shown; an empty stash when nothing matched, so that this
    subagent does not claim another's. A defined agent brings its own guidance: no stash."""
    prompt = context.payload.tool_text("prompt")
    if not prompt:
        raise PayloadProblem("the tool's input has no prompt")
    kind = context.payload.tool_text("subagent_type")
    if context.session is None or not allowed(context):
        return
    if switches.is_defined_agent(kind, context.project, context.target):
        return
    if not context.payload.agent_id and subagents_off(context, kind):
        return
    from ways.matching.candidates import stash_scopes

    team = context.payload.tool_text("team_name")
    surface = Surface(TASK, prompt, semantic=prompt)
    reading = scan.read(context, surface, stash_scopes(bool(team)))
    from ways.session import stash

    stash.write_stash(
        context.session,
        stash.Stash(
            ways=tuple((hit.way.id, hit.trigger) for hit in reading.hits),
            subagent_type=kind,
            tool_use_id=context.payload.tool_use_id,
            team=team,
            name=context.payload.tool_text("name"),
        ),
    )
