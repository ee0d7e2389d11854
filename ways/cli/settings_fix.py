"""`ways settings fix`: repair what lint finds where the repair is certain."""

from __future__ import annotations

from collections.abc import Callable

import click

from ways.core import files
from ways.core.errors import DONE, REFUSED, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable
from ways.settings import effective, repairs
from ways.settings.parsing import MAX_BYTES, Unreadable, read_tree


def run(found: tuple[effective.SettingsFile, ...], dry_run: bool) -> int:
    """Repair these files, or with `dry_run` say what would be repaired. Returns the exit code: 0 when nothing
    is wrong any more, 1 when something is left. Raises UserError (3, 5)."""
    from ways.settings.writer import rewrite

    state = resolve().state
    left = 0
    for file in found:
        faults = len(file.layer.diagnostics) if file.layer is not None else 0
        planned = repairs.plan(file, _text(file.path)) if faults else []
        left += faults - len(planned)
        for one in planned:
            if not dry_run:
                rewrite(file.path, _change(one), state, file.scope)
            verb = "Would repair" if dry_run else "Repaired"
            click.echo(printable(f"{verb} {file.path}:{one.line}: {one.what}"))
    if left:
        click.echo("Not everything can be repaired with certainty.  Next: ways settings lint", err=True)
    return WRONG if left else DONE


def _change(one: repairs.Repair) -> Callable[[str], str]:
    return lambda text: repairs.repaired(text, one)


def _text(path: str) -> str:
    """The text of a file with faults. Raises UserError (3) for one that no repair can read."""
    try:
        data = files.read_bytes(path, MAX_BYTES + 1)
        text = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8").replace("\r\n", "\n")
        read_tree(text.encode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}", "", REFUSED) from error
    except Unreadable as error:
        where = f"{path}:{error.line}" if error.line else path
        raise UserError(f"{where}: {error.message}", f"repair {path} by hand", REFUSED) from error
    return text
