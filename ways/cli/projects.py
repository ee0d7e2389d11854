"""`ways projects`: Claude Code's project history, `<config>/projects/`.

What would change something prints its plan and stops there; `--yes` carries it out, into a trash folder
from which `ways projects restore` brings it back.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from ways.core import clock, roots
from ways.core.errors import DONE, REFUSED, USAGE, WRONG, UserError
from ways.core.roots import Roots
from ways.core.text import printable, snippet
from ways.projects import facts, history, hygiene, live, moves, plans
from ways.projects.history import Project, Session
from ways.projects.slug import slug_of

DAY = 86_400.0
_SPANS = {"d": DAY, "w": 7 * DAY, "m": 30 * DAY, "y": 365 * DAY}

target_option = click.option(
    "--target", type=click.Path(), default=None, help="Config directory (default: Claude Code's)."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
yes_option = click.option("-y", "--yes", is_flag=True, help="Carry the plan out.")
project_option = click.option("--project", default="", metavar="FOLDER", help="Only this project.")


def seconds_of(_context: click.Context, parameter: click.Parameter, value: str) -> float:
    """A time such as 90d, 12w, 6m or 1y, as seconds. A number without a letter is days."""
    text = value.strip().lower()
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _SPANS else (text, "d")
    if not number.isascii() or not number.isdigit() or len(number) > 6:
        raise click.BadParameter(f"{value!r} is no time such as 90d, 12w, 6m or 1y", param=parameter)
    return int(number) * _SPANS[unit]


@click.group(name="projects")
def command() -> None:
    """Claude Code's project history: find, tidy up, move.

    Commands that change something only print their plan until --yes is given, and move what they
    take away into a trash folder. Sessions in use are never touched.
    """


@command.command(name="list", short_help="Projects that have history")
@target_option
@json_option
def list_(target: str | None, as_json: bool) -> None:
    """List the projects that have history, the one used last first."""
    found = history.read(_root(_config(target)))
    if as_json:
        _print_json([_project_row(one) for one in found])
        return
    if not found:
        click.echo("There is no history.")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("used", "sessions", "size", "folder", box=None, pad_edge=False)
    for one in found:
        folder = one.folder or f"({one.slug})"
        gone = " (missing)" if one.folder and not os.path.isdir(one.folder) else ""
        table.add_row(
            _day(one.modified), str(len(one.sessions)), size_text(one.size), Text(printable(folder) + gone)
        )
    Console(soft_wrap=True).print(table)


@command.command(name="search", short_help="Find what you and Claude wrote")
@click.argument("text")
@project_option
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Messages at most.")
@target_option
@json_option
def search(text: str, project: str, limit: int, target: str | None, as_json: bool) -> int:
    """Find TEXT in what you and Claude wrote, the newest session first. Exits with 1 without a hit."""
    if not text.strip():
        raise UserError("the text to look for is blank", "ways projects search TEXT", USAGE)
    sessions = _sessions(_chosen(_root(_config(target)), project))
    found: list[facts.Hit] = []
    with _progress(sessions, "Searching") as advance:
        for session in sessions:
            try:
                for hit in facts.search(session.path, session.id, session.slug, text, advance):
                    found.append(hit)
                    if len(found) >= limit:
                        break
            except OSError as error:
                click.echo(f"ways: {printable(session.path)}: {error.strerror or error}", err=True)
            if len(found) >= limit:
                break
    if as_json:
        _print_json([asdict(hit) for hit in found])
    else:
        for hit in found:
            when = hit.at[:16].replace("T", " ")
            click.echo(printable(f"{when}  {hit.session}  {hit.role}: {hit.text}"))
        if not found:
            click.echo("Nothing was found.")
    return DONE if found else WRONG


@command.command(name="show", short_help="One session, or those of a project")
@click.argument("name", metavar="SESSION|PROJECT")
@target_option
@json_option
def show(name: str, target: str | None, as_json: bool) -> None:
    """Show one session (its id, or the beginning of one), or the sessions of a project."""
    projects = history.read(_root(_config(target)))
    matching = [one for one in _sessions(projects) if one.id.startswith(name)] if len(name) >= 4 else []
    if len(matching) > 1 and not any(one.id == name for one in matching):
        raise UserError(f"{len(matching)} sessions begin with {name}", "ways projects show ID", USAGE)
    if matching:
        session = next((one for one in matching if one.id == name), matching[0])
        _show_session(session, as_json)
        return
    chosen = history.chosen(projects, name)
    if not chosen:
        raise UserError(f"there is no session or project {printable(name)!r}", "ways projects list", USAGE)
    rows = []
    for session in _sessions(chosen):
        head = next((row for row in history.head(session.path) if _is_prompt(row)), None)
        prompt = snippet(facts.text_of(head), 80) if head is not None else ""
        rows.append({**_session_row(session), "first_prompt": prompt})
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        when = str(row["modified"])[:16].replace("T", " ")
        click.echo(printable(f"{when}  {row['id']}  {row['size_text']:>8}  {row['first_prompt']}"))


@command.command(name="stats", short_help="Sessions, turns and tokens of each project")
@project_option
@target_option
@json_option
def stats(project: str, target: str | None, as_json: bool) -> None:
    """Sessions, turns, tokens and size of each project. Reads every transcript."""
    chosen = _chosen(_root(_config(target)), project)
    rows = []
    with _progress(_sessions(chosen), "Reading") as advance:
        for one in chosen:
            rows.append(_stats_row(one, advance))
    if as_json:
        _print_json(rows)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("sessions", "turns", "answers", "tokens out", "size", "folder", box=None, pad_edge=False)
    for row in rows:
        cells = [str(row[name]) for name in ("sessions", "human_turns", "answers")]
        out = f"{row['tokens'].get('output_tokens', 0):,}"
        table.add_row(*cells, out, size_text(row["size"]), Text(printable(row["folder"] or row["slug"])))
    Console(soft_wrap=True).print(table)


@command.command(name="cleanup", short_help="Move old or empty sessions into the trash")
@click.option(
    "--older-than",
    callback=seconds_of,
    default="90d",
    show_default=True,
    metavar="TIME",
    help="Not changed for so long: 90d, 12w, 6m, 1y.",
)
@click.option("--empty", "only_empty", is_flag=True, help="Only sessions in which nobody said anything.")
@click.option("--orphans", is_flag=True, help="Also folders whose session is gone.")
@click.option("--empty-trash", is_flag=True, help="Delete what is in the trash for good instead.")
@project_option
@target_option
@yes_option
@json_option
def cleanup(
    older_than: float,
    only_empty: bool,
    orphans: bool,
    empty_trash: bool,
    project: str,
    target: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Move old or empty sessions into the trash. Prints the plan; --yes carries it out.

    Claude Code itself deletes old sessions after cleanupPeriodDays; this moves them, and only those you name.
    """
    where = roots.resolve()
    if empty_trash:
        return _empty_trash(where, older_than, yes, as_json)
    config = _config(target)
    root = _root(config)
    chosen = _chosen(root, project)
    wanted = plans.Wanted(older_than, only_empty, orphans)
    folder = os.path.join(moves.trash_folder(where.state), "NEW")
    plan = plans.cleanup(chosen, wanted, live.running(config), where.sessions, folder)
    if not yes or not plan.moves:
        return _print_plan(plan, "Into the trash", as_json, applied="")
    made = moves.new_batch(where.state, moves.CLEANUP, root)
    moved = [
        moves.Move(one.source, made + one.target[len(folder) :], one.size, one.modified_ns)
        for one in plan.moves
    ]
    batch = moves.apply(where.state, moves.CLEANUP, root, made, moved)
    plans.remove_empty_folders(root, [one.slug for one in chosen])
    return _print_plan(plan, "Moved into the trash", as_json, applied=batch.id)


