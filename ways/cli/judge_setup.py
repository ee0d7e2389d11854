"""`ways judge-setup`: set the relevance judge up, asking what the flags do not say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ways.cli.agent import read_key
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.core.roots import Roots
    from ways.gate.settings import GateSettings, Profile

NONE = "none"


@click.command("judge-setup", hidden=True)
@click.option("--engine", default="", help="The engine profile (anthropic, openrouter, …), or none.")
@click.option("--mode", type=click.Choice(["enforce", "shadow"]), default=None, help="What a verdict does.")
@click.option("--stdin", "stdin", is_flag=True, help="Read the key from standard input.")
@click.option("--file", "path", type=click.Path(), help="Read the key from a file.")
@click.option("--yes", is_flag=True, help="Ask nothing; keep a stored key.")
def command(engine: str, mode: str | None, stdin: bool, path: str | None, yes: bool) -> None:
    """Explain what leaves the machine, choose an engine, store and check a key.

    Nothing is changed before the last question is answered.
    """
    from ways.agent import key_commands, setup

    roots = resolve()
    gate = key_commands.load_settings(roots)
    asking = not yes and sys.stdin.isatty()
    engine = engine or (_ask_engine(gate) if asking else gate.engine)
    if engine == NONE:
        click.echo("No judge: nothing is sent. A key that is stored stays: ways agent key remove")
        return
    if engine not in gate.profiles:
        known = ", ".join(gate.profiles)
        raise UserError(f"no profile has the name {engine!r} (known: {known})", "", USAGE)
    profile = gate.profiles[engine]
    if asking:
        click.echo("\n" + printable(setup.explanation(profile)) + "\n")
    mode = mode or (_ask_mode() if asking else "enforce")
    text = _key_text(roots, profile, stdin, path, asking)
    if text is not None:
        record = key_commands.add(roots, profile, text, replace=True)
        click.echo(printable(f"{profile.provider}: {record.state} {record.detail}".rstrip()))
    setup.write_choice(roots, setup.Choice(engine, mode))


def _ask_engine(gate: GateSettings) -> str:
    names = [*gate.profiles, NONE]
    return str(click.prompt("Judge", type=click.Choice(names), default=gate.engine))


def _ask_mode() -> str:
    click.echo("enforce holds ways back; shadow shows them all and only logs what it would hold back.")
    return str(click.prompt("Mode", type=click.Choice(["enforce", "shadow"]), default="enforce"))


def _key_text(roots: Roots, profile: Profile, stdin: bool, path: str | None, asking: bool) -> str | None:
    """The key to store, None to keep the stored one. Raises UserError when there is none to be had."""
    import os

    from ways.gate import paths

    stored = os.path.lexists(paths.key_file(roots, profile.provider))
    if stdin or path:
        return read_key(profile.provider, stdin, path)
    if stored and (not asking or click.confirm(f"Keep the stored key for {profile.provider}?", default=True)):
        return None
    return read_key(profile.provider, False, None)
