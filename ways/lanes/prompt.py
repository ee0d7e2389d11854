"""UserPromptSubmit: match the prompt, let the judge look, show (spec: hooks, `prompt`)."""

from __future__ import annotations

from ways.core.record import replace
from ways.lanes import scan
from ways.lanes.allowed import allowed
from ways.lanes.payload import PayloadProblem
from ways.lanes.scan import Surface
from ways.matching.envelopes import is_envelope
from ways.matching.surfaces import PROMPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.lanes.context import Context
    from ways.lanes.showing import Showing
    from ways.matching.types import Hit


def run(context: Context) -> None:
    """Bump the epoch, match, judge, show. A harness envelope only bumps the epoch."""
    prompt = context.payload.raw.get("prompt")
    if not isinstance(prompt, str):
        raise PayloadProblem("the payload has no prompt")
    if not allowed(context):
        return
    context.bump_epoch()
    if is_envelope(prompt) or not prompt.strip():
        return
    reply = context.session.response() if context.session is not None else ""
    surface = Surface(PROMPT, prompt, semantic=f"{prompt}\n\n{reply}".strip(), alone=prompt)
    match_and_show(context, surface, reply)


def match_and_show(context: Context, surface: Surface, reply: str) -> None:
    """Scan, judge, show: the common part of the prompt and queued lanes."""
    reading = scan.read(context, surface)
    if reading.hits:
        reading = replace(reading, hits=judged(context, surface, reading.hits, reply))
    wanted = scan.showings(reading, surface)
    if reading.engine_missing:
        wanted.extend(_notice(context))
    if wanted:
        from ways.lanes import show

        show.deliver(context, show.prepare(context, wanted, context.scope))


def judged(context: Context, surface: Surface, hits: tuple[Hit, ...], reply: str) -> tuple[Hit, ...]:
    """The hits that the relevance judge lets pass: all of them without a key, and on any failure.

    Only what would be shown is sent: hits inside their refire window are held back without it.
    """
    from ways.gate import client
    from ways.gate.types import GateHit, GateRequest

    asked = [hit for hit in hits if not context.is_held(hit.way)]
    if not asked:
        return hits
    outcome = client.judge(
        GateRequest(
            roots=context.roots,
            surface=surface.kind,
            hits=tuple(
                GateHit(
                    id=hit.way.id,
                    description=hit.way.description,
                    strict=hit.explicit and hit.way.pattern_strict,
                    ancestors=hit.way.parent_ids,
                    trigger=hit.trigger,
                )
                for hit in asked
            ),
            prompt=surface.text,
            last_reply=reply,
            session=context.payload.session_id,
            project=context.project,
            agent_id=context.agent_id,
            model=context.transcript.model,
            scope=context.scope,
            hook=context.payload.event,
            config_dir=context.target,
        )
    )
    context.events.extend(dict(event) for event in outcome.events)
    return tuple(hit for hit in hits if hit.way.id not in outcome.blocked)


def _notice(context: Context) -> list[Showing]:
    """One line a session when matching by meaning cannot run (case h22)."""
    if context.session is None or not context.session.first_time("engine"):
        return []
    from ways.lanes.showing import Showing

    line = "(ways: matching by meaning is off, patterns still work. `ways status` says why.)"
    return [Showing(way=None, trigger="notice", text=line)]