@command.command(name="hygiene", short_help="What is not as it should be")
@project_option
@click.option("--check", is_flag=True, help="Exit with 1 when something is found.")
@target_option
@json_option
def hygiene_(project: str, check: bool, target: str | None, as_json: bool) -> int:
    """Say what is not as it should be: torn, empty, orphaned, huge, readable by others. Changes nothing."""
    chosen = _chosen(_root(_config(target)), project)
    with _progress(_sessions(chosen), "Reading") as advance:
        found = list(hygiene.look(chosen, advance))
    if as_json:
        _print_json([asdict(one) for one in found])
    else:
        for one in found:
            click.echo(printable(f"{one.kind:<14} {one.path}: {one.message}"))
        for command_ in sorted({one.next for one in found if one.next.startswith("ways ")}):
            click.echo(f"Next: {command_}")
        if not found:
            click.echo("Everything is in order.")
    return WRONG if found and check else DONE


@command.command(name="relocate", short_help="Follow a project folder that was moved")
@click.argument("old", type=click.Path())
@click.argument("new", type=click.Path())
@target_option
@yes_option
@json_option
def relocate(old: str, new: str, target: str | None, yes: bool, as_json: bool) -> int:
    """Let the history follow a project folder that was moved from OLD to NEW.

    The sessions are moved to where Claude Code looks for them now; what is written in them stays. Prints the
    plan; --yes carries it out, and `ways projects restore` undoes it.
    """
    where = roots.resolve()
    before, after = (os.path.abspath(os.path.expanduser(path)) for path in (old, new))
    if slug_of(before) == slug_of(after):
        click.echo("Claude Code keeps both under the same name, so there is nothing to do.")
        return DONE
    if not os.path.isdir(after):
        raise UserError(f"{printable(after)} is not a folder", "move the project first", USAGE)
    if os.path.isdir(before):
        raise UserError(
            f"{printable(before)} is still there, so its history stays with it",
            "move the project first",
            REFUSED,
        )
    config = _config(target)
    root = _root(config)
    projects = history.read(root)
    plan = plans.relocate(projects, root, before, after, live.running(config), where.sessions)
    if not yes or not plan.moves:
        return _print_plan(plan, f"To the history of {after}", as_json, applied="")
    made = moves.new_batch(where.state, moves.RELOCATE, root)
    batch = moves.apply(where.state, moves.RELOCATE, root, made, list(plan.moves))
    plans.remove_empty_folders(root, {os.path.basename(os.path.dirname(one.source)) for one in plan.moves})
    return _print_plan(plan, f"Moved to the history of {after}", as_json, applied=batch.id)


