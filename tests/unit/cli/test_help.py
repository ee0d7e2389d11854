"""`--help` of every command reads well on a terminal of 80 columns, and the reference pages are not stale."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click

from build import reference
from ways.cli.main import program

WIDTH = 80
ROOT = Path(__file__).resolve().parents[3]


def every() -> list[tuple[tuple[str, ...], click.Command, click.Context]]:
    return list(reference.walk(program, reference.top_context(program, WIDTH)))


def test_no_line_of_help_is_cut_or_wrapped_by_the_terminal() -> None:
    found = every()
    assert len(found) > 40
    for path, command, context in found:
        for line in command.get_help(context).splitlines():
            assert len(line) <= WIDTH, (path, line)


def test_every_command_option_and_argument_explains_itself() -> None:
    wrong = [fault for path, command, _context in every() for fault in faults(" ".join(path), command)]
    assert not wrong, "\n".join(wrong)


def faults(name: str, command: click.Command) -> list[str]:
    """What is missing in one command's help."""
    found = []
    text = (command.help or "").strip()
    first = text.split("\n\n")[0].rstrip()
    if len(first.split()) < 3 or not first[0].isupper() or not first.endswith((".", ":")):
        found.append(f"{name}: its first sentence is {first!r}")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not parameter.hidden and not parameter.help:
            found.append(f"{name}: {parameter.opts[0]} has no help")
        # A metavar was chosen to say what is wanted; without one the sentence must name the argument.
        if isinstance(parameter, click.Argument) and not (
            parameter.metavar or isinstance(parameter.type, click.Choice)
        ):
            shown = parameter.human_readable_name.upper()
            if shown not in text:
                found.append(f"{name}: {shown} is not in its help")
    return found


def test_lists_of_commands_have_one_line_each() -> None:
    for path, command, context in every():
        if not isinstance(command, click.Group):
            continue
        lines = command.get_help(context).split("Commands:\n", 1)[1].splitlines()
        names = [re.match(r"  (\S+)", line) for line in lines if line.strip()]
        assert all(names), f"{' '.join(path)}: a line is wrapped"


def test_the_reference_is_not_stale() -> None:
    """In a process of its own: click keeps a command's help option from the first context that asks,
    so the text depends on what ran before."""
    command = [sys.executable, "build/reference.py", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_reference_names_everything_of_its_registry() -> None:
    from ways.catalogue import fields
    from ways.settings import registry
    from ways.telemetry import events

    pages = {name: reference.page(name) for name in ("settings.md", "events.md", "frontmatter.md")}
    assert all(f"`{setting.key}`" in pages["settings.md"] for setting in registry.SETTINGS)
    for kind in events.EVENTS:
        assert f"### `{kind.name}`" in pages["events.md"]
        assert all(f"| `{name}` |" in pages["events.md"] for name, _meaning in kind.fields)
    assert all(
        f"| `{field.name}` |" in pages["frontmatter.md"] for field in (*fields.FIELDS, *fields.WHEN_FIELDS)
    )
