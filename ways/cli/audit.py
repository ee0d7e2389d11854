"""`ways audit`: views over the `provenance.yaml` files beside the ways (docs/provenance.md)."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any

import click

from ways.audit import inventory, reports
from ways.audit.inventory import Entry
from ways.audit.sidecar import MAX_BYTES, Control
from ways.cli import place
from ways.core import clock, files
from ways.core.errors import DONE, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.roots import resolve
from ways.core.text import printable

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
days_option = click.option(
    "--days", type=click.IntRange(1, 3_660), default=90, show_default=True, help="Look back so far."
)
required_option = click.option(
    "--required", type=click.Path(), default=None, metavar="FILE", help="Controls to meet, one a line."
)


@click.group(name="audit")
def command() -> None:
    """Which rule each way stands for, and what is missing.

    Reads the provenance.yaml beside each way: the policy that it rests on, the controls that it helps to
    meet, and when that was last reviewed. A control is named FRAMEWORK:ID.
    """


@command.command(name="report", short_help="How many ways have provenance, by domain")
@json_option
def report(as_json: bool) -> None:
    """How many ways have provenance, by domain."""
    found = reports.summary(_entries(), _today())
    if as_json:
        _print_json(found)
        return
    click.echo(
        f"{found['with_provenance']} of {found['ways']} ways name {found['policies']} policies and claim "
        f"{found['controls']} controls ({found['claims']} claims)."
    )
    click.echo(f"{found['stale']} need a review, {found['faults']} faults.")
    for row in found["domains"]:
        click.echo(printable(f"  {row['domain']:<20} {row['with_provenance']:>3} of {row['ways']:>3}"))


@command.command(name="gaps", short_help="What no way claims or explains")
@required_option
@click.option("--check", is_flag=True, help="Exit with 1 when a required control is claimed by no way.")
@json_option
def gaps(required: str | None, check: bool, as_json: bool) -> int:
    """Ways without provenance, and required controls that no way claims."""
    found = reports.gaps(_entries(), _required(required))
    if as_json:
        _print_json(found)
    else:
        titles = {
            "without_provenance": "Without provenance",
            "without_control": "With a policy and no control",
            "unclaimed": "Required and claimed by no way",
        }
        for name, title in titles.items():
            if found[name]:
                click.echo(f"{title} ({len(found[name])}):")
                for one in found[name]:
                    click.echo(printable(f"  {one}"))
        if not any(found.values()):
            click.echo("No gaps.")
    return WRONG if check and found["unclaimed"] else DONE


@command.command(name="stale", short_help="Reviews that are due")
@click.option("--check", is_flag=True, help="Exit with 1 when a review is due.")
@json_option
def stale(check: bool, as_json: bool) -> int:
    """Provenance that was never reviewed, is overdue, or whose way has changed since."""
    found = reports.stale(_entries(), _today())
    if as_json:
        _print_json([asdict(one) for one in found])
    else:
        for one in found:
            click.echo(printable(f"{one.way}: {one.why}"))
        if not found:
            click.echo("Every review is up to date.")
    return WRONG if check and found else DONE


@command.command(name="active", short_help="How often ways with provenance were shown")
@days_option
@json_option
def active(days: int, as_json: bool) -> None:
    """How often the ways with provenance were shown or read, and the controls this exercised."""
    rows = reports.active(_entries(), _uses(days))
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        last = str(row["last"])[:10] or "never"
        click.echo(printable(f"{row['fires']:>5}  {last:<10}  {row['way']}  {', '.join(row['controls'])}"))
    if not rows:
        click.echo("No way has provenance.")


@command.command(name="matrix", short_help="Controls and the ways that claim them")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "csv", "json"]),
    default="text",
    help="Output.",
)
def matrix(form: str) -> None:
    """Every control that is claimed, with the ways that claim it."""
    rows = reports.matrix(_entries())
    if form == "json":
        _print_json(
            [{"control": one.key, "title": one.title, "claims": _claims(claims)} for one, claims in rows]
        )
    elif form == "csv":
        click.echo(_csv(rows), nl=False)
    elif form == "markdown":
        click.echo("| Control | Title | Ways |\n|---|---|---|")
        for one, claims in rows:
            ways = ", ".join(f"{way} ({control.coverage})" for way, control in claims)
            click.echo(
                printable("| " + " | ".join(_cell(text) for text in (one.key, one.title, ways)) + " |")
            )
    else:
        for one, claims in rows:
            click.echo(printable(f"{one.key}  {one.title}".rstrip()))
            for way, control in claims:
                click.echo(printable(f"  {control.coverage:<8} {way}: {control.claim}"))
        if not rows:
            click.echo("No way claims a control.")


@command.command(name="lint", short_help="Faults in provenance.yaml files")
@json_option
def lint(as_json: bool) -> int:
    """Check every provenance.yaml; exits with 1 when something is wrong."""
    faults = [fault for entry in _entries() for fault in entry.faults]
    if as_json:
        _print_json([asdict(fault) for fault in faults])
    else:
        for fault in faults:
            click.echo(printable(str(fault)))
    return WRONG if faults else DONE


@command.command(name="trace", short_help="One way: policies, controls, review, use")
@click.argument("way_id", metavar="ID")
@days_option
@json_option
def trace(way_id: str, days: int, as_json: bool) -> None:
    """From the way ID to its policies and controls, its review, and its use."""
    here = place.here(resolve())
    way = here.way(way_id)
    entry = next(one for one in inventory.collect(here.catalogue) if one.way.id == way.id)
    used = _uses(days).get(way.id, inventory.Use())
    sidecar = entry.sidecar
    if as_json:
        rows = reports.assembled([entry], {way.id: used}, _today())["ways"]
        _print_json(rows[0] if rows else {"way": way.id, "digest": entry.digest, "use": asdict(used)})
        return
    click.echo(printable(f"{way.id}  ({way.root_kind}, {way.path})"))
    click.echo(f"  digest    {entry.digest}")
    click.echo(f"  shown     {used.fires} times in {days} days, last {used.last[:10] or 'never'}")
    for fault in entry.faults:
        click.echo(printable(f"  fault     {fault}"))
    if sidecar is None:
        click.echo("  It has no provenance.yaml.")
        return
    for policy in sidecar.policies:
        where = " ".join(part for part in (policy.source, policy.section) if part)
        click.echo(
            printable(f"  policy    {policy.relation} {policy.name}" + (f" ({where})" if where else ""))
        )
    for control in sidecar.controls:
        click.echo(
            printable(f"  control   {control.key} {control.title}, {control.coverage}: {control.claim}")
        )
    if sidecar.rationale:
        click.echo(printable(f"  why       {sidecar.rationale}"))
    why = reports.why_stale(entry, sidecar, _today())
    click.echo(f"  reviewed  {sidecar.reviewed or 'never'}" + (f"; {why}" if why else ""))


@command.command(name="control", short_help="The ways that claim a control")
@click.argument("control", metavar="FRAMEWORK:ID")
@json_option
def control_(control: str, as_json: bool) -> int:
    """The ways that claim a control (its id alone will do). Exits with 1 when none does."""
    found = reports.of_control(_entries(), control)
    if as_json:
        _print_json(_claims(found))
    else:
        for way, one in found:
            click.echo(printable(f"{way}  {one.key}, {one.coverage}: {one.claim}"))
        if not found:
            click.echo("No way claims it.")
    return DONE if found else WRONG


@command.command(name="policy", short_help="The ways that rest on a policy")
@click.argument("policy", metavar="NAME")
@json_option
def policy_(policy: str, as_json: bool) -> int:
    """The ways that rest on a policy (a part of its name or source will do). Exits with 1 when none does."""
    found = reports.of_policy(_entries(), policy)
    if as_json:
        _print_json([{"way": way, **asdict(one)} for way, one in found])
    else:
        for way, one in found:
            where = " ".join(part for part in (one.source, one.section) if part)
            click.echo(printable(f"{way}  {one.relation} {one.name}" + (f" ({where})" if where else "")))
        if not found:
            click.echo("No way rests on it.")
    return DONE if found else WRONG


@command.command(name="assemble", short_help="Everything as one JSON document")
@click.option(
    "--output", type=click.Path(), default=None, metavar="FILE", help="Write it there; never over a file."
)
@days_option
def assemble(output: str | None, days: int) -> None:
    """Everything in one JSON document, for an auditor: claims, reviews, digests, use."""
    document = reports.assembled(_entries(), _uses(days), _today())
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with open(output, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(f"{output} is there already", "name another file", USAGE) from error
    except OSError as error:
        raise UserError(f"{output}: {error.strerror or error}", "", WRITE_FAILED) from error


@command.command(name="findings", short_help="Everything to do; for CI")
@required_option
@days_option
@click.option(
    "--check",
    type=click.Choice(["error", "warning", "note"]),
    default=None,
    help="Exit with 1 when there is one as grave as this.",
)
@json_option
def findings(required: str | None, days: int, check: str | None, as_json: bool) -> int:
    """Everything to do: faults, unclaimed controls, reviews that are due, ways never shown."""
    found = reports.findings(_entries(), _uses(days), _required(required), _today(), days)
    if as_json:
        _print_json([asdict(one) for one in found])
    else:
        for one in found:
            click.echo(printable(f"{one.level:<8} {one.kind:<7} {one.way or one.where}: {one.message}"))
        if not found:
            click.echo("Nothing to do.")
    grave = {"error": ("error",), "warning": ("error", "warning"), "note": ("error", "warning", "note")}
    return WRONG if check and any(one.level in grave[check] for one in found) else DONE


def _entries() -> list[Entry]:
    return inventory.collect(place.here(resolve()).catalogue)


def _uses(days: int) -> dict[str, inventory.Use]:
    return inventory.uses(resolve().events, days)


def _today() -> date:
    return datetime.fromtimestamp(clock.now(), UTC).date()


def _required(path: str | None) -> list[str]:
    """The controls in a file, one `framework:id` a line; blank lines and those that begin with # do not
    count. Raises UserError."""
    if path is None:
        return []
    try:
        text = files.read_bytes(path, MAX_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}", "", USAGE) from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        name = line.partition("#")[0].strip()
        if name and ":" not in name:
            raise UserError(
                f"{os.path.basename(path)}:{number}: {printable(name)!r} is no FRAMEWORK:ID", "", USAGE
            )
        if name:
            found.append(name)
    return found


def _claims(found: Any) -> list[dict[str, Any]]:
    return [{"way": way, **asdict(one)} for way, one in found]


def _csv(rows: list[tuple[Control, tuple[tuple[str, Control], ...]]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["framework", "control", "title", "way", "coverage", "claim"])
    for one, claims in rows:
        for way, control in claims:
            cells = [
                control.framework,
                control.id,
                control.title or one.title,
                way,
                control.coverage,
                control.claim,
            ]
            writer.writerow([_no_formula(printable(cell)) for cell in cells])
    return stream.getvalue()


def _no_formula(text: str) -> str:
    """A cell that a spreadsheet does not run: a project's sidecar is a stranger's text."""
    return f"'{text}" if text[:1] in "=+-@\t" and text else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _print_json(value: object) -> None:
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))