@command.command(name="restore", short_help="Bring back what was moved")
@click.argument("batch", required=False)
@json_option
def restore(batch: str | None, as_json: bool) -> None:
    """Bring back what BATCH moved, or list the batches."""
    where = roots.resolve()
    if batch is not None:
        moved = moves.restore(where.state, batch)
        if as_json:
            _print_json([asdict(one) for one in moved])
        else:
            click.echo(f"Restored {len(moved)} of {batch}.")
        return
    found = moves.batches(where.state)
    if as_json:
        _print_json([{**asdict(one), "size": one.size} for one in found])
        return
    for one in found:
        click.echo(f"{one.id}  {one.kind}  {len(one.moves)} moves  {size_text(one.size)}")
    if not found:
        click.echo("The trash is empty.")


def _empty_trash(where: Roots, older_than: float, yes: bool, as_json: bool) -> int:
    """Delete the batches older than so many seconds for good."""
    found = [
        one
        for one in moves.batches(where.state)
        if one.kind == moves.CLEANUP and clock.now() - _seconds(one.made) >= older_than
    ]
    for one in found if yes else ():
        moves.empty(where.state, one)
    if as_json:
        _print_json({"applied": yes, "batches": [one.id for one in found]})
        return DONE
    for one in found:
        click.echo(f"{'Deleted' if yes else 'Would delete'} {one.id}  {size_text(one.size)}")
    if not found:
        click.echo("Nothing in the trash is that old.")
    elif not yes:
        click.echo("This cannot be undone. Next: the same command with --yes")
    return DONE


def _seconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return clock.now()  # a date that cannot be read is not old


