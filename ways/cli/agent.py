"""`ways agent`: the relevance judge's key, models, cost, and its resident process."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ways.core import clock
from ways.core.errors import DONE, UNVERIFIED, USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.agent.keycheck import Record
    from ways.agent.spending import Report, Row

as_json_option = click.option("--json", "as_json", is_flag=True, help="As JSON.")
provider_argument = click.argument("provider", required=False, default="")


@click.group("agent")
def command() -> None:
    """The relevance judge: keys, models, cost.

    With a key, ways that merely share words with a prompt are held back. Without one, or when the judge
    cannot be asked, nothing changes.
    """


@command.command("status")
@as_json_option
def status(as_json: bool) -> None:
    """Mode, engine, key and the running agent."""
    from ways.agent import control

    data = control.overview(resolve())
    click.echo(json.dumps(data, indent=2) if as_json else _status_text(data))


@command.group("key")
def key() -> None:
    """Keys of the providers: add, check, rotate, remove, status.

    A key is read without echo, from standard input or from a file; never from the command line, where
    other users could see it.
    """


def _source_options(function: Any) -> Any:
    function = click.option("--file", "path", type=click.Path(), help="Read the key from a file.")(function)
    return click.option("--stdin", "stdin", is_flag=True, help="Read the key from standard input.")(function)


@key.command("add")
@provider_argument
@_source_options
@as_json_option
def key_add(provider: str, stdin: bool, path: str | None, as_json: bool) -> None:
    """Store a key for PROVIDER (default: the active engine's) after a free check."""
    _store(provider, stdin, path, as_json, replace=False)


@key.command("rotate")
@provider_argument
@_source_options
@as_json_option
def key_rotate(provider: str, stdin: bool, path: str | None, as_json: bool) -> None:
    """Replace PROVIDER's key; the old one stays until the new one has been checked."""
    _store(provider, stdin, path, as_json, replace=True)


@key.command("check")
@provider_argument
@as_json_option
def key_check(provider: str, as_json: bool) -> int:
    """Ask PROVIDER, for free, whether its key may use the engine's model. Exit code 6 when it may not."""
    from ways.agent import key_commands

    roots = resolve()
    profile = key_commands.profile_for(key_commands.load_settings(roots), provider)
    record = key_commands.check(roots, profile)
    _echo_record(profile.provider, record, as_json)
    return DONE if record.usable() else UNVERIFIED


@key.command("remove")
@provider_argument
def key_remove(provider: str) -> None:
    """Remove PROVIDER's key from this machine (it stays valid at the provider)."""
    from ways.agent import key_commands

    roots = resolve()
    name = provider or key_commands.load_settings(roots).profile.provider
    key_commands.remove(roots, key_commands.profile_for(key_commands.load_settings(roots), name).provider)


@key.command("status")
@as_json_option
def key_status(as_json: bool) -> None:
    """Every stored key: last four characters and the last check."""
    from ways.agent import key_commands

    roots = resolve()
    rows = key_commands.status(roots, key_commands.load_settings(roots))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    if not rows:
        click.echo("No key is stored. Nothing is sent and no way is judged.  Next: ways agent key add")
    for row in rows:
        checked = f", checked {clock.utc_iso(row.checked_at)}" if row.checked_at else ""
        state = row.problem or f"{row.state}{checked}"
        click.echo(printable(f"{row.provider}  {row.masked}  {state}"))


@command.command("models")
@provider_argument
@as_json_option
def models(provider: str, as_json: bool) -> None:
    """The models that PROVIDER offers."""
    from ways.agent import key_commands

    roots = resolve()
    profile = key_commands.profile_for(key_commands.load_settings(roots), provider)
    found = key_commands.models(roots, profile)
    if as_json:
        click.echo(json.dumps([asdict(model) for model in found], indent=2))
        return
    rows = []
    for model in found:
        prices = (model.price_input, model.price_output)
        cells = ["" if price is None else f"{price:g}" for price in prices]
        mark = "in use" if model.id == profile.model else ""
        rows.append([model.id, model.name, *cells, mark])
    _table(("model", "name", "USD/M in", "USD/M out", ""), rows)


@command.command("cost")
@click.option(
    "--by", type=click.Choice(["day", "month", "session", "project"]), default="day", help="Groups."
)
@click.option("--since", default="", help="7d, 12h, 2w, or a date (UTC).")
@click.option("--project", default="", help="Only this project.")
@as_json_option
def cost(by: str, since: str, project: str, as_json: bool) -> None:
    """What the judge has cost. Days are UTC; calls whose cost nobody knows are counted apart."""
    from ways.agent import spending

    found = spending.report(resolve().events, by, since, project)
    if as_json:
        click.echo(json.dumps(found.as_data(), indent=2))
    else:
        _echo_cost(found)


@command.command("load")
@as_json_option
def load(as_json: bool) -> None:
    """Start the agent now instead of with the next prompt."""
    from ways.agent import control

    pid = control.load(resolve())
    if as_json:
        click.echo(json.dumps({"pid": pid}))


@command.command("unload")
@as_json_option
def unload(as_json: bool) -> None:
    """Let the running agent finish and leave; the next prompt starts one again."""
    from ways.agent import control

    stopped = control.unload(resolve())
    if as_json:
        click.echo(json.dumps({"stopped": stopped}))
    elif not stopped:
        click.echo("No agent is running.")


@command.command("serve", hidden=True)
@click.option("--idle-seconds", type=float, default=None)
def serve(idle_seconds: float | None) -> int:
    """Be the agent. Hooks start it; there is no need to do so by hand."""
    from ways.agent import serve as agent

    return agent.run(agent.IDLE_SECONDS if idle_seconds is None else idle_seconds)


def _store(provider: str, stdin: bool, path: str | None, as_json: bool, *, replace: bool) -> None:
    from ways.agent import key_commands

    roots = resolve()
    profile = key_commands.profile_for(key_commands.load_settings(roots), provider)
    text = read_key(profile.provider, stdin, path)
    record = key_commands.add(roots, profile, text, replace=replace)
    _echo_record(profile.provider, record, as_json)


def read_key(provider: str, stdin: bool, path: str | None) -> str:
    """A key from standard input, a file, or a prompt that shows nothing. Raises UserError."""
    if stdin and path:
        raise UserError("--stdin and --file exclude each other", "", USAGE)
    if stdin:
        return sys.stdin.read(1 << 14)
    if path:
        from ways.core import files

        try:
            return files.read_bytes(path, 1 << 14).decode("utf-8", "replace")
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror or error}", "", USAGE) from error
    if not sys.stdin.isatty():
        raise UserError("there is no terminal to ask for the key on", "add --stdin or --file PATH", USAGE)
    return str(click.prompt(f"Key for {provider} (not shown)", hide_input=True, err=True))


