"""How commands print reports: JSON, tables, a pager for long ones, progress while a big log is read."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ways.core.text import printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

# A bar that would be gone before it can be read is not shown at all.
QUIET_BYTES = 8 << 20


def echo_json(data: object) -> None:
    """Print a document."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))


def show(*parts: RenderableType) -> None:
    """Print the parts one under the other, through a pager when that is more than the terminal holds."""
    from rich.console import Console

    terminal = sys.stdout.isatty()
    # Off a terminal nothing is cut or wrapped: the reader is a program or a file.
    console = Console() if terminal else Console(width=_width(parts), soft_wrap=True)
    with console.capture() as capture:
        for part in parts:
            console.print(part, markup=False, highlight=False, soft_wrap=not terminal)
    text = "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"
    if terminal and text.count("\n") >= shutil.get_terminal_size().lines:
        click.echo_via_pager(text, color=console.color_system is not None)
    else:
        click.echo(text, nl=False)


def _width(parts: Iterable[RenderableType]) -> int:
    """Columns in which every part has room."""
    from rich.console import Console
    from rich.measure import Measurement

    wide = Console(width=10_000)
    return max((Measurement.get(wide, wide.options, part).maximum for part in parts), default=80) or 80


def table(*columns: str, title: str = "") -> Table:
    """A table without a frame. A column whose name begins with `>` is right-aligned; one that begins with
    `~` gives way when the terminal is narrow."""
    from rich.table import Table
    from rich.text import Text

    made = Table(
        box=None, pad_edge=False, title=Text(printable(title)) if title else None, title_justify="left"
    )
    made.title_style = "bold"
    for name in columns:
        if name.startswith(">"):
            made.add_column(name[1:], justify="right", no_wrap=True)
        elif name.startswith("~"):
            made.add_column(name[1:], overflow="ellipsis", no_wrap=True, ratio=None, min_width=12)
        else:
            made.add_column(name, overflow="fold")
    return made


def row(made: Table, *cells: object, style: str = "") -> None:
    """Add a row; None and 0 are empty cells, and control characters never reach the terminal."""
    from rich.text import Text

    made.add_row(*(Text("" if cell in {None, 0} else printable(str(cell)), style=style) for cell in cells))


@contextmanager
def progress(what: str, size: int) -> Iterator[Callable[[int], None] | None]:
    """A bar on stderr while `size` bytes are read; None, and no bar, when that is soon done or nobody
    looks."""
    if size < QUIET_BYTES or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(printable(what), total=size)
        yield lambda count: bar.advance(task, count)


def short_time(stamp: str) -> str:
    """`2026-11-30 20:45` of a `ts`; the text as it is when it has another form."""
    return stamp[:16].replace("T", " ") if len(stamp) >= 16 and stamp[10] == "T" else stamp


def short_path(path: str, home: str) -> str:
    """The path with `~` for the home."""
    return f"~{path[len(home) :]}" if home and (path == home or path.startswith(home + os.sep)) else path


def money(dollars: float) -> str:
    """US dollars with the digits that tell something."""
    return "" if not dollars else f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 session`, `3 sessions`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def as_rows(counts: Iterable[tuple[Any, int]], total: int) -> list[tuple[str, int, str]]:
    """(name, count, percentage) of counts."""
    return [(str(name), count, f"{100 * count / total:.0f} %" if total else "") for name, count in counts]
