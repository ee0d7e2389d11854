"""`ways doctor`: run each hook as Claude Code would and say what to fix."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from projection import program_check
from ways.cli import targets
from ways.cli.hook_player import Player
from ways.cli.sample_payloads import Samples
from ways.cli.sandbox import sandbox
from ways.core import active
from ways.core import roots as core_roots
from ways.core.errors import DONE, WRONG, UserError
from ways.core.roots import Roots
from ways.core.text import printable

GOOD, FAULT, NOTE = "ok", "fault", "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `state` is ok, fault or note; `fix` what to type, "" for nothing."""

    subject: str
    state: str
    message: str
    fix: str = ""


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--offline", is_flag=True, help="Look at nothing beyond this machine.")
@click.option("--no-hooks", is_flag=True, help="Do not run the hooks.")
def command(as_json: bool, offline: bool, no_hooks: bool) -> int:
    """Look at everything ways needs, run each hook, and say what to fix.

    Exits 1 when something is wrong. The hooks run on sample payloads in a throw-away state folder.
    """
    found = list(examine(core_roots.resolve(), hooks=not no_hooks, offline=offline))
    faults = [finding for finding in found if finding.state == FAULT]
    if as_json:
        click.echo(json.dumps({"ok": not faults, "findings": [asdict(one) for one in found]}, indent=2))
    else:
        for finding in found:
            click.echo(line(finding))
        click.echo("Everything works." if not faults else f"{len(faults)} to fix.")
    return WRONG if faults else DONE


def line(finding: Finding) -> str:
    """One finding for people."""
    text = f"{finding.state:<6} {finding.subject}: {printable(finding.message)}"
    return f"{text}  Next: {finding.fix}" if finding.fix and finding.state != GOOD else text


def examine(roots: Roots, *, hooks: bool = True, offline: bool = True) -> Iterator[Finding]:
    """Every finding, in the order in which a person would mend them. Changes nothing of the user's."""
    yield from _roots(roots)
    yield from _app(roots)
    yield from _settings(roots)
    served: list[str] = []
    for finding, path in _targets(roots):
        yield finding
        if path:
            served.append(path)
    yield from _ways(roots)
    yield from _engine(roots)
    yield from _corpus(roots)
    yield from _judge(roots, offline)
    if hooks:
        for target in served:
            yield from _hooks(target)
    for target in served:
        yield from _hooks_off(target)


def _roots(roots: Roots) -> Iterator[Finding]:
    if roots.sessions_note:
        yield Finding("sessions", NOTE, f"kept in {roots.sessions}, because {roots.sessions_note}")
    for name in ("config", "state", "cache", "sessions"):
        path = getattr(roots, name)
        place = path
        while place and not os.path.lexists(place):
            place = os.path.dirname(place)
        if not os.access(place, os.W_OK | os.X_OK):
            yield Finding(name, FAULT, f"{path} cannot be written", f"make {place} writable")
        elif shutil.disk_usage(place).free == 0:
            # A hook that cannot record what it shows shows nothing.
            yield Finding(name, FAULT, f"the disk that holds {path} is full", "make room there")


def _app(roots: Roots) -> Iterator[Finding]:
    program = active.program(roots.app)
    if os.path.isfile(program) and os.access(program, os.X_OK):
        version = os.path.basename(os.path.realpath(active.folder(roots.app)))
        yield Finding("app", GOOD, f"{version} in {roots.app}")
        yield from _long_paths(roots)
    else:
        yield Finding("app", FAULT, f"there is no program at {program}", "ways reconcile")


def _long_paths(roots: Roots) -> Iterator[Finding]:
    if os.name != "nt":
        return
    from installer import versions
    from projection.system import DryRunSystem
    from windows import long_paths

    content = os.path.realpath(active.folder(roots.app))
    longest = versions.longest_path(DryRunSystem(), content)
    if why := long_paths.complaint(content, longest, long_paths.allowed()):
        yield Finding("app", NOTE, why)


def _settings(roots: Roots) -> Iterator[Finding]:
    from ways.settings.load import load

    for diagnostic in load(roots, None, roots.projection).diagnostics:
        yield Finding("settings", FAULT, str(diagnostic), "ways settings lint")


