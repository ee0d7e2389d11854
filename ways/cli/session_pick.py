"""Which session a command is about, and what its views need to know of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ways.cli.report import progress
from ways.core.errors import USAGE, UserError
from ways.core.ids import is_session_id
from ways.readers import growth, source, timeline
from ways.readers.sessions import directories

if TYPE_CHECKING:
    from ways.core.roots import Roots
    from ways.readers.forecast import Cadences
    from ways.readers.timeline import Timeline


def pick(roots: Roots, wanted: str | None) -> str:
    """The session whose id is or begins with `wanted`, the newest without one. Raises UserError.

    Session directories come first; the log is read only when none fits.
    """
    known = [name for name, _touched in directories(roots.sessions)]
    if wanted is None:
        known = known or source.session_ids(roots.events)
        if not known:
            raise UserError("there is no session yet", "start Claude Code in a project", USAGE)
        return known[0]
    if wanted in known:
        return wanted
    if not is_session_id(wanted):
        raise UserError(f"not a session id: {wanted!r}", "ways session list", USAGE)
    for names in (known, source.session_ids(roots.events, wanted)):
        if wanted in names:
            return wanted
        found = [name for name in names if name.startswith(wanted)]
        if len(found) > 1:
            raise UserError(f"{len(found)} sessions begin with {wanted!r}", "ways session list", USAGE)
        if found:
            return found[0]
    raise UserError(f"there is no session {wanted!r}", "ways session list", USAGE)


def events_of(roots: Roots, session: str) -> list[dict[str, str]]:
    """The session's events by time, with a bar when the log is big."""
    with progress("Reading the event log", source.log_size(roots.events)) as step:
        return source.session_events(roots.events, session, step)


def timeline_of(roots: Roots, session: str) -> Timeline:
    """The session's timeline: its events, its transcripts, and the cadences that hold in its project."""
    return timeline_from(roots, session, events_of(roots, session))


def timeline_from(roots: Roots, session: str, events: list[dict[str, str]], *, bars: bool = True) -> Timeline:
    """The timeline of events that were read already; `bars` off draws none (inside a full-screen view)."""
    from ways.session.window import resolve

    project, target = place_of(roots, events)
    agents = dict.fromkeys(event.get("agent_id") or timeline.MAIN for event in events)
    growths = {agent: _growth(session, agent, target, bars) for agent in (timeline.MAIN, *agents)}

    def window_of(model: str) -> tuple[int, str]:
        found = resolve(model, os.environ)
        return found.tokens, found.source

    return timeline.build(
        session,
        events,
        growths=growths,
        window_of=window_of,
        cadence_of=cadences(roots, project, target).of,
    )


def place_of(roots: Roots, events: list[dict[str, str]]) -> tuple[str, str]:
    """The project and the target (Claude Code config directory) of a session, by its newest events."""
    named = {}
    for event in events:
        for name in ("project", "config_dir"):
            if os.path.isabs(event.get(name, "")):
                named[name] = event[name]
    return named.get("project", ""), named.get("config_dir", "") or roots.projection


def cadences(roots: Roots, project: str, target: str) -> Cadences:
    """The cadences of the ways that a session there sees."""
    from ways.catalogue.cache import load as load_catalogue
    from ways.lanes.context import way_roots
    from ways.readers.forecast import Cadences
    from ways.settings.load import load as load_settings

    settings = load_settings(roots, project or None, target)
    return Cadences(load_catalogue(way_roots(roots, target, project), roots.cache), settings.refire_presets)


def _growth(session: str, agent: str, target: str, bars: bool) -> growth.Growth:
    from ways.session.transcript import locate

    path = locate("", session, agent, target)
    if not path:
        return timeline.NO_GROWTH
    try:
        size = os.stat(path).st_size if bars else 0
    except OSError:
        return timeline.NO_GROWTH
    with progress("Reading the transcript", size) as step:
        return growth.read(path, agent != timeline.MAIN, step)