def _echo_record(provider: str, record: Record, as_json: bool) -> None:
    if as_json:
        data = {"provider": provider, "state": record.state, "detail": record.detail, "model": record.model}
        click.echo(json.dumps(data))
        return
    line = f"{provider}: {record.state} for {record.model}"
    click.echo(printable(f"{line} ({record.detail})" if record.detail else line))
    if not record.usable():
        click.echo("The key is not used before a check finds it valid.", err=True)


def _echo_cost(found: Report) -> None:
    if not found.rows:
        click.echo("No call of the judge is on record.")
        return
    rows = [_cost_cells(row) for row in found.rows]
    if len(rows) > 1:
        rows.append(_cost_cells(found.total))
    header = (found.by, "calls", "failed", "tokens in", "tokens out", "USD", "cost unknown")
    _table(header, rows)


def _cost_cells(row: Row) -> list[str]:
    numbers = (row.calls, row.failed, row.input_tokens, row.output_tokens)
    return [row.group, *map(str, numbers), f"{row.cost_usd:.4f}", str(row.unknown_cost or "")]


def _status_text(data: dict[str, Any]) -> str:
    key_data = data["key"]
    if key_data is None:
        key_line = "none: nothing is sent and no way is judged.  Next: ways agent key add"
    else:
        key_line = f"{key_data['masked']}  {key_data['problem'] or key_data['state']}"
    lines = [
        ("mode", data["mode"]),
        ("engine", f"{data['engine']} ({data['base_url']})"),
        ("model", f"{data['model']}, passes from {data['threshold']:g}, turns sent: {data['turns']}"),
        ("key", key_line),
        *_agent_lines(data["agent"]),
        ("last 24 hours", _counts({**data["last_day"]["verdicts"]}) or "no verdict"),
        ("fallbacks", _counts(data["last_day"]["fallbacks"]) or "none"),
    ]
    return "\n".join(printable(f"{name:<14} {value}") for name, value in lines)


def _agent_lines(agent: dict[str, Any] | None) -> list[tuple[str, str]]:
    if agent is None:
        return [("agent", "not running; the next judged prompt starts it")]
    latency = ", ".join(f"{name} {value} ms" for name, value in agent.get("latency_ms", {}).items())
    queue = f"{agent.get('in_flight', 0)} in flight, {agent.get('queue', 0)} waiting"
    requests = f"{agent.get('requests', 0)}, verdicts {agent.get('verdicts', 0)}"
    return [
        ("agent", f"pid {agent.get('pid')}, version {agent.get('program')}, since {agent.get('started_at')}"),
        ("requests", f"{requests}, {queue}"),
        ("latency", latency or "no call yet"),
        ("its fallbacks", _counts(agent.get("fallbacks", {})) or "none"),
    ]


def _counts(counted: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counted.items()))


def _table(header: tuple[str, ...], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*header, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(soft_wrap=True).print(table)
