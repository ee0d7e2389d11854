"""Whether this hook may show anything (spec: disclosure, Switches). Checked before any injecting lane."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context


def allowed(context: Context) -> bool:
    """False when ways are switched off here, for subagents, or for the defined agent that runs.

    Logs `injection_suppressed` when a subagent switch is the reason.
    """
    if not context.settings.enabled:
        return False
    if not context.payload.agent_id:
        return True
    if subagents_off(context, context.payload.agent_type):
        return False
    from ways.disclosure import switches

    return not switches.is_defined_agent(context.payload.agent_type, context.project, context.target)


def subagents_off(context: Context, agent: str) -> bool:
    """True when ways are switched off for subagents, by this session's switch or by a setting."""
    from ways.disclosure import switches

    if switches.session_subagents_off(context.roots.state, context.payload.session_id):
        switch = "session"
    elif not context.settings.subagents:
        switch = "config"
    else:
        return False
    context.log(
        "injection_suppressed",
        reason="subagents_off",
        switch=switch,
        lane=context.lane,
        agent=agent or None,
    )
    return True
