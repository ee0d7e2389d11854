"""`ways status`: engine, model, corpus, targets and judge at a glance."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ways.catalogue.way import Catalogue
from ways.cli.targets import rows as target_rows
from ways.core import roots as core_roots
from ways.core.errors import UserError
from ways.core.roots import Roots
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.embedding.manifest import Lane


@dataclass(frozen=True)
class Part:
    """One part of the program: a line when it works, else what is wrong and what to type."""

    summary: str
    problem: str = ""
    fix: str = ""

    @property
    def text(self) -> str:
        """The line for people."""
        if not self.problem:
            return self.summary
        return f"{self.problem}  Next: {self.fix}" if self.fix else self.problem


@click.command(name="status")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Show the state of everything. Changes nothing."""
    roots = core_roots.resolve()
    found = collect(roots)
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False, default=str))
        return
    for name, part in found["parts"].items():
        click.echo(f"{name:<9} {printable(Part(**part).text)}")
    for row in found["targets"]:
        click.echo(f"{'target':<9} {printable(row['path'])}: {row['state']}")
    for place in found["roots"].items():
        click.echo(f"{place[0]:<9} {printable(place[1])}")
    for text in found["broken"]:
        click.echo(f"{'broken':<9} {printable(text)}")


def collect(roots: Roots) -> dict[str, Any]:
    """All that status shows, as data."""
    from ways.cli.place import here
    from ways.cli.version import text as version

    place = here(roots)
    catalogue = place.catalogue
    parts = {
        "program": Part(version(as_json=False)),
        "ways": _ways(place.settings.enabled, catalogue),
        "settings": _settings(place.settings.diagnostics),
        "engine": engine_state(roots),
        "corpus": corpus_state(roots),
        "resident": resident_state(roots),
        "judge": judge_state(roots),
    }
    return {
        "parts": {name: asdict(part) for name, part in parts.items()},
        "targets": targets(roots),
        "roots": {
            "app": roots.app,
            "config": roots.config,
            "state": roots.state,
            "cache": roots.cache,
            "sessions": roots.sessions + (f" ({roots.sessions_note})" if roots.sessions_note else ""),
        },
        "broken": [
            f"{broken.path}:{broken.line}:{broken.column}: {broken.message}" for broken in catalogue.broken
        ],
    }


def _ways(enabled: bool, catalogue: Catalogue) -> Part:
    summary = f"{len(catalogue.ways)} ways and {len(catalogue.checks)} checks"
    if not enabled:
        summary += ", switched off (setting ways.enabled)"
    if catalogue.broken:
        return Part(summary, f"{summary}; {len(catalogue.broken)} files cannot be used", "ways author lint")
    return Part(summary) if catalogue.ways else Part(summary, "there are no ways", "ways reconcile")


def _settings(diagnostics: Any) -> Part:
    if not diagnostics:
        return Part("no problems")
    return Part("", "; ".join(str(one) for one in diagnostics), "ways settings lint")


def engine_state(roots: Roots) -> Part:
    """The native engine and the English model: opened for real."""
    from ways.embedding.engine import EngineProblem, open_engine
    from ways.embedding.native import ENGINE_VERSION

    engine = open_engine("en", roots)
    if isinstance(engine, EngineProblem):
        return Part("", f"matching by meaning is off: {engine.reason}", engine.next_command)
    return Part(f"{ENGINE_VERSION}, {engine.name}, {engine.dimensions} dimensions")


def corpus_state(roots: Roots) -> Part:
    """What the manifest says of the corpus and the calibration of each lane, and whether its files
    are those that the manifest vouches for: every vector is read."""
    from ways.embedding import corpus, manifest

    read = manifest.read(roots.cache)
    if not isinstance(read, manifest.Manifest):
        return Part("", f"no corpus: {read.reason}", "ways corpus")
    lines, faults = [], []
    for name, lane in read.lanes.items():
        counts = f"{name}: {lane.ids} ways and checks"
        damage = corpus.lane_damage(roots.cache, name, lane, thorough=True) or _other_model(roots, name, lane)
        if damage:
            faults.append(f"{name}: the corpus cannot be used: {damage}")
        elif lane.a is None or lane.auc is None:
            faults.append(f"{counts}, not calibrated ({lane.reason})")
        else:
            lines.append(f"{counts}, calibrated on {lane.samples} probes, AUC {lane.auc:.3f}")
    summary = "; ".join([*lines, *faults])
    return Part(summary, summary if faults else "", "ways corpus" if faults else "")


def _other_model(roots: Roots, name: str, lane: Lane) -> str:
    """Why the vectors of a lane do not belong to its model, "" when they do or there is no model."""
    from ways.embedding import modelfile, paths

    tables = modelfile.load(paths.find_model(name, roots))
    if isinstance(tables, modelfile.Problem) or tables.identity == lane.model_hash:
        return ""
    return "it was made with another model"


def resident_state(roots: Roots) -> Part:
    """Whether a resident embedder is up."""
    from ways.embedding import client

    answer = client.status(roots, "en")
    if isinstance(answer, client.NoAnswer):
        return Part("not running (it starts with the first prompt)")
    return Part(", ".join(f"{name} {value}" for name, value in answer.items()))


def judge_state(roots: Roots) -> Part:
    """Whether the relevance judge would be asked."""
    from ways.agent import keys
    from ways.gate import settings

    try:
        gate = settings.load(roots.config)
    except settings.ConfigError as problem:
        return Part("", f"switched off: {problem}", "repair agent.yaml")
    providers = keys.stored_providers(roots, settings.PROVIDERS)
    if not providers:
        return Part("no key, so nothing leaves this machine")
    return Part(f"{gate.mode}, keys for {', '.join(providers)}")


def targets(roots: Roots) -> list[dict[str, Any]]:
    """The rows of `ways target list`; one row that says why when the list cannot be read."""
    try:
        return target_rows(roots)
    except UserError as error:
        return [{"path": os.path.join(roots.config, "config.yaml"), "state": str(error)}]
