"""`ways author match`: what a text would fire, channel by channel, and how close the rest came."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from ways.authoring.scan import embedded, keyword_hits
from ways.catalogue.way import AGENT, SCOPES
from ways.cli import place
from ways.core import files
from ways.core.errors import USAGE, UserError
from ways.core.roots import resolve
from ways.core.text import decode, printable, snippet
from ways.matching import candidates, late, semantic
from ways.matching.match import has_signal, match
from ways.matching.types import COMMAND, FILE, KEYWORD, PROMPT, TASK, Scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.table import Table

    from ways.catalogue.way import Way
    from ways.cli.place import Place
    from ways.matching.candidates import Rules
    from ways.matching.types import Candidate, Hit, KeywordHit, LaneScores, Tuning, Verdict

MAX_TEXT = 1 << 20
FIRES, GATED, NEAR_MISS, REFUSED, HELD_BACK, SILENT = (
    "fires",
    "below the keyword floor",
    "near miss",
    "not confirmed",
    "held back",
    "-",
)


@dataclass(frozen=True)
class Row:
    """One way against the text. None where a channel has no number for it.

    `prob_en`, `prob_multi` are g(s) of the whole surface; `share`, `peak`, `body` belong to late
    interaction (`body`: the cosine between the chunk it won and its body). `why` explains `outcome`.
    """

    way: str
    outcome: str
    trigger: str = ""
    span: str = ""
    cosine_en: float | None = None
    prob_en: float | None = None
    prob_multi: float | None = None
    share: float | None = None
    peak: float | None = None
    body: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Explanation:
    """A scan explained. `decides` names the semantic channel that decided: `late interaction`,
    `single vector` or `none`; `reasons` say what had no signal."""

    surface: str
    embedded: str
    chunks: tuple[str, ...]
    decides: str
    reasons: tuple[str, ...]
    rows: tuple[Row, ...]


@click.command("match")
@click.argument("text", required=False)
@click.option("--file", "path", type=click.Path(), help="Read the text from a file.")
@click.option(
    "--surface",
    type=click.Choice([PROMPT, TASK, COMMAND, FILE]),
    default=PROMPT,
    show_default=True,
    help="What the text is: a prompt, a Task prompt, a Bash command, or the path of an edited file.",
)
@click.option("--description", default="", help="The Bash tool's description, for a command.")
@click.option(
    "--scope", type=click.Choice(SCOPES), default=AGENT, show_default=True, help="For which kind of agent."
)
@click.option(
    "--limit", type=click.IntRange(0), default=10, show_default=True, help="Ways that did not fire."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    text: str | None, path: str | None, surface: str, description: str, scope: str, limit: int, as_json: bool
) -> None:
    """Show which ways TEXT (or `-` for standard input) would fire, and why."""
    words = read_text(text, path)
    here = place.here(resolve())
    found = explain(here, surface, words, description, scope, limit)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
        return
    from rich.console import Console

    console = Console()
    console.print(_table(found))
    for reason in found.reasons:
        console.print(f"No semantic signal: {printable(reason)}", markup=False, highlight=False)
    console.print(
        f"Meaning is decided by: {found.decides}. Embedded: {printable(snippet(found.embedded, 200))}",
        markup=False,
    )


def read_text(text: str | None, path: str | None) -> str:
    """The text from the argument, a file or standard input. Raises UserError."""
    if (text is None) == (path is None):
        raise UserError("give a text, `-` or --file FILE", "ways author match --help", USAGE)
    if path is not None:
        try:
            return decode(files.read_bytes(path, MAX_TEXT))
        except OSError as error:
            raise UserError(f"{path}: {error.strerror or error}", "", USAGE) from error
    if text == "-":
        return decode(sys.stdin.buffer.read(MAX_TEXT))
    return text or ""


def explain(
    here: Place, surface: str, text: str, description: str = "", scope: str = AGENT, limit: int = 10
) -> Explanation:
    """Everything that a scan of this text finds, for an agent to whom nothing was shown yet."""
    return examine(here, surface, text, here.rules(scope), description, limit)[0]


def examine(
    here: Place,
    surface: str,
    text: str,
    rules: Rules,
    description: str = "",
    limit: int = 10,
    reply: str = "",
) -> tuple[Explanation, Verdict]:
    """The scan explained, and its verdict. `reply` is Claude's last response: it is embedded with a
    prompt, and a keyword hit that it would veto is measured again without it (as the prompt lane does)."""
    tuning = here.tuning
    hits = keyword_hits(
        here.catalogue, surface, text.replace("\\", "/") if surface == FILE else text, description
    )
    found = candidates.collect(here.catalogue, rules)
    alone = f"{text}\n{description}".strip()
    embedded, chunks, scores, reasons = _scores(here, surface, f"{alone}\n\n{reply}".strip())
    rescore = (lambda: _scores(here, surface, alone)[2]) if reply else None
    verdict = match(surface, hits, found, scores, tuning, rescore)
    by_late = late.can_run(surface, scores)
    decides = "late interaction" if by_late else "single vector" if scores.lanes else "none"
    evidence = _evidence(found, scores, tuning) if by_late else {}
    rows = _rows(found, verdict, scores, tuning, evidence)
    allowed = {candidate.way.id for candidate in found}
    blocked = [_held_back(hit, rules) for hit in hits if hit.way.id not in allowed]
    fired = {hit.way.id: place for place, hit in enumerate(verdict.hits)}
    told = sorted((row for row in rows if row.outcome == FIRES), key=lambda row: fired[row.way])
    rest = sorted((row for row in rows if row.outcome != FIRES), key=_closeness)
    shown = (*told, *blocked, *rest[:limit])
    return Explanation(surface, embedded, chunks, decides, reasons, shown), verdict


def _scores(here: Place, surface: str, text: str) -> tuple[str, tuple[str, ...], Scores, tuple[str, ...]]:
    """What is embedded, its chunks, the scores, and why a lane has none."""
    from ways.embedding.scoring import semantic_scores

    if surface == FILE or not text.strip():
        return "", (), Scores(), ()
    reduced, pieces = embedded(surface, text)
    answer = semantic_scores(
        reduced, pieces, here.roots, localized=here.settings.language != "en", resident=False
    )
    return reduced, pieces, answer.scores, answer.reasons


def _evidence(found: Sequence[Candidate], scores: Scores, tuning: Tuning) -> dict[str, late.Evidence]:
    assert scores.en is not None  # late interaction runs on the English lane
    ways = [candidate.way for candidate in found if candidate.way.embeddable]
    return {each.way.id: each for each in late.weigh(ways, scores.en.chunks, tuning)}


def _rows(
    found: Iterable[Candidate],
    verdict: Verdict,
    scores: Scores,
    tuning: Tuning,
    evidence: dict[str, late.Evidence],
) -> list[Row]:
    fired = {hit.way.id: hit for hit in verdict.hits}
    gated = {each.way.id: each for each in verdict.gated}
    near = {each.way.id for each in verdict.near_misses}
    rows = []
    for candidate in found:
        way = candidate.way
        known = semantic.probabilities(way, scores)
        numbers = _numbers(way, scores.en, evidence.get(way.id))
        outcome, trigger, span, why = SILENT, "", "", ""
        if way.id in fired:
            outcome, trigger, span = FIRES, fired[way.id].trigger, fired[way.id].span
            why = _failed_open(fired[way.id], known, scores)
        elif way.id in gated:
            outcome, span = GATED, gated[way.id].span
            why = f"g(s) under {tuning.keyword_floor_probability:g} on every lane"
        elif way.id in evidence and late.is_admitted(evidence[way.id], tuning):
            outcome = REFUSED
            why = f"body under {tuning.late_confirm_gate:g}, or not among the best {tuning.late_confirmed}"
        elif way.id in near:
            outcome = NEAR_MISS
        rows.append(
            Row(
                way.id,
                outcome,
                trigger,
                snippet(span),
                prob_en=known.en,
                prob_multi=known.multi,
                why=why,
                **numbers,
            )
        )
    return rows


def _failed_open(hit: Hit, known: semantic.Probabilities, scores: Scores) -> str:
    """Why a keyword fired whatever its probability, "" when that is not how it fired."""
    if hit.trigger != KEYWORD or hit.way.pattern_strict or known.best is None or has_signal(hit.way, scores):
        return ""
    return "written or changed since the corpus was built, so its pattern is enough (`ways corpus`)"


def _numbers(way: Way, lane: LaneScores | None, evidence: late.Evidence | None) -> dict[str, float | None]:
    cosine = lane.whole.get(way.corpus_id) if lane is not None else None
    if lane is None or evidence is None:
        return {"cosine_en": cosine}
    body = lane.bodies[evidence.peak_chunk].get(way.corpus_id)
    return {"cosine_en": cosine, "share": evidence.share, "peak": evidence.peak, "body": body}


def _held_back(hit: KeywordHit, rules: candidates.Rules) -> Row:
    """A way whose regex matches but that may not fire here, with the first reason."""
    if not candidates.in_scope(hit.way.scope, rules):
        why = f"its scope is {', '.join(hit.way.scope or rules.default_scope)}"
    elif not candidates.is_enabled(hit.way.id, rules.switches):
        why = "it is switched off"
    else:
        why = "its `when` does not hold here"
    return Row(hit.way.id, HELD_BACK, hit.trigger, snippet(hit.span), why=why)


def _closeness(row: Row) -> tuple[bool, float, float, str]:
    """Those that something spoke for first, then by share, then by probability."""
    best = max((p for p in (row.prob_en, row.prob_multi, row.cosine_en) if p is not None), default=-1.0)
    return row.outcome == SILENT, -(row.share or 0.0), -best, row.way


def _table(found: Explanation) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("Way", "Outcome", "By"):
        table.add_column(name)
    columns = ("p(en)", "p(multi)", "cosine", "share", "peak", "body")
    for name in columns:
        table.add_column(name, justify="right")
    table.add_column("Matched or why")
    for row in found.rows:
        numbers = (row.prob_en, row.prob_multi, row.cosine_en, row.share, row.peak, row.body)
        table.add_row(
            Text(printable(row.way), style="bold" if row.outcome == FIRES else ""),
            row.outcome,
            row.trigger.removeprefix("semantic:"),
            *("" if number is None else f"{number:.2f}" for number in numbers),
            Text(printable(row.span or row.why)),
        )
    return table
