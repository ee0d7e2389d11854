"""PostToolUse and PostToolUseFailure: postchecks, and tool-lane context that waited (spec: hooks)."""

from __future__ import annotations

import os
import time

from ways.lanes.allowed import allowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.catalogue.way import Way
    from ways.disclosure import render
    from ways.lanes.context import Context
    from ways.lanes.showing import Showing

TRIGGER = "postcheck"
TASK_TOOLS = frozenset(["Task", "Agent"])
# The read tool of `ways mcp`, as Claude Code names it.
READ_TOOL = "mcp__ways__ways_read"
# Where ways.session.held keeps what waits.
HELD = "held"


def run(context: Context) -> None:
    """Show what waited for this tool call's end, then the ways whose postcheck asks for it."""
    if context.payload.tool_name == READ_TOOL:
        _record_pull(context)
        return
    _drop_stash(context)
    if not allowed(context):
        return
    wanted = _held(context)
    wanted.extend(_requested(context, {showing.way.id for showing in wanted if showing.way is not None}))
    if wanted:
        from ways.lanes import show

        show.deliver(context, show.prepare(context, wanted, context.scope))


def _held(context: Context) -> list[Showing]:
    """What the tool lanes kept for this tool call."""
    if context.session is None or not os.path.lexists(context.session.path(HELD)):
        return []
    from ways.lanes import holding

    return holding.take(context)


def _record_pull(context: Context) -> None:
    """An agent has looked a way up: that counts as shown to it. Off or out of scope, it has still read it."""
    way = context.catalogue.find(context.payload.tool_text("id"))
    if way is None or context.payload.event != "PostToolUse":
        return
    agent = context.agent
    context.log(
        "way_pulled", way=way.id, domain=way.domain, scope=context.scope, token_position=context.position
    )
    if agent is None:
        return
    from ways.core.locking import LockTimeout
    from ways.lanes.show import LOCK_SECONDS

    try:
        lock = agent.lock(LOCK_SECONDS)
        lock.acquire()
    except LockTimeout as problem:
        context.note(f"a pull was recorded without the admission lock: {problem}")
        agent.record_fire(way.id, context.position, agent.epoch())
        return
    try:
        agent.record_fire(way.id, context.position, agent.epoch())
    finally:
        lock.release()


def _drop_stash(context: Context) -> None:
    """A Task that has ended, or was denied, must not leave its stash to another subagent."""
    if context.payload.tool_name in TASK_TOOLS and context.session is not None:
        from ways.session import stash

        stash.drop_unclaimed(context.session, context.payload.tool_use_id)


def _requested(context: Context, taken: set[str]) -> list[Showing]:
    """The ways whose postcheck exits 0 on this payload. One that is held back is not even run; all of
    them together have the time of one macro, because the tool call waits for them."""
    concerned = _concerned(context)
    if not concerned:
        return []
    from ways.disclosure import render
    from ways.lanes import show
    from ways.lanes.rules import is_eligible
    from ways.lanes.showing import Showing

    found: list[Showing] = []
    limits = None
    deadline = 0.0
    for way in concerned:
        if way.id in taken or not is_eligible(context, way) or context.is_held(way):
            continue
        if limits is None:
            limits = show.render_context(context, context.scope)
            deadline = time.monotonic() + limits.timeout
        left = deadline - time.monotonic()
        if left <= 0:
            context.note(f"{way.id} postcheck was not run: those before it took all the time")
        elif render.may_run(way, limits) and _asks(context, way, limits, left):
            found.append(Showing(way=way, trigger=TRIGGER))
    return found


def _concerned(context: Context) -> list[Way]:
    """The ways with a postcheck that this tool call concerns: starting a script costs more than the
    whole hook, so `postcheck_on` says for which calls it is worth it."""
    payload = context.payload
    subject = payload.tool_text("command", "file_path", "notebook_path")
    call = f"{payload.tool_name} {subject}"
    ways = context.catalogue.with_postcheck(call)
    if not any(way.postcheck_on for way in ways):
        return ways
    from ways.catalogue.patterns import Searcher

    with Searcher(context.catalogue.book) as searcher:
        return [
            way for way in ways if not way.postcheck_on or searcher.search(way.postcheck_on, call) is not None
        ]


def _asks(context: Context, way: Way, limits: render.RenderContext, seconds: float) -> bool:
    from ways.disclosure import render, scripts

    result = scripts.run(
        os.path.join(way.directory, way.postcheck_file),
        context.project,
        render.script_variables(way, limits),
        seconds,
        limits.max_chars,
        stdin=context.payload.data,
    )
    if result.why:
        context.note(f"{way.id} postcheck {result.why}. {result.stderr}")
    return result.code == 0
