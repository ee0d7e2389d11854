"""Which ways may fire on a surface: scope, switches, preconditions (spec: disclosure, scope and switches)."""

from __future__ import annotations

from ways.catalogue.way import AGENT, SUBAGENT, TEAMMATE, shares_scope
from ways.core.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ways.catalogue.way import Catalogue, Check, Way
    from ways.matching.types import Candidate

_NOTHING: dict[str, bool] = {}


def stash_scopes(team: bool) -> frozenset[str]:
    """The scopes that a Task's stash holds: `subagent`, with a team `teammate` as well."""
    return frozenset((TEAMMATE, SUBAGENT) if team else (SUBAGENT,))


@record
class Switches:
    """What is switched off: whole domains, and the project's `ways:` map of id or `prefix/*` to on or off."""

    disabled_domains: frozenset[str] = frozenset()
    project_ways: Mapping[str, bool] = _NOTHING


@record
class Rules:
    """What a candidate must satisfy.

    `scopes`: the scopes in question (the running agent's one, or those of a stash); `default_scope`: the
    scope of a way that names none; `precondition`: whether a way's `when` holds; `shown`: whether the way of
    an id has been shown to this agent in this session.
    """

    scopes: frozenset[str]
    precondition: Callable[[Way | Check], bool]
    shown: Callable[[str], bool]
    default_scope: tuple[str, ...] = (AGENT,)
    switches: Switches = Switches()


def is_enabled(way_id: str, switches: Switches) -> bool:
    """False for a way of a disabled domain and for one that the project switched off.

    In the project's map an entry for the way itself wins, then the longest `prefix/*` above it.
    """
    if way_id.split("/", 1)[0] in switches.disabled_domains:
        return False
    own = switches.project_ways.get(way_id)
    if own is not None:
        return own
    if switches.project_ways:
        segments = way_id.split("/")
        for count in range(len(segments) - 1, -1, -1):
            value = switches.project_ways.get("/".join((*segments[:count], "*")))
            if value is not None:
                return value
    return True


def in_scope(scope: tuple[str, ...], rules: Rules) -> bool:
    """True when the scope (the default one when it is empty) names one of the scopes in question."""
    return shares_scope(scope, rules.scopes, rules.default_scope)


def may_fire(item: Way | Check, rules: Rules) -> bool:
    """Scope, switches and preconditions, cheapest first."""
    return in_scope(item.scope, rules) and is_enabled(item.id, rules.switches) and rules.precondition(item)


def collect(catalogue: Catalogue, rules: Rules, ways: Iterable[Way] | None = None) -> tuple[Candidate, ...]:
    """The candidates in tree order, of the whole catalogue or of some of its `ways` (in tree order).

    An ancestor lends a boost only if it may fire itself: not while it is switched off, out of scope or held
    back by its preconditions.
    """
    from ways.matching.types import Candidate

    allowed: dict[str, bool] = {}

    def permits(way: Way) -> bool:
        if way.id not in allowed:
            allowed[way.id] = may_fire(way, rules)
        return allowed[way.id]

    def lends(way_id: str) -> bool:
        if not rules.shown(way_id):
            return False
        ancestor = catalogue.find(way_id)
        return ancestor is not None and permits(ancestor)

    return tuple(
        Candidate(way, any(lends(parent) for parent in way.parent_ids))
        for way in (catalogue.ways if ways is None else ways)
        if permits(way)
    )
