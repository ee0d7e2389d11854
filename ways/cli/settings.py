"""`ways settings`: list, read and change settings over the one registry (spec: settings)."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from ways.cli.place import here
from ways.core import roots as roots_module
from ways.core.errors import DONE, OVERRIDDEN, USAGE, WRONG, UserError
from ways.core.text import printable
from ways.settings import effective, registry, values
from ways.settings.load import project_file, user_file
from ways.settings.registry import AGENT_FILE, PROJECT, TARGET, USER, Setting

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ways.core.roots import Roots


def _keys(_ctx: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(setting.key, help=setting.help)
        for setting in registry.SETTINGS
        if setting.key.startswith(begun)
    ]


def where(function: click.decorators.FC) -> click.decorators.FC:
    """The options that name a layer."""
    target = click.option("--target", type=click.Path(), default=None, help="A target's own settings.")
    project = click.option("--project", type=click.Path(), default=None, help="A project's ways.yaml.")
    return target(project(function))


@click.group(name="settings")
def command() -> None:
    """List, read and change settings.

    A project's .claude/ways.yaml goes over a target's settings, and those over your config.yaml.
    """


@command.command(name="list", short_help="Every setting with its value and its source")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--changed", is_flag=True, help="Only what a file sets.")
@where
def list_(as_json: bool, changed: bool, target: str | None, project: str | None) -> None:
    """List every setting with its value and where it comes from."""
    rows = [
        row
        for row in effective.values(_files(target, project)).values()
        if not changed or row.source != effective.DEFAULT
    ]
    if as_json:
        click.echo(json.dumps([row.__dict__ for row in rows], indent=2))
        return
    width = max((len(row.key) for row in rows), default=0)
    for row in rows:
        source = "" if row.source == effective.DEFAULT else f"  ({row.source})"
        click.echo(f"{printable(row.key):<{width}}  {printable(_shown(row.value))}{source}")


@command.command(name="get", short_help="The value of one setting")
@click.argument("key", shell_complete=_keys)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@where
def get(key: str, as_json: bool, target: str | None, project: str | None) -> None:
    """Print the value of KEY that holds here."""
    setting = _setting(key)
    row = effective.values(_files(target, project)).get(key)
    row = row or effective.Value(key, setting.default, effective.DEFAULT)
    click.echo(json.dumps(row.__dict__) if as_json else printable(_shown(row.value)))


@command.command(name="set", short_help="Set one setting")
@click.argument("key", shell_complete=_keys)
@click.argument("value")
@where
def set_(key: str, value: str, target: str | None, project: str | None) -> None:
    """Set KEY to VALUE in your config.yaml, or with --target or --project in that file.

    Lists are comma-separated. Exits with 4 when the value is written but another file overrides it.
    """
    from ways.settings.writer import set_values

    roots = roots_module.resolve()
    setting = _setting(key)
    try:
        wanted = values.from_text(setting, value)
    except values.WrongValue as error:
        raise UserError(f"{key} {error}", f"ways settings help {key}", USAGE) from error
    scope, path = _file(roots, setting, target, project)
    set_values(path, {key: wanted}, state_root=roots.state, scope=scope)
    holds = effective.values(_files(target, project)).get(key)
    if holds is not None and holds.value != wanted:
        message = f"{key} is written to {path}, but {holds.path} sets it to {_shown(holds.value)}"
        raise UserError(message, f"ways settings list --changed | grep {key}", OVERRIDDEN)


@command.command(name="unset", short_help="Remove one setting from a file")
@click.argument("key", shell_complete=_keys)
@where
def unset(key: str, target: str | None, project: str | None) -> None:
    """Remove KEY from your config.yaml, or with --target or --project from that file."""
    from ways.settings.writer import unset as remove

    roots = roots_module.resolve()
    scope, path = _file(roots, _setting(key), target, project)
    remove(path, [key], state_root=roots.state, scope=scope)


@command.command(name="help", short_help="Explain a setting")
@click.argument("key", required=False, shell_complete=_keys)
def help_(key: str | None) -> None:
    """Explain KEY, or list every setting with one line."""
    if key is None:
        width = max(len(setting.key) for setting in registry.SETTINGS)
        for setting in registry.SETTINGS:
            click.echo(f"{setting.key:<{width}}  {setting.help}")
        return
    setting = _setting(key)
    click.echo(f"{setting.key}: {setting.help}")
    if setting.details:
        click.echo(setting.details)
    click.echo(f"Type:    {setting.type_text}")
    click.echo(f"Default: {_shown(setting.default)}")
    click.echo(f"File:    {setting.file}, as {'.'.join(setting.place)}")
    click.echo(f"Set for: {', '.join(setting.scopes)}")


@command.command(name="lint", short_help="Faults in the settings files")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@where
def lint(as_json: bool, target: str | None, project: str | None) -> None:
    """Check the settings files that hold here; exits with 1 when something is wrong."""
    found = effective.diagnostics(_files(target, project))
    if as_json:
        click.echo(json.dumps([item.__dict__ for item in found], indent=2))
    for item in [] if as_json else found:
        names = effective.near(item.key) if item.message == "is not a setting" else []
        hint = f" (near it: {', '.join(names)})" if names else ""
        click.echo(printable(f"{item}{hint}"))
    if found:
        raise click.exceptions.Exit(WRONG)


@command.command(name="fix", short_help="Repair what is certain")
@click.option("--dry-run", is_flag=True, help="Say what would be repaired and change nothing.")
@where
def fix(dry_run: bool, target: str | None, project: str | None) -> int:
    """Repair what lint finds where the repair is certain: misspelt keys, numbers in quotes.

    Only what is repaired changes; comments and order stay. Exits with 1 when something is left.
    """
    from ways.cli import settings_fix

    return settings_fix.run(_files(target, project), dry_run)


@command.command(name="emit", short_help="Everything that holds here, as YAML")
@click.option("--changed", is_flag=True, help="Only what a file sets.")
@where
def emit(changed: bool, target: str | None, project: str | None) -> None:
    """Print the settings that hold here as YAML, for `ways settings apply`.

    Only what your own file may hold; with --target or --project, what such a file may. The list of
    targets belongs to this machine and is left out.
    """
    from ways.settings import document

    held = effective.values(_files(target, project))
    wanted = {key: row.value for key, row in held.items() if not changed or row.source != effective.DEFAULT}
    click.echo(document.emitted(wanted, _scope(target, project)), nl=False)


@command.command(name="apply", short_help="Set many at once, from YAML")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--dry-run", is_flag=True, help="Print the plan and change nothing.")
@where
def apply(file: str, dry_run: bool, target: str | None, project: str | None) -> int:
    """Set everything in FILE, a YAML document such as `ways settings emit` prints (- for stdin).

    Every fault in it is named before anything is written. Exits with 4 when a value is written but
    another file overrides it.
    """
    from ways.cli import settings_apply

    roots = roots_module.resolve()
    scope = _scope(target, project)
    found = settings_apply.read(file, scope)
    planned = []
    for key, then in found.items():
        _scope_name, path = _file(roots, _setting(key), target, project)
        own = effective.values(_own(_files(target, project), path)).get(key)
        now = own.value if own is not None and own.source != effective.DEFAULT else None
        if settings_apply.differs(now, then):
            planned.append(settings_apply.Change(key, scope, path, now, then))
    for one in planned:
        before = "not set" if one.now is None else _shown(one.now)
        click.echo(printable(f"{one.key}: {before} -> {_shown(one.then)}  ({one.path})"))
    if not planned:
        click.echo("Everything is set so already.")
    if dry_run or not planned:
        return DONE
    settings_apply.apply(planned, roots.state)
    return settings_apply.overridden(planned, effective.values(_files(target, project)))


def _scope(target: str | None, project: str | None) -> str:
    """The scope of the file that the options name."""
    if target is not None and project is not None:
        raise UserError("--target and --project name two files", "ways settings set --help", USAGE)
    return TARGET if target is not None else PROJECT if project is not None else USER


def _own(found: tuple[effective.SettingsFile, ...], path: str) -> tuple[effective.SettingsFile, ...]:
    return tuple(file for file in found if file.path == path)


def _files(target: str | None, project: str | None) -> tuple[effective.SettingsFile, ...]:
    """The files that hold in this place; the options name another target or project."""
    roots = roots_module.resolve()
    folder = _project(project) if project is not None else here(roots).project
    return effective.settings_files(roots, folder, _folder(target) if target else roots.projection)


def _setting(key: str) -> Setting:
    for setting in registry.SETTINGS:
        if setting.key == key:
            return setting
    try:
        return registry.find(key)[0]
    except registry.NotASetting as error:
        names = effective.near(key)
        hint = f"; near it: {', '.join(names)}" if names else ""
        raise UserError(f"{printable(key)} is not a setting{hint}", "ways settings help", USAGE) from error


def _file(roots: Roots, setting: Setting, target: str | None, project: str | None) -> tuple[str, str]:
    """The scope and the path of the file that a change goes to."""
    _scope(target, project)
    if target is not None:
        return TARGET, effective.target_settings(roots, _folder(target))
    if project is not None or setting.scopes == (PROJECT,):
        folder = _project(project) if project is not None else here(roots).project or _current()
        return PROJECT, project_file(folder)
    return USER, effective.agent_file(roots) if setting.file == AGENT_FILE else user_file(roots)


def _folder(named: str) -> str:
    """The folder of a target that was named by its path or its key. Raises UserError for a slip of the pen,
    which would otherwise make settings that nobody ever reads."""
    folder = os.path.abspath(os.path.expanduser(named))
    if os.path.isdir(folder):
        return folder
    from projection.system import RealSystem
    from projection.target_store import load_targets

    for target in load_targets(RealSystem(), roots_module.resolve()):
        if named == target.key or os.path.realpath(folder) == target.folder:
            return target.path
    raise UserError(f"{named} is no folder and no target's key", "ways target list", USAGE)


def _project(named: str) -> str:
    """The folder of a project that was named. Raises UserError when there is none."""
    folder = os.path.abspath(os.path.expanduser(named))
    if not os.path.isdir(folder):
        raise UserError(f"{folder} is not a folder", "name the project's folder", USAGE)
    return folder


def _current() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UserError("the current folder has been deleted", "cd PROJECT", USAGE) from error


def _shown(value: object) -> str:
    if isinstance(value, tuple) and any(isinstance(item, dict) for item in value):
        return ", ".join(str(item.get("path")) for item in value if isinstance(item, dict))
    return values.to_text(value)
