"""From ordered hits to the agent's context (spec: disclosure, Budget and admission).

For each hit: switches, refire, does the static body fit, macro; then, under the agent's admission
lock: refire again, budget, intention, print, record. Two hooks that race for one agent show a way
once; nothing is recorded that was not printed.
"""

from __future__ import annotations

import os

from ways.core import text
from ways.core.locking import LockTimeout
from ways.core.record import replace
from ways.disclosure import render, trust
from ways.disclosure.budget import Budget
from ways.lanes import answer
from ways.lanes.showing import Showing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ways.catalogue.way import Way
    from ways.lanes.context import Context
    from ways.session.state import Agent

LOCK_SECONDS = 2.0


def render_context(context: Context, scope: str) -> render.RenderContext:
    """What macros of this hook are told and allowed."""
    settings = context.settings
    return render.RenderContext(
        project=context.project,
        session_id=context.payload.session_id,
        agent_id=context.agent_id,
        sessions_root=context.roots.sessions,
        scope=scope,
        trusted=trust.is_trusted(context.target, context.project),
        timeout=settings.macro_timeout_ms / 1000,
        max_chars=settings.macro_max_chars,
        disabled_domains=settings.disabled_domains,
        target="" if context.target == os.path.join(context.roots.home, ".claude") else context.target,
    )


def prepare(context: Context, wanted: Iterable[Showing], scope: str) -> list[Showing]:
    """The showings that pass refire and fit, with their text. Logs what was held back."""
    budget = Budget()
    ready: list[Showing] = []
    names: set[str] = set()
    for showing in wanted:
        way = showing.way
        if way is None or showing.check is not None:
            if budget.fits(showing.text):
                budget.admit(showing.text)
                ready.append(showing)
            else:
                _log_capped(context, showing)
            continue
        if way.id in names or (showing.boosted_by and showing.boosted_by not in names):
            continue
        if _held(context, showing):
            _log_held(context, way)
            continue
        filled = _fill(context, showing, scope, budget)
        if filled is not None:
            budget.admit(filled.text)
            ready.append(filled)
            names.add(way.id)
    return ready


def _fill(context: Context, showing: Showing, scope: str, budget: Budget) -> Showing | None:
    """The showing with its text, None when its file has gone or there is no room for it."""
    from ways.catalogue.body import body

    way = showing.way
    assert way is not None
    try:
        static = body(way.path)
    except OSError as error:
        context.note(f"{way.id}: {error.strerror or error} ({way.path})")
        return None
    if text.utf16_length(static.strip("\n")) > budget.left:
        _log_capped(context, showing)
        return None
    rendered = render.render(way, static, render_context(context, scope), budget.left)
    if rendered.problem:
        context.note(rendered.problem)
    if not rendered.text.strip():
        context.note(f"{way.id}: nothing to show (empty body)")
        return None
    agent = context.agent
    before = agent is not None and agent.marker(way.id) is not None
    return replace(showing, text=rendered.text, shown_before=before)


def _held(context: Context, showing: Showing) -> bool:
    way, agent = showing.way, context.agent
    if way is None or agent is None or showing.ignore_refire:
        return False
    if showing.once:
        return agent.marker(way.id) is not None
    return context.is_held(way)


def _log_held(context: Context, way: Way) -> None:
    agent = context.agent
    if agent is None or way.trigger == "session-start":
        return
    if agent.first_suppression(way.id):
        context.log("way_suppressed", way=way.id, domain=way.domain, kind="way", reason="refire")


def _log_capped(context: Context, showing: Showing) -> None:
    way = showing.way
    if way is None:
        context.note(f"{showing.trigger} text does not fit into one answer")
        return
    kind = "way" if showing.check is None else "check"
    context.log("way_suppressed", way=way.id, domain=way.domain, kind=kind, reason="context_cap")


def deliver(context: Context, ready: list[Showing], event: str = "") -> list[Showing]:
    """Print one answer with the showings and record them. Returns what was shown.

    `event` is the hook event name of the answer, the payload's when "".
    """
    if not ready:
        return []
    agent = context.agent
    if agent is None:
        return _print_only(context, ready, event)
    try:
        lock = agent.lock(LOCK_SECONDS)
        lock.acquire()
    except LockTimeout as problem:
        # A file system that cannot lock costs a bounded wait, never the guidance (case u10).
        context.note(f"shown without the admission lock: {problem}")
        return _admit_and_print(context, agent, ready, event)
    try:
        finish_pending(context, agent)
        return _admit_and_print(context, agent, ready, event)
    finally:
        lock.release()


