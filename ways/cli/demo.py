"""`ways demo`: a sample session through the real hooks, with what was shown and why."""

from __future__ import annotations

import json
import os
from typing import Any

import click
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from ways.cli.hook_player import Outcome, Player
from ways.cli.sample_payloads import Samples, assistant_row
from ways.cli.sandbox import Sandbox, sandbox
from ways.core import roots
from ways.core.errors import WRONG, UserError
from ways.core.text import printable

_WHY = {
    "keyword": "the prompt matched the way's pattern",
    "bash": "the command matched the way's `commands` pattern",
    "file": "the path matched the way's `files` pattern",
    "state": "a state trigger",
    "check-pull": "a check of this way was due and the way had not been shown",
    "postcheck": "the way's postcheck asked for it after the tool ran",
}


@click.command(name="demo")
@click.option("--target", type=click.Path(), default=None, help="The config directory whose hooks to play.")
@click.option("--prompt", "prompts", multiple=True, help="A prompt to play instead of the sample ones.")
@click.option("--full", is_flag=True, help="Show each text whole, not its first lines.")
def command(target: str | None, prompts: tuple[str, ...], full: bool) -> None:
    """Play a sample session through a target's real hooks and explain what was shown.

    Nothing is written to your own session state or event log.
    """
    where = os.path.abspath(target) if target else roots.resolve().projection
    console = Console(highlight=False)
    with sandbox(where) as box:
        shown = play(console, where, box, prompts, full)
    if shown == 0:
        raise UserError(f"no hook of {where} showed anything", "ways doctor", WRONG)


def play(console: Console, target: str, box: Sandbox, prompts: tuple[str, ...], full: bool) -> int:
    """Play the session; returns how many events were answered with context."""
    transcript = os.path.join(box.folder, "transcript.jsonl")
    samples = Samples(box.project, transcript)
    with open(transcript, "wb") as file:
        file.write(assistant_row(12_000))
    player = Player(target, box.project, box.environment)
    console.print(f"Sample project: {box.project}\nHooks: {os.path.join(target, 'settings.json')}\n")
    steps: list[tuple[str, dict[str, Any]]] = [("The session starts", samples.start())]
    for text in prompts or SAMPLE_PROMPTS:
        steps.append((f'You type: "{text}"', samples.prompt(text)))
    if not prompts:
        steps.append(("Claude runs: git commit -m wip", samples.bash("git commit -m wip", "Commit the work")))
        steps.append(("Claude edits: .env", samples.edit(os.path.join(box.project, ".env"))))
    answered = 0
    seen = 0
    for title, payload in steps:
        outcomes = player.play(payload)
        events = _events(box.events)
        answered += _show(console, title, outcomes, events[seen:], full)
        seen = len(events)
    return answered


SAMPLE_PROMPTS = (
    "Please write tests for the login form, then commit the change.",
    "The nightly job got slower since last week. I have no idea where the time goes.",
)


def _show(
    console: Console, title: str, outcomes: list[Outcome], events: list[dict[str, str]], full: bool
) -> int:
    console.print(Text(title, style="bold"))
    context = "\n\n".join(outcome.context for outcome in outcomes if outcome.context)
    for outcome in outcomes:
        if outcome.problem:
            console.print(f"  {outcome.handler.label} {outcome.problem}", style="red")
    for event in events:
        line = _explain(event)
        if line:
            console.print(f"  {line}")
    if context:
        text = printable(context)
        lines = text.splitlines()
        body = (
            text if full or len(lines) <= 14 else "\n".join([*lines[:14], f"… {len(lines) - 14} more lines"])
        )
        console.print(Panel(Text(body), title="added to Claude's context", title_align="left"))
    else:
        console.print("  nothing was shown")
    console.print()
    return 1 if context else 0


def _explain(event: dict[str, str]) -> str:
    """One line on why a way was shown or held back, "" for other events."""
    kind, way = event.get("event", ""), event.get("way", "")
    if kind in {"way_fired", "way_redisclosed"}:
        trigger = event.get("trigger", "")
        why = _WHY.get(trigger, "the meaning was close" if trigger.startswith("semantic:") else trigger)
        span = event.get("matched_span")
        score = event.get("fire_score")
        detail = f': "{span}"' if span else f" (score {score})" if score else ""
        return f"shown  {way}: {why}{detail}"
    if kind == "check_fired":
        return f"check  {way}: due now (effective score {event.get('effective_score')})"
    if kind == "way_keyword_gated":
        return f"held   {way}: it matched a word, but the meaning is far off ({event.get('prob_en')})"
    if kind == "way_suppressed":
        reasons = {"refire": "shown already, too recently", "context_cap": "no room left in this answer"}
        return f"held   {way}: {reasons.get(event.get('reason', ''), event.get('reason', ''))}"
    return ""


def _events(path: str) -> list[dict[str, str]]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
