"""The reference pages, made from the registries that the program itself works by.

    python build/reference.py            writes docs/reference/*.md
    python build/reference.py --check    says which are stale, and exits with 1

Settings, events and frontmatter come from their registries, commands from their own `--help`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import click

from ways.catalogue import fields
from ways.settings import registry, values
from ways.telemetry import events

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"
WIDTH = 88
_BESIDE = (
    ("`{name}.check.md`", "the way's check"),
    ("`macro.py`, `macro.sh`, `macro.ps1`", "adds what it prints to the text; needs the field `macro`"),
    (
        "`postcheck.py`, `postcheck.sh`, `postcheck.ps1`",
        "gets the payload after a tool has run; exit code 0 asks for the way",
    ),
    (
        "`{name}.locales.jsonl`",
        "aliases in other languages, one object a line: `lang`, `description`, `vocabulary`",
    ),
    (
        "`{name}.golden.jsonl`",
        "two prompts that must show the way, one object a line: `prompt`, and `kind` `direct` or "
        "`situation`; read by `ways author lint` alone",
    ),
    ("`provenance.yaml`", "which policy and which controls the way stands for, for `ways audit`"),
)
_MADE = "<!-- Made by `python build/reference.py`; changes here are lost. -->"


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    stale = [name for name, text in pages().items() if _read(FOLDER / name) != text]
    if options.check:
        for name in stale:
            print(f"docs/reference/{name} is stale: run python build/reference.py")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    texts = pages()
    for name in stale:
        (FOLDER / name).write_text(texts[name], "utf-8", newline="\n")
        print(f"docs/reference/{name}")
    return 0


def pages() -> dict[str, str]:
    """Every page by its file name."""
    return {name: page(name) for name in MAKERS}


def page(name: str) -> str:
    """One page. Raises KeyError for another name."""
    return "\n".join(MAKERS[name]()) + "\n"


def settings() -> list[str]:
    """Settings by group."""
    lines = [
        "# Settings",
        "",
        _MADE,
        "",
        "A project's `.claude/ways.yaml` goes over a target's settings, and those over your `config.yaml`.",
        "`ways settings set KEY VALUE` changes one and keeps the rest of the file as it is.",
    ]
    groups = dict.fromkeys(setting.group for setting in registry.SETTINGS)
    for group in groups:
        lines += ["", f"## {group}"]
        for setting in registry.SETTINGS:
            if setting.group == group:
                lines += ["", *_setting(setting)]
    return lines


def _setting(setting: registry.Setting) -> Iterator[str]:
    yield f"### `{setting.key}`"
    yield ""
    yield setting.help
    if setting.details:
        yield ""
        yield setting.details
    yield ""
    yield f"- Type: {setting.type_text}"
    if setting.default is not None:
        yield f"- Default: `{values.to_text(setting.default) or 'none'}`"
    yield f"- Where: `{setting.file}`, as `{'.'.join(setting.place)}`"
    yield f"- Set for: {', '.join(setting.scopes)}"


def event_log() -> list[str]:
    """The events and their fields."""
    lines = [
        "# The event log",
        "",
        _MADE,
        "",
        "`events.jsonl` in the state folder (`ways events-log-path` tells where): one JSON object a line,",
        "every value a string. A field without a value is left out; an empty string means computed and",
        "empty.",
        "",
        "## Fields that events share",
        "",
        *_table(("Field", "Meaning"), ((f"`{name}`", meaning) for name, meaning in events.COMMON)),
        "",
        "## Events",
    ]
    for kind in events.EVENTS:
        lines += ["", f"### `{kind.name}`", "", kind.meaning]
        if kind.fields:
            lines += [
                "",
                *_table(("Field", "Meaning"), ((f"`{name}`", meaning) for name, meaning in kind.fields)),
            ]
    lines += ["", "## Values of `trigger`", ""]
    lines += _table(("Value", "Meaning"), ((f"`{name}`", meaning) for name, meaning in events.TRIGGERS))
    return lines


def frontmatter() -> list[str]:
    """The fields of ways and checks."""
    lines = [
        "# Frontmatter",
        "",
        _MADE,
        "",
        "A way is `{domain}/{…}/{name}/{name}.md`, a check `{name}.check.md` beside it. All fields are",
        "optional; a field of the wrong type is dropped and named by `ways author lint`, and so is an",
        "unknown one.",
        "",
        "## Fields",
        "",
        *_table(("Field", "Value", "In", "Meaning"), map(_field, fields.FIELDS)),
        "",
        "## Keys of `when`",
        "",
        "All of them must hold. With a key that is not here the way never fires.",
        "",
        *_table(
            ("Key", "Value", "Meaning"), ((row[0], row[1], row[3]) for row in map(_field, fields.WHEN_FIELDS))
        ),
        "",
        "## Keys of `trigger`",
        "",
        "When it is a mapping: `trigger: {type: attend, signals: [build-broken]}`.",
        "",
        *_table(
            ("Key", "Value", "Meaning"),
            ((row[0], row[1], row[3]) for row in map(_field, fields.TRIGGER_FIELDS)),
        ),
        "",
        "## Files beside a way",
        "",
        "Each is optional.",
        "",
        *_table(("File", "What it is"), _BESIDE),
    ]
    return lines


def _field(field: fields.Field) -> tuple[str, str, str, str]:
    kind = field.kind
    if field.choices:
        names = ", ".join(f"`{choice}`" for choice in field.choices)
        kind = names if kind == fields.ONE_OF else f"{kind} of {names}"
    places = [name for name, is_in in (("way", field.in_way), ("check", field.in_check)) if is_in]
    return f"`{field.name}`", kind, ", ".join(places), field.meaning


def commands() -> list[str]:
    """Every command's own help."""
    from ways.cli.main import program

    lines = ["# Commands", "", _MADE]
    for path, command, context in walk(program, top_context(program, WIDTH)):
        lines += ["", f"{'#' * min(4, len(path) + 1)} `{' '.join(path)}`", "", "```text"]
        lines += [line.rstrip() for line in command.get_help(context).splitlines()]
        lines.append("```")
    return lines


def top_context(program: click.Command, width: int) -> click.Context:
    """The context that running the program makes: those of its commands inherit from it."""
    return click.Context(program, info_name="ways", terminal_width=width, **program.context_settings)


def walk(
    command: click.Command, context: click.Context, path: tuple[str, ...] = ("ways",)
) -> Iterator[tuple[tuple[str, ...], click.Command, click.Context]]:
    """A command, then those below it that are not hidden: (its words, itself, its context)."""
    yield path, command, context
    if not isinstance(command, click.Group):
        return
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        if child is None or child.hidden:
            continue
        below = click.Context(child, parent=context, info_name=name)
        yield from walk(child, below, (*path, name))


MAKERS: dict[str, Callable[[], list[str]]] = {
    "settings.md": settings,
    "events.md": event_log,
    "frontmatter.md": frontmatter,
    "commands.md": commands,
}


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