def _print_only(context: Context, ready: list[Showing], event: str) -> list[Showing]:
    budget = Budget()
    shown = [showing for showing in ready if budget.admit(showing.text)]
    return shown if answer.write(answer.context(event or context.payload.event, budget.text)) else []


def _admit_and_print(context: Context, agent: Agent, ready: list[Showing], event: str) -> list[Showing]:
    from ways.session import pending

    budget = Budget()
    shown: list[Showing] = []
    names: set[str] = set()
    for showing in ready:
        if showing.check is None and showing.boosted_by and showing.boosted_by not in names:
            continue
        if showing.check is None and showing.way is not None and _held(context, showing):
            continue  # another hook of this agent showed it since
        if showing.core and agent.core_shown():
            continue
        if not budget.admit(showing.text):
            _log_capped(context, showing)
            continue
        shown.append(showing)
        if showing.way is not None:
            names.add(showing.way.id)
    if not shown:
        return []
    epoch = agent.epoch()
    intention = _intention(context, agent, shown, epoch)
    pending.write(agent, intention)
    if not answer.write(answer.context(event or context.payload.event, budget.text)):
        pending.clear(agent)
        context.note("nobody read the answer: nothing was recorded")
        return []
    _record(context, agent, intention)
    pending.clear(agent)
    return shown


def _intention(context: Context, agent: Agent, shown: list[Showing], epoch: int) -> dict[str, Any]:
    """What will be recorded, as plain data."""
    before, context.events = context.events, []
    position = context.position
    for showing in shown:
        if showing.check is not None:
            _log_check(context, agent, showing)
        elif showing.way is not None:
            _log_fire(context, agent, showing, position, epoch)
    fired, context.events = context.events, before
    return {
        "fires": [
            [showing.way.id, position, epoch] for showing in shown if showing.way and showing.check is None
        ],
        "checks": [showing.check.id for showing in shown if showing.check is not None],
        "core": any(showing.core for showing in shown),
        "events": fired,
    }


def _record(context: Context, agent: Agent, intention: dict[str, Any]) -> None:
    """Markers, engagement, counts and events. Doing a part of it twice changes nothing but an
    event line, so a recording that was cut short can be finished."""
    engagement = agent.engagement()
    for way_id, position, epoch in intention.get("fires", ()):
        known = engagement.get(way_id)
        if known is None or (known["token_position"], known["epoch"]) != (position, epoch):
            agent.record_fire(way_id, position, epoch)
    for check_id in intention.get("checks", ()):
        agent.record_check(check_id)
    if intention.get("core"):
        agent.mark_core_shown()
    context.events.extend(intention.get("events", ()))
    context.flush_events()


def finish_pending(context: Context, agent: Agent) -> None:
    """Finish what a hook that was killed after printing had begun to record (under the lock)."""
    from ways.session import pending

    intention = pending.read(agent)
    if intention is None:
        return
    context.note("finished the record of a hook that died after printing")
    _record(context, agent, intention)
    pending.clear(agent)


def _log_fire(context: Context, agent: Agent, showing: Showing, position: int, epoch: int) -> None:
    way = showing.way
    assert way is not None
    fields = dict(showing.fields)
    if showing.shown_before:
        fields.pop("matched_span", None)
    ancestors = [above for above in way.parent_ids if context.catalogue.find(above) is not None]
    if ancestors:
        parent = agent.engagement().get(ancestors[0])
        fields["parent"] = ancestors[0]
        fields["tree_depth"] = len(ancestors)
        if parent is not None:
            fields["epoch_distance"] = max(0, epoch - parent["epoch"])
    team = agent.team()
    if team:
        fields["team"] = team
    fields.setdefault("scope", context.scope)
    context.log(
        "way_redisclosed" if showing.shown_before else "way_fired",
        way=way.id,
        domain=way.domain,
        trigger=showing.trigger or "unknown",
        token_position=position,
        **fields,
    )


def _log_check(context: Context, agent: Agent, showing: Showing) -> None:
    way, check = showing.way, showing.check
    assert way is not None and check is not None
    fields = {**dict(showing.fields), "fire_count": agent.check_fires(check.id) + 1}
    context.log("check_fired", way=way.id, domain=way.domain, check=check.id, scope=context.scope, **fields)
