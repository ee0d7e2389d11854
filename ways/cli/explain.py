"""`ways explain`: one prompt, and why each way fires, nearly does, or is held back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from ways.catalogue.way import AGENT
from ways.cli import author_match, explain_steps, place, report
from ways.cli.explain_steps import Reader, Ruling
from ways.cli.session_pick import events_of, pick, place_of
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable, snippet
from ways.readers import describe, source
from ways.readers.numbers import real
from ways.readers.sessions import directories
from ways.session.stamps import seconds_of

if TYPE_CHECKING:
    from rich.table import Table

    from ways.cli.place import Place
    from ways.core.roots import Roots
    from ways.matching.candidates import Rules
    from ways.matching.types import Hit

# Everything that one prompt's hook logs lies this close together, in seconds.
ONE_PROMPT = 20.0


@dataclass(frozen=True)
class JudgeState:
    """Whether the judge would be asked: `line` says so in words."""

    ready: bool
    line: str


@click.command("explain")
@click.argument("prompt", required=False)
@click.option("--file", "path", type=click.Path(), help="Read the prompt from a file.")
@click.option(
    "--session", metavar="ID", help="As it stands in this session (the beginning of its id will do)."
)
@click.option("--fresh", is_flag=True, help="As in a new session, nothing shown yet.")
@click.option("--judge", "ask", is_flag=True, help="Ask the judge too. Sends the prompt to the provider.")
@click.option(
    "--limit",
    type=click.IntRange(0),
    metavar="N",
    default=5,
    show_default=True,
    help="Ways that were not near.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    prompt: str | None,
    path: str | None,
    session: str | None,
    fresh: bool,
    ask: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Explain what PROMPT (or `-` for standard input) would show, and what holds the rest back.

    Each number stands beside its gate. Refire, scope and switches are those of this project's newest
    session, or of --session. Nothing is shown, recorded or run; without --judge nothing leaves the
    machine.
    """
    if session is not None and fresh:
        raise UserError("--session and --fresh exclude each other", "ways explain --help", USAGE)
    roots = resolve()
    words = author_match.read_text(prompt, path)
    here = place.here(roots)
    name, events = _session(roots, here, session, fresh)
    if name and session is not None:
        here = replace(here, project=place_of(roots, events)[0] or here.project)
    document = build(roots, here, words, name, events, ask, limit)
    if as_json:
        report.echo_json(document)
        return
    report.show(*_parts(document))


def build(
    roots: Roots, here: Place, prompt: str, session: str, events: list[dict[str, str]], ask: bool, limit: int
) -> dict[str, Any]:
    """Everything that the command tells, as plain data. `session` is "" for a new one."""
    from ways.matching.envelopes import is_envelope

    reader, rules = _reader(roots, here, session, events)
    state = judge_state(roots)
    off = _switched_off(roots, here)
    head = {
        "prompt": prompt,
        "project": here.project,
        "session": session,
        "position": reader.position,
        "window": reader.window,
        "judge": state.line if not ask or not state.ready else "asked",
        "switched_off": off,
    }
    if is_envelope(prompt) or not prompt.strip():
        why = (
            "it is empty"
            if not prompt.strip()
            else "no person typed it: it begins like a message of the harness"
        )
        return {**head, "not_matched": why, "ways": [], "decides": "none", "no_signal": [], "recorded": []}

    def judge(hits: tuple[Hit, ...]) -> Mapping[str, Ruling]:
        return ask_judge(roots, here, prompt, reader.reply, session, hits) if ask and state.ready else {}

    found, told = explain_steps.explain(here, prompt, rules, reader, limit, judge)
    return {
        **head,
        "not_matched": "",
        "decides": found.decides,
        "no_signal": list(found.reasons),
        "ways": [asdict(each) for each in told],
        "recorded": recorded(events, prompt),
    }


def _session(roots: Roots, here: Place, wanted: str | None, fresh: bool) -> tuple[str, list[dict[str, str]]]:
    """The session that is meant and its events; "" for a new one."""
    if wanted is not None:
        name = pick(roots, wanted)
        return name, events_of(roots, name)
    newest = [name for name, _touched in directories(roots.sessions)][:1]
    if fresh or not newest:
        return "", []
    events = events_of(roots, newest[0])
    project = place_of(roots, events)[0]
    folder = here.project or place.current_folder()
    # The newest session may belong to another project: then its state says nothing about this one.
    same = bool(project and folder) and os.path.normpath(project) == os.path.normpath(folder)
    return (newest[0], events) if same else ("", [])


def _reader(roots: Roots, here: Place, session: str, events: list[dict[str, str]]) -> tuple[Reader, Rules]:
    from ways.session import transcript, window
    from ways.session.state import open_session

    rules = here.rules(AGENT)
    opened = open_session(roots, session) if session else None
    path = transcript.locate("", session, "main", place_of(roots, events)[1]) if session else ""
    seen = transcript.read(path, prose=False)
    size = window.resolve(seen.model, os.environ)
    agent = opened.agent("main") if opened is not None else None
    reply = opened.response() if opened is not None else ""
    if agent is not None:
        rules = here.rules(AGENT, agent.shown)
    return Reader(agent, seen.position, size.tokens, reply), rules


def _switched_off(roots: Roots, here: Place) -> str:
    """Which file switches ways off here, "" when none does."""
    if here.settings.enabled:
        return ""
    from ways.settings import effective

    found = effective.settings_files(roots, here.project, roots.projection)
    return effective.values(found)["ways.enabled"].path


