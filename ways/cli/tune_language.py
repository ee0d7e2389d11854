"""`ways tune language`: the multilingual model, its state, and putting it in place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ways.cli import place
from ways.core.errors import UNVERIFIED, USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import printable

if TYPE_CHECKING:
    from ways.cli.place import Place
    from ways.embedding.multilingual import State


@click.command("language")
@click.option("--install", is_flag=True, help="Put the multilingual model in place.")
@click.option("--from", "source", type=click.Path(), help="The model's file; this program downloads nothing.")
@click.option("--accept-hash", metavar="SHA256", default="", help="Take a model other than the pinned one.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(install: bool, source: str | None, accept_hash: str, as_json: bool) -> None:
    """Show whether ways are matched in other languages than English, or install the model for it."""
    from ways.embedding import multilingual

    here = place.here(resolve())
    if (source or accept_hash) and not install:
        raise UserError("--from and --accept-hash belong to --install", "ways tune language --help", USAGE)
    if install and source is None:
        raise _how_to()
    if install and source is not None:
        multilingual.install(here.roots, source, accept_hash)
    facts = describe(here, multilingual.state(here.roots))
    click.echo(json.dumps(facts, indent=2) if as_json else _text(facts))


def _how_to() -> UserError:
    """What to do without a file. Nothing is downloaded by this program itself."""
    from ways.embedding.multilingual import pinned

    entry = pinned()
    what = f"{entry['name']} ({int(entry['size']) >> 20} MB)" if entry else "the multilingual model"
    return UserError(
        f"{what} is not part of the program and is not downloaded; make it in a source checkout with "
        "`python build/model.py multi --output DIR`, then install the file",
        "ways tune language --install --from DIR/multi.gguf",
        UNVERIFIED,
    )


def describe(here: Place, model: State) -> dict[str, object]:
    """Language, model, mode, the lane's calibration, and the next command ("" when all is well)."""
    from ways.embedding import manifest, models, sidecar

    language = here.settings.language
    localized = models.is_localized(here.roots, language)
    read = manifest.read(here.roots.cache)
    lane = None if isinstance(read, sidecar.Problem) else read.lanes.get("multi")
    facts: dict[str, object] = {
        "language": language,
        "localized": localized,
        "model": model.name,
        "state": model.verdict,
        "path": model.path,
        "sha256": model.sha256,
        "problem": model.problem,
        "lane_built": lane is not None,
        "lane_calibrated": lane is not None and lane.a is not None,
        "lane_reason": lane.reason if lane is not None else "",
    }
    return {**facts, "next": _next(facts)}


def _next(facts: dict[str, object]) -> str:
    if facts["state"] in {"absent", "damaged", "unknown"}:
        wanted = facts["state"] != "absent" or facts["language"] != "en"
        return "ways tune language --install" if wanted else ""
    if not facts["localized"]:
        return "ways settings set language LANGUAGE"
    return "" if facts["lane_built"] else "ways corpus"


def _text(facts: dict[str, object]) -> str:
    states = {
        "pinned": "the one that belongs to this program",
        "accepted": "another one, which you accepted",
        "unknown": "neither the one of this program nor one that you accepted",
        "damaged": "damaged",
        "absent": "not installed",
    }
    mode = "on" if facts["localized"] else "off"
    lines = [
        f"Language: {facts['language']}. Matching in other languages than English is {mode}.",
        f"Multilingual model: {facts['model'] or '-'}, {states[str(facts['state'])]}.",
    ]
    if facts["path"]:
        lines.append(f"  {facts['path']}  SHA-256 {facts['sha256'] or 'not read'}")
    if facts["problem"]:
        lines.append(f"  {facts['problem']}")
    if facts["localized"]:
        if facts["lane_calibrated"]:
            lines.append("Its corpus is built and calibrated.")
        elif facts["lane_built"]:
            lines.append(f"Its corpus is built and not calibrated: {facts['lane_reason']}.")
        else:
            lines.append("Its corpus is not built yet.")
    if facts["next"]:
        lines.append(f"Next: {facts['next']}")
    return printable("\n".join(lines))
