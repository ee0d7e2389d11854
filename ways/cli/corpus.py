"""`ways corpus`: bring embeddings and calibration up to date."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.core import debuglog
from ways.core.errors import WRITE_FAILED, UserError
from ways.core.locking import LockTimeout
from ways.core.roots import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ways.core.roots import Roots
    from ways.embedding.corpus import LaneReport, Progress, Report

# Longer than the first build of a large corpus on a slow machine.
WAIT_SECONDS = 900.0


@click.command("corpus")
@click.option("--if-stale", is_flag=True, help="Do nothing when no way, probe or model has changed.")
@click.option("--quiet", is_flag=True, help="Print nothing; what goes wrong is written to the debug log.")
@click.option("--verbose", is_flag=True, help="Show progress, and why a lane was built.")
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON.")
def command(if_stale: bool, quiet: bool, verbose: bool, as_json: bool) -> None:
    """Embed the ways that changed and fit the calibration again."""
    roots = resolve()
    try:
        report = build(roots, if_stale, verbose and not quiet)
    except UserError as error:
        if not quiet:
            raise
        debuglog.note(roots.state, "corpus", str(error))
        raise click.exceptions.Exit(error.exit_code) from error
    if quiet:
        return
    click.echo(json.dumps(as_data(report), indent=2) if as_json else as_text(report, verbose))


def build(roots: Roots, if_stale: bool = False, show_progress: bool = False) -> Report:
    """One build with the settings of this user and project. Raises UserError."""
    from ways.embedding import calibrate, corpus, models, sources

    here = place.here(roots)
    _remember(roots, here.project)
    language, threads = here.settings.language, here.settings.engine_threads
    lanes = models.lanes_of(roots, language)
    with _progress(show_progress) as progress:
        try:
            chosen = {lane: models.model_of(lane, roots, threads) for lane in lanes}
            report = corpus.build(
                roots.cache,
                sources.sources_of(roots),
                chosen,
                if_stale=if_stale,
                wait=0.0 if if_stale else WAIT_SECONDS,
                progress=progress,
            )
        except calibrate.BadProbes as error:
            raise UserError(f"the probe corpus cannot be used: {error}", "ways update") from error
        except OSError as error:
            where = error.filename or roots.cache
            raise UserError(f"{where}: {error.strerror or error}", "ways doctor", WRITE_FAILED) from error
    if report.outcome == corpus.BUSY and not if_stale:
        raise UserError(f"another build has held {roots.cache} for {WAIT_SECONDS:g} seconds", "ways status")
    return report


def _remember(roots: Roots, project: str) -> None:
    """Put the project on record. Failing at that is no reason not to build what is on record."""
    from ways.embedding import projects

    if not project:
        return
    try:
        projects.remember(roots, project)
    except (OSError, LockTimeout) as error:
        debuglog.note(roots.state, "corpus", f"{project} could not be put on record: {error}")


@contextmanager
def _progress(wanted: bool) -> Iterator[Progress | None]:
    """A callback that moves a bar on stderr, None when no bar is wanted."""
    if not wanted:
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, object] = {}

        def moved(lane: str, done: int, total: int) -> None:
            if lane not in tasks:
                tasks[lane] = bar.add_task(f"Embedding ({lane})", total=total)
            bar.update(tasks[lane], completed=done)  # type: ignore[arg-type]

        yield moved


def as_data(report: Report) -> dict[str, object]:
    """The report for `--json`."""
    lanes = {
        name: {
            **lane.lane.__dict__,
            "why": lane.why,
            "embedded": lane.embedded,
            "reused": lane.reused,
            "left_out": lane.left_out,
        }
        for name, lane in report.lanes.items()
    }
    return {"outcome": report.outcome, "lanes": lanes}


def as_text(report: Report, verbose: bool) -> str:
    """The report for a person, one line a lane."""
    from ways.embedding import corpus

    if report.outcome == corpus.CURRENT:
        return "The corpus is up to date."
    if report.outcome == corpus.BUSY:
        return "Another build is running."
    return "\n".join(_lane_text(name, lane, verbose) for name, lane in report.lanes.items())


def _lane_text(name: str, report: LaneReport, verbose: bool) -> str:
    lane = report.lane
    if lane.a is None:
        fit = f"not calibrated: {lane.reason}"
    else:
        fit = f"calibrated on {lane.samples} probes, AUC {lane.auc:.3f}"
    text = (
        f"{name}: {lane.ids} ways and checks, {report.embedded} texts embedded, {report.reused} kept; {fit}"
    )
    if report.left_out:
        text += f"; {report.left_out} left out, the engine gave no vector"
    if verbose:
        text += f"\n  built because: {report.why or 'asked for; nothing had changed'}"
        text += f"\n  a={lane.a} b={lane.b} model {lane.model_hash[:12]} corpus {lane.corpus_hash[:12]}"
    return text