def _targets(roots: Roots) -> Iterator[tuple[Finding, str]]:
    """Each target's state; its path when its hooks can be run."""
    try:
        rows = targets.rows(roots)
    except UserError as error:
        yield Finding("targets", FAULT, error.message, error.next_command), ""
        return
    for row in rows:
        path, state = str(row["path"]), str(row["state"])
        if state == "active":
            yield Finding("target", GOOD, f"{path} is active"), path
        elif not row["enabled"] and state == "withdrawn":
            yield Finding("target", GOOD, f"{path} is switched off"), ""
        else:
            usable = path if os.path.isfile(os.path.join(path, "settings.json")) else ""
            yield Finding("target", FAULT, f"{path} is {state}", "ways reconcile"), usable
    if not any(row["enabled"] for row in rows):
        yield Finding("targets", FAULT, "no target is enabled", "ways target add DIR"), ""


def _hooks_off(target: str) -> Iterator[Finding]:
    from ways.cli.hooks_off import switched_off

    try:
        folder = os.getcwd()
    except FileNotFoundError:
        folder = ""
    for path, key in switched_off(target, folder):
        message = f"{path} sets {key}, so Claude Code runs no hook of ways"
        yield Finding("hooks", FAULT, message, f"take {key} out of that file")


def _ways(roots: Roots) -> Iterator[Finding]:
    from ways.cli.place import here

    catalogue = here(roots).catalogue
    for broken in catalogue.broken:
        place = f"{broken.path}:{broken.line}:{broken.column}" if broken.line else broken.path
        yield Finding("way", FAULT, f"{place}: {broken.message}", "ways author lint")
    for way in catalogue.ways:
        for problem in way.problems:
            yield Finding("way", FAULT, f"{way.path}: {problem}", "ways author lint")
    if not catalogue.ways:
        yield Finding("ways", FAULT, "there are no ways", "ways reconcile")
    else:
        yield Finding("ways", GOOD, f"{len(catalogue.ways)} ways, {len(catalogue.checks)} checks")


def _engine(roots: Roots) -> Iterator[Finding]:
    from ways.cli.status import engine_state

    state = engine_state(roots)
    if state.problem:
        # What it names for other commands is this one.
        fix = state.fix if state.fix != "ways doctor" else _install_again()
        yield Finding("engine", FAULT, state.problem, fix)
    else:
        yield Finding("engine", GOOD, state.summary)


def _install_again() -> str:
    """How the program's own files come back."""
    import sys

    if getattr(sys, "frozen", False):
        return "run the installer again"
    return "python3 build/from_source.py, in the source folder"


def _corpus(roots: Roots) -> Iterator[Finding]:
    from ways.cli.status import corpus_state

    state = corpus_state(roots)
    if state.problem:
        yield Finding("corpus", FAULT, state.problem, state.fix)
    else:
        yield Finding("corpus", GOOD, state.summary)


def _judge(roots: Roots, offline: bool) -> Iterator[Finding]:
    from ways.cli.status import judge_state

    state = judge_state(roots)
    if state.problem:
        yield Finding("judge", FAULT, state.problem, state.fix)
    else:
        yield Finding("judge", GOOD, state.summary)


def _hooks(target: str) -> Iterator[Finding]:
    """Run every hook that ways registered in this target on a sample payload."""
    with sandbox(target) as box:
        player = Player(target, box.project, box.environment)
        ours = [handler for handler in player.handlers if is_ours(handler.command, handler.args)]
        if not ours:
            message = f"{target}/settings.json registers no hook of ways"
            yield Finding("hooks", FAULT, message, "ways reconcile")
            return
        ran = 0
        for payload in Samples(box.project, os.path.join(box.folder, "none.jsonl")).all():
            for handler in player.matching(payload):
                if handler not in ours:
                    continue
                outcome = player.run(handler, payload)
                ran += 1
                if outcome.problem:
                    subject = f"hook {handler.event}"
                    yield Finding(subject, FAULT, f"{handler.label} {outcome.problem}", "ways reconcile")
        log = os.path.join(box.folder, "state", "debug.log")
        if os.path.isfile(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                for text in file.read().splitlines()[:5]:
                    yield Finding("hooks", NOTE, text)
        yield Finding("hooks", GOOD, f"{ran} hooks of {target} were run")


def is_ours(command: str, args: tuple[str, ...] | None) -> bool:
    """True for a hook command that runs an adapter or the program of ways."""
    asked = program_check.program_in(command, args)
    first = (asked or command).strip().strip('"').replace("\\", "/")
    return "/hooks/ways/" in first or first.endswith(("/check-config-updates.sh", "/ways", "/ways.exe"))