def _print_plan(plan: plans.Plan, title: str, as_json: bool, applied: str) -> int:
    refused = bool(plan.kept) and not plan.moves
    if as_json:
        _print_json(
            {
                "applied": bool(applied),
                "batch": applied,
                "sessions": plan.sessions,
                "size": plan.size,
                "moves": [asdict(one) for one in plan.moves],
                "kept": [{"path": path, "why": why} for path, why in plan.kept],
            }
        )
        return REFUSED if refused else DONE
    for path, why in plan.kept:
        click.echo(printable(f"Left alone: {path} {why}"), err=True)
    if not plan.moves:
        click.echo("Nothing to do.")
        return REFUSED if refused else DONE
    if not applied:
        for move in plan.moves:
            click.echo(printable(f"  {move.source}  {size_text(move.size)}"))
    count = f"{plan.sessions} session{'' if plan.sessions == 1 else 's'}, {size_text(plan.size)}"
    click.echo(printable(f"{title}: {count}."))
    click.echo(f"Undo: ways projects restore {applied}" if applied else "Next: the same command with --yes")
    return DONE


def _config(target: str | None) -> str:
    return os.path.abspath(os.path.expanduser(target)) if target else roots.resolve().projection


def _root(config: str) -> str:
    return history.projects_folder(config)


def _chosen(root: str, named: str) -> list[Project]:
    found = history.chosen(history.read(root), named)
    if named and not found:
        raise UserError(f"{printable(named)} has no history", "ways projects list", USAGE)
    return found


def _sessions(projects: list[Project]) -> list[Session]:
    """All sessions, the newest first."""
    found = [session for project in projects for session in project.sessions]
    return sorted(found, key=lambda one: (-one.modified, one.id))


def _is_prompt(row: dict[str, Any]) -> bool:
    return row.get("type") == facts.USER and facts.is_human(row)


def _project_row(one: Project) -> dict[str, object]:
    return {
        "slug": one.slug,
        "folder": one.folder,
        "exists": bool(one.folder) and os.path.isdir(one.folder),
        "sessions": len(one.sessions),
        "size": one.size,
        "modified": clock.utc_iso(one.modified) if one.sessions else "",
    }


def _session_row(one: Session) -> dict[str, object]:
    return {
        "id": one.id,
        "slug": one.slug,
        "path": one.path,
        "folder": one.cwd,
        "size": one.size,
        "size_text": size_text(one.size),
        "modified": clock.utc_iso(one.modified),
    }


def _show_session(session: Session, as_json: bool) -> None:
    try:
        found = facts.of(session.path)
    except OSError as error:
        raise UserError(f"{session.path}: {error.strerror or error}", "", WRONG) from error
    if as_json:
        _print_json({**_session_row(session), **asdict(found)})
        return
    tokens = ", ".join(f"{name.removesuffix('_tokens')} {count:,}" for name, count in found.tokens.items())
    models = ", ".join(f"{name} ({count})" for name, count in found.models.items())
    rows = (
        ("Session", session.id),
        ("Title", found.title),
        ("Folder", session.cwd),
        ("From", f"{found.first} to {found.last}"),
        ("Said", f"{found.human_turns} turns of yours, {found.answers} answers"),
        ("Models", models),
        ("Tokens", tokens),
        ("Size", size_text(session.size)),
        ("First", found.first_prompt),
        ("File", session.path),
    )
    for name, value in rows:
        if value:
            click.echo(printable(f"{name:<8} {value}"))
    if session.cwd:
        click.echo(printable(f"Resume   cd {session.cwd} && claude --resume {session.id}"))


def _stats_row(one: Project, advance: Callable[[int], None]) -> dict[str, Any]:
    row: dict[str, Any] = {**_project_row(one), "human_turns": 0, "answers": 0, "tokens": {}, "models": {}}
    for session in one.sessions:
        try:
            found = facts.of(session.path, advance)
        except OSError as error:
            click.echo(f"ways: {printable(session.path)}: {error.strerror or error}", err=True)
            continue
        row["human_turns"] += found.human_turns
        row["answers"] += found.answers
        for name in ("tokens", "models"):
            for key, count in getattr(found, name).items():
                row[name][key] = row[name].get(key, 0) + count
    return row


@contextmanager
def _progress(sessions: list[Session], title: str) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes to be read, on a terminal and for more than 50 MiB."""
    total = sum(session.size for session in sessions)
    if total < 50 << 20 or not sys.stderr.isatty():
        yield lambda _bytes: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2))


def size_text(count: int) -> str:
    """Bytes for people: 512 B, 3.4 KiB, 12 MiB."""
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d") if seconds else "-"
