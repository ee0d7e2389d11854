"""SessionStart and UserPromptSubmit: core.md and the state triggers (spec: disclosure, State triggers)."""

from __future__ import annotations

import os

from ways.catalogue import way as model
from ways.core import clock
from ways.lanes.allowed import allowed
from ways.lanes.marks import set_first_mark
from ways.lanes.payload import PayloadProblem
from ways.lanes.session_start import CLEARING_SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.lanes.context import Context
    from ways.lanes.showing import Showing

TRIGGER = "state"
# The triggers of this lane.
KINDS = frozenset([model.SESSION_START, model.CONTEXT_THRESHOLD, model.FILE_EXISTS])


def run(context: Context) -> None:
    """Show core.md if it has not been shown, then the ways whose state trigger holds."""
    if context.payload.event == "SessionStart":
        _reset(context)
        _attend(context)
    else:
        prompt = context.payload.raw.get("prompt")
        if not isinstance(prompt, str):
            raise PayloadProblem("the payload has no prompt")
        if _is_envelope(prompt):
            return
    if not context.payload.agent_id:
        set_first_mark(context)
    if not allowed(context):
        return
    wanted = _core(context)
    wanted.extend(_triggered(context))
    if wanted:
        from ways.lanes import show

        show.deliver(context, show.prepare(context, wanted, context.scope))


def _reset(context: Context) -> None:
    """`session-start` runs for the same event at the same time: whichever comes first clears."""
    source = context.payload.text("source")
    if context.session is not None and source in CLEARING_SOURCES:
        context.session.reset(source, clock.now())


def _attend(context: Context) -> None:
    """Other sessions can write to this one from now on."""
    if context.session is not None and not context.payload.agent_id:
        from ways.lanes.attend_drain import register

        register(context)


def _is_envelope(prompt: str) -> bool:
    from ways.matching.envelopes import is_envelope

    return is_envelope(prompt)


def _core(context: Context) -> list[Showing]:
    """core.md with its macro's table, when this agent has not seen it."""
    agent = context.agent
    if agent is not None and agent.core_shown():
        return []
    from ways.catalogue.body import body
    from ways.disclosure import render
    from ways.disclosure.budget import Budget
    from ways.lanes import show
    from ways.lanes.context import way_roots
    from ways.lanes.showing import Showing

    path = os.path.join(way_roots(context.roots, context.target, context.project).core, "core.md")
    try:
        text = body(path)
        core = _core_way(path)
    except OSError as error:
        context.note(f"core.md: {error.strerror or error} ({path})")
        return []
    limits = show.render_context(context, context.scope)
    rendered = render.render(core, text, limits, Budget().limit)
    if rendered.problem:
        context.note(rendered.problem)
    return (
        [Showing(way=None, trigger=TRIGGER, core=True, text=rendered.text)] if rendered.text.strip() else []
    )


def _core_way(path: str) -> Way:
    """core.md as a way with the macro beside it: its table of ways follows the text."""
    names = os.listdir(os.path.dirname(path))
    macro = next((name for name in ("macro.py", "macro.sh", "macro.ps1") if name in names), "")
    return model.Way("core", path, model.CORE, macro="append", macro_file=macro)


def _triggered(context: Context) -> list[Showing]:
    """The ways whose state trigger holds now, in tree order."""
    agent = context.agent

    def is_due(way_id: str, trigger: str) -> bool:
        if trigger == model.SESSION_START and agent is not None:
            return not agent.shown(way_id)  # one that was shown is held back without a word
        return trigger in KINDS

    found = []
    for way in context.catalogue.with_trigger(is_due):
        if not _holds(context, way):
            continue
        from ways.lanes.rules import is_eligible
        from ways.lanes.showing import Showing

        if is_eligible(context, way):
            found.append(Showing(way=way, trigger=TRIGGER, once=way.trigger == model.SESSION_START))
    return found


def _holds(context: Context, way: Way) -> bool:
    if way.trigger == model.SESSION_START:
        return True
    if way.trigger == model.CONTEXT_THRESHOLD:
        used = 100.0 * context.position / max(1, context.window.tokens)
        return way.threshold > 0 and used >= way.threshold
    if way.trigger == model.FILE_EXISTS and context.project:
        from ways.catalogue.globs import file_exists

        return file_exists(context.project, way.trigger_path)
    return False
