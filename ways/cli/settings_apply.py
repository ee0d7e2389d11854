"""`ways settings apply`: set many at once, from a YAML document."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from ways.core import files
from ways.core.errors import DONE, OVERRIDDEN, USAGE, UserError
from ways.core.text import printable
from ways.settings import document, effective, values
from ways.settings.parsing import MAX_BYTES


@dataclass(frozen=True)
class Change:
    """One setting to be written: its key, the file, what holds now and what shall."""

    key: str
    scope: str
    path: str
    now: object
    then: object


def read(source: str, scope: str) -> dict[str, object]:
    """The settings in a document (`-` for standard input). Raises UserError (2) that names every fault."""
    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            data = files.read_bytes(source, MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{source}: {error.strerror or error}", "", USAGE) from error
    found, faults = document.read(data, source, scope)
    for fault in faults:
        click.echo(printable(f"ways: {fault}"), err=True)
    if faults:
        count = f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"
        raise UserError(f"{source} has {count}, so nothing was set", "ways settings help", USAGE)
    return found


def apply(planned: list[Change], state_root: str) -> None:
    """Write the changes, file by file; each file is written at once or not at all.

    Every file is tried without writing first, so that one that cannot be edited stops all. Raises
    UserError (3, 5).
    """
    from ways.settings.writer import preview, set_values

    together: dict[tuple[str, str], dict[str, object]] = {}
    for one in planned:
        together.setdefault((one.path, one.scope), {})[one.key] = one.then
    for (path, scope), changes in together.items():
        preview(path, changes, scope=scope)
    done: list[str] = []
    for (path, scope), changes in together.items():
        try:
            set_values(path, changes, state_root=state_root, scope=scope)
        except UserError as error:
            written = f"; {', '.join(done)} is written" if done else ""
            raise UserError(f"{error.message}{written}", error.next_command, error.exit_code) from error
        done.append(path)


def overridden(planned: list[Change], holds: dict[str, effective.Value]) -> int:
    """4 when another file overrides one of the changes, which is said; else 0."""
    code = DONE
    for one in planned:
        value = holds.get(one.key)
        if value is not None and _form(value.value) != _form(one.then):
            code = OVERRIDDEN
            other = f"{value.path} sets it to {values.to_text(value.value)}"
            click.echo(printable(f"ways: {one.key} is written to {one.path}, but {other}"), err=True)
    return code


def differs(now: object, then: object) -> bool:
    """True when a change changes something."""
    return _form(now) != _form(then)


def _form(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
