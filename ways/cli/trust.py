"""`ways trust`: which projects may run their own macros and postchecks."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable

import click

from ways.catalogue.walk import walk
from ways.catalogue.way import PROJECT
from ways.core import files, roots
from ways.core.errors import USAGE, WRITE_FAILED, UserError
from ways.core.text import printable
from ways.disclosure import trust

_SCRIPTS = ("macro", "postcheck")
_ENDINGS = (".sh", ".py", ".ps1")


@click.group(name="trust")
def command() -> None:
    """Which projects may run their own macros and postchecks.

    A project's ways come with the repository, so their scripts run only after you have said so.
    """


@command.command(name="list")
@click.option("--target", type=click.Path(), default=None, help="Config directory (default: Claude Code's).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(target: str | None, as_json: bool) -> None:
    """List the trusted projects."""
    paths = trust.listed(_target(target))
    if as_json:
        click.echo(json.dumps(paths))
    elif paths:
        for path in paths:
            click.echo(printable(path) + ("" if os.path.isdir(path) else "  (missing)"))
    else:
        click.echo("No project may run its own macros.")


@command.command(name="add")
@click.argument("project", type=click.Path(), default=".")
@click.option("--target", type=click.Path(), default=None, help="Config directory (default: Claude Code's).")
@click.option("--yes", is_flag=True, help="Do not ask.")
def add(project: str, target: str | None, yes: bool) -> None:
    """Let PROJECT run its own macros and postchecks, after showing them."""
    path, where = os.path.realpath(project), _target(target)
    if not os.path.isdir(path):
        raise UserError(f"{printable(path)} is not a folder", "ways trust add PROJECT", USAGE)
    if trust.is_trusted(where, path):
        click.echo("Already trusted.")
        return
    if not trust.can_be_listed(path):
        raise UserError(
            f"{path!r} is no line of UTF-8 text, so it cannot be listed", "rename the folder", USAGE
        )
    scripts = project_scripts(path)
    for script in scripts:
        click.secho(printable(os.path.relpath(script, path)), bold=True)
        data = files.read_bytes_or_none(script, 65_536)
        click.echo("  (cannot be read)" if data is None else _indented(data))
    if not scripts:
        click.echo("The project has no macro or postcheck now; later ones would run too.")
    if not yes and not _agreed(path):
        click.echo("Nothing was changed.")
        return
    _write(where, lambda: trust.add(where, path))
    click.echo(f"Trusted: {printable(path)}")


@command.command(name="remove")
@click.argument("project", type=click.Path(), default=".")
@click.option("--target", type=click.Path(), default=None, help="Config directory (default: Claude Code's).")
def remove(project: str, target: str | None) -> None:
    """Stop running PROJECT's own scripts."""
    where, path = _target(target), os.path.abspath(project)
    gone: list[bool] = []
    _write(where, lambda: gone.append(trust.remove(where, path)))
    click.echo("No longer trusted." if gone[0] else "It was not trusted.")


def _agreed(path: str) -> bool:
    """Ask. Raises UserError when there is nobody to answer."""
    try:
        return click.confirm(f"Let the scripts of {printable(path)} run?", default=False, err=True)
    except click.Abort:
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        again = f"ways trust add --yes {shlex.quote(path)}"
        raise UserError("there is no terminal to answer on; nothing was changed", again, USAGE) from None


def _write(where: str, change: Callable[[], object]) -> None:
    try:
        change()
    except OSError as error:
        raise UserError(
            f"{trust.trust_file(where)} could not be written: {error.strerror or error}",
            "make the file writable and run the command again",
            WRITE_FAILED,
        ) from error


def _target(target: str | None) -> str:
    return os.path.abspath(os.path.expanduser(target)) if target else roots.resolve().projection


def project_scripts(project: str) -> list[str]:
    """The macros and postchecks among the project's ways, sorted: those that the engine would run, through
    links too, and those beside no way yet. Links that leave the project are followed by neither."""
    base = os.path.join(project, ".claude", "ways")
    found = {
        os.path.join(os.path.dirname(way.path), name)
        for way in walk(PROJECT, base, project).files
        for name in way.siblings
    }
    for folder, _folders, names in os.walk(base):
        for name in names:
            stem, ending = os.path.splitext(name)
            if stem in _SCRIPTS and ending in _ENDINGS:
                found.add(os.path.join(folder, name))
    return sorted(found)


def _indented(data: bytes) -> str:
    text = printable(data.decode("utf-8", "replace"))
    return "\n".join(f"  {line}" for line in text.splitlines())