def judge_state(roots: Roots) -> JudgeState:
    """Whether a prompt would be judged now."""
    from ways.gate import hook_settings, paths
    from ways.gate.types import OFF

    try:
        keys = os.listdir(paths.keys_folder(roots))
    except OSError:
        keys = []
    if not keys:
        return JudgeState(False, "no key, so no way is judged")
    settings = hook_settings.load(roots)
    if settings.error:
        return JudgeState(False, f"not asked: {settings.error}")
    if settings.mode == OFF:
        return JudgeState(False, "switched off")
    if settings.provider not in keys:
        return JudgeState(False, f"no key for {settings.provider}, so no way is judged")
    what = f"{settings.mode} mode, {settings.engine}, passes from {settings.threshold:.2f}"
    return JudgeState(True, f"would be asked ({what}); --judge asks it")


def ask_judge(
    roots: Roots, here: Place, prompt: str, reply: str, session: str, hits: tuple[Hit, ...]
) -> Mapping[str, Ruling]:
    """Ask the judge as the prompt lane does. Only what the call cost is logged."""
    from ways.gate import client
    from ways.gate.types import GateHit, GateRequest
    from ways.telemetry import log

    outcome = client.judge(
        GateRequest(
            roots=roots,
            surface="prompt",
            hits=tuple(
                GateHit(
                    id=hit.way.id,
                    description=hit.way.description,
                    strict=hit.explicit and hit.way.pattern_strict,
                    ancestors=hit.way.parent_ids,
                    trigger=hit.trigger,
                )
                for hit in hits
            ),
            prompt=prompt,
            last_reply=reply,
            session=session,
            project=here.project,
            hook="explain",
        )
    )
    log.append(roots.events, [event for event in outcome.events if event.get("event") == "judge_call"])
    for event in outcome.events:
        if event.get("event") == "gate_fallback":
            message = f"the judge gave no verdict: {event.get('reason', 'no reason given')}"
            click.echo(f"ways: {printable(message)}", err=True)
    return {
        event["way"]: Ruling(
            event.get("verdict", ""),
            real(event, "p_yes"),
            real(event, "threshold"),
            event.get("ancestor", ""),
        )
        for event in outcome.events
        if event.get("event") == "way_judged" and event.get("way")
    }


def recorded(events: list[dict[str, str]], prompt: str) -> list[dict[str, str]]:
    """What the log holds of the last time this prompt was given, as far as it can be recognised: the log
    keeps the beginning of the texts that a way fired on."""
    begun = snippet(prompt).rstrip("…")
    marks = [
        event
        for event in events
        if event.get("surface", "").startswith(begun) and event.get("hook") == "UserPromptSubmit"
    ]
    if not begun or not marks:
        return []
    last = marks[-1]
    moment = seconds_of(last.get("ts")) or 0.0
    return [
        event
        for event in source.in_order(events)
        if event.get("hook") == last.get("hook")
        and event.get("agent_id") == last.get("agent_id")
        and abs((seconds_of(event.get("ts")) or 0.0) - moment) <= ONE_PROMPT
    ]


# Text


def _parts(document: dict[str, Any]) -> list[Any]:
    where = document["project"] or "no project"
    state = f"session {document['session']}" if document["session"] else "a new session"
    parts: list[Any] = [f"{where}, {state}. Judge: {document['judge']}."]
    if document["session"]:
        parts.append(f"Context: {document['position']:,} of {document['window']:,} tokens.")
    if document["switched_off"]:
        parts.append(f"Ways are switched off in {document['switched_off']}: nothing of this would be shown.")
    if document["not_matched"]:
        return [*parts, f"The prompt is not matched: {document['not_matched']}."]
    for reason in document["no_signal"]:
        parts.append(f"No semantic signal: {printable(reason)}")
    if not document["ways"]:
        return [*parts, "There is no way here."]
    decides = {"none": "nothing, so only patterns match"}.get(document["decides"], document["decides"])
    parts += [f"Meaning is decided by {decides}.", "", _table(document["ways"])]
    if document["recorded"]:
        made = report.table("On record", "", "Way", "What")
        for event in document["recorded"]:
            line = describe.describe(event)
            report.row(made, report.short_time(event.get("ts", "")), line.mark, line.way, line.detail)
        parts += ["", made]
    return parts


def _table(ways: list[dict[str, Any]]) -> Table:
    made = report.table("Way", "Result", "Channel", "Numbers and gates", "Why")
    for each in ways:
        numbers = "\n".join(_gate(gate) for gate in each["gates"])
        matched = f"“{each['matched']}”" if each["matched"] else ""
        why = "\n".join(part for part in (matched, each["why"]) if part)
        style = "bold" if each["result"] == explain_steps.SHOWN else ""
        channel = each["channel"].removeprefix("semantic:")
        report.row(made, each["way"], each["result"], channel, numbers, why, style=style)
    return made


def _gate(gate: dict[str, Any]) -> str:
    value, threshold = gate["value"], gate["threshold"]
    if gate["name"] == "room":
        sign = "≤" if gate["passed"] else ">"
        return f"room {value:,} {sign} {threshold:,} characters"
    if gate["name"] == "refire tokens":
        return f"refire {value:,.0f} {'≥' if gate['passed'] else '<'} {threshold:,.0f} tokens"
    return describe.gate(gate["name"], value, threshold)
