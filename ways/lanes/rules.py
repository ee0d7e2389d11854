"""What this agent's hook goes by: scope, switches, preconditions."""

from __future__ import annotations

from ways.matching import candidates

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.lanes.context import Context
    from ways.matching.candidates import Rules


def rules(context: Context, scopes: frozenset[str] | None = None) -> Rules:
    """What a candidate must satisfy for this agent, or for the scopes of a stash."""
    from ways.catalogue.preconditions import Context as Facts
    from ways.catalogue.preconditions import holds

    settings = context.settings
    agent = context.agent
    facts = Facts(context.project, context.roots.home, lambda: context.transcript.model, context.environ)
    return candidates.Rules(
        scopes=frozenset([context.scope]) if scopes is None else scopes,
        precondition=lambda item: holds(item.when, facts),
        shown=agent.shown if agent is not None else lambda way_id: False,
        default_scope=settings.default_scope,
        switches=candidates.Switches(frozenset(settings.disabled_domains), settings.project_ways),
    )


def is_eligible(context: Context, way: Way) -> bool:
    """Scope, switches and preconditions of one way for this agent."""
    return candidates.may_fire(way, rules(context))


def is_switched_on(context: Context, way: Way) -> bool:
    """Switches alone: for ways whose scope and preconditions were settled when they were stashed."""
    settings = context.settings
    switches = candidates.Switches(frozenset(settings.disabled_domains), settings.project_ways)
    return candidates.is_enabled(way.id, switches)
