"""`ways issues`: the open GitHub issues of a project, mirrored for its sessions."""

from __future__ import annotations

import sys

import click

from ways.agent import keys
from ways.agent.keys import KeyProblem
from ways.core import clock, roots
from ways.core.errors import UNVERIFIED, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.locking import LockTimeout
from ways.core.roots import Roots
from ways.core.text import printable
from ways.issues import linking, mirror, repository
from ways.issues.mirror import Mirror
from ways.issues.pull import KEY_NAME, pull
from ways.settings.load import Settings, load

_PROJECT = click.option(
    "--project", type=click.Path(), default=".", help="The project (default: this folder)."
)


@click.group(name="issues")
def command() -> None:
    """The open GitHub issues of a project, mirrored for its sessions.

    They are fetched with gh when it is installed and logged in, else with a token that you store with
    `ways issues link --token`.
    """


@command.command(name="pull")
@_PROJECT
@click.option("--background", is_flag=True, hidden=True)
@click.option("--changed", is_flag=True, hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def pull_(project: str, background: bool, changed: bool, as_json: bool) -> None:
    """Fetch the open issues now."""
    where = roots.resolve()
    settings = load(where, linking.project_of(project))
    name = _repository(where, project, settings)
    if background:
        after = mirror.CHANGED_SECONDS if changed else mirror.REFRESH_SECONDS
        try:
            pull(where, name, settings.issues_api_url, after)
        except (LockTimeout, OSError):
            return  # another process is at it, or the mirror cannot be kept: the next hook tries again
        return
    try:
        found = pull(where, name, settings.issues_api_url, 0.0, wait=60.0)
    except (LockTimeout, OSError) as error:
        raise UserError(
            f"the mirror cannot be written: {error}", "ways issues status", WRITE_FAILED
        ) from error
    _print(found, as_json)
    if found.problem:
        raise UserError(found.problem, _next(found), UNVERIFIED)


@command.command(name="link")
@click.argument("name", metavar="OWNER/NAME", default="")
@_PROJECT
@click.option("--off", is_flag=True, help="Mirror nothing for this project.")
@click.option("--auto", is_flag=True, help="Go by the project's git remote again.")
@click.option("--token", is_flag=True, help="Store a GitHub token, read from standard input.")
def link(name: str, project: str, off: bool, auto: bool, token: bool) -> None:
    """Say which repository a project belongs to, where its git remote does not.

    The token needs read access to issues. It is kept in a file that only you can read.
    """
    where = roots.resolve()
    if sum((bool(name), off, auto, token)) != 1:
        raise UserError(
            "name a repository, or one of --off, --auto, --token", "ways issues link --help", USAGE
        )
    if token:
        _store_token(where)
        return
    if name and not repository.is_repository(name):
        raise UserError(f"{printable(name)!r} is not OWNER/NAME", "ways issues link OWNER/NAME", USAGE)
    place = linking.project_of(project)
    linking.save(where, place, repository.OFF if off else name)
    settings = load(where, place)
    now = repository.of(place, where, settings.issues_api_url)
    click.echo(f"{printable(place)}: {now or 'no issues are mirrored'}")


def _store_token(where: Roots) -> None:
    if sys.stdin.isatty():
        text = click.prompt("GitHub token", hide_input=True, err=True)
    else:
        text = sys.stdin.readline(keys.MAX_KEY + 2)
    try:
        value = keys.parse(text)
    except KeyProblem as error:
        raise UserError(f"this is not a token: {error}", "ways issues link --token", USAGE) from error
    keys.store(where, KEY_NAME, value)
    click.echo(f"Stored: {keys.masked(value)}")


@command.command(name="status")
@_PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(project: str, as_json: bool) -> None:
    """The mirror of this project: repository, source, age, open issues."""
    where = roots.resolve()
    settings = load(where, linking.project_of(project))
    found = mirror.load(where, _repository(where, project, settings))
    _print(found, as_json)
    if found.problem and not as_json:
        click.echo(f"Last attempt failed: {printable(found.problem)}")
    if not settings.issues_mirror and not as_json:
        click.echo("Sessions are not told of them: issues.mirror is false.")


def _repository(where: Roots, project: str, settings: Settings) -> str:
    name = repository.of(linking.project_of(project), where, settings.issues_api_url)
    if not name:
        raise UserError("this project has no GitHub repository", "ways issues link OWNER/NAME", WRONG)
    return name


def _print(found: Mirror, as_json: bool) -> None:
    if as_json:
        from ways.cli.report import echo_json

        rows = [
            {**issue.__dict__, "labels": list(issue.labels), "assignees": list(issue.assignees)}
            for issue in found.issues
        ]
        fields = ("repository", "fetched", "attempted", "retry_at", "problem", "source", "complete")
        echo_json({**{name: getattr(found, name) for name in fields}, "issues": rows})
        return
    if not found.fetched:
        click.echo(f"{found.repository}: not fetched yet.")
        return
    minutes = int(max(0.0, clock.now() - found.fetched) // 60)
    more = "" if found.complete else " (there are more)"
    click.echo(
        f"{found.repository}: {len(found.issues)} open issues{more}, {minutes} min old, from {found.source}."
    )
    from ways.cli.report import row, show, table

    made = table(">#", "title", "labels", "assignees")
    for issue in found.issues:
        row(made, issue.number, issue.title, ", ".join(issue.labels), ", ".join(issue.assignees))
    if found.issues:
        show(made)


def _next(found: Mirror) -> str:
    if "token" in found.problem or "gh" in found.problem.split():
        return "gh auth login, or ways issues link --token"
    return "ways issues status"
