"""Golden prompts: beside a way, `{name}.golden.jsonl` with two prompts that must show it.

    {"prompt": "…", "kind": "direct"}       names the subject
    {"prompt": "…", "kind": "situation"}    describes a case of it, and the way's own pattern does not match

No hook reads them. Lint holds them against the way's pattern, and with a Trial against the whole matcher.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ways.authoring.findings import ERROR, NOTE, WARNING, Finding
from ways.authoring.scan import Scanner
from ways.catalogue.body import MAX_BYTES
from ways.catalogue.patterns import Searcher
from ways.catalogue.way import AGENT, CORE, Way
from ways.core import files, jsontext
from ways.core.text import snippet
from ways.matching.match import has_signal
from ways.matching.types import PROMPT, TASK

RULE = "golden"
DIRECT, SITUATION = "direct", "situation"
KINDS = (DIRECT, SITUATION)
ENDING = ".golden.jsonl"
_FIELDS = frozenset(["prompt", "kind"])


@dataclass(frozen=True)
class Golden:
    """One golden prompt and the line (1-based) on which it stands."""

    kind: str
    prompt: str
    line: int


@dataclass(frozen=True)
class Trial:
    """What golden prompts are tried with: a scan of prompts, and one of Task prompts for the ways that only
    subagents see. `default_scope` is the scope of a way that names none."""

    prompts: Scanner
    tasks: Scanner
    default_scope: tuple[str, ...] = (AGENT,)

    def fires(self, way: Way, prompt: str) -> tuple[bool, bool]:
        """(whether the way fires, whether its meaning could be compared at all)."""
        by_prompt = AGENT in (way.scope or self.default_scope)
        scanner = self.prompts if by_prompt else self.tasks
        found = scanner.scan(PROMPT if by_prompt else TASK, prompt)
        fired = any(hit.way.id == way.id for hit in found.verdict.hits)
        return fired, has_signal(way, found.scores)


def path_of(way: Way) -> str:
    """Where a way's golden prompts stand."""
    return os.path.join(way.directory, os.path.basename(way.directory) + ENDING)


def examine(way: Way, asked: bool, trial: Trial | None) -> Iterator[Finding]:
    """What is wrong with a way's golden prompts.

    A file that is there is read in any case; with `asked` it must be there (for ways that can be matched by
    meaning), and with `trial` each prompt must fire its way.
    """
    data = files.read_bytes_or_none(path_of(way), MAX_BYTES)
    if data is None:
        if asked and way.embeddable:
            yield _missing(way)
        return
    found, faults = read(way, data)
    yield from faults
    yield from _situation(way, found)
    if not faults and trial is not None:
        yield from _tried(way, found, trial)


def _missing(way: Way) -> Finding:
    name = os.path.basename(path_of(way))
    level = ERROR if way.root_kind == CORE else WARNING
    return Finding(RULE, level, way.path, 1, 1, way.id, f"has no golden prompts: there is no {name} to read")


def read(way: Way, data: bytes) -> tuple[tuple[Golden, ...], tuple[Finding, ...]]:
    """The golden prompts of a file's bytes, and what is wrong with its lines."""
    path = path_of(way)
    found: list[Golden] = []
    faults: list[Finding] = []
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        row = jsontext.loads_or_none(line)
        why = _wrong(row, found)
        if why or not isinstance(row, dict):
            faults.append(Finding(RULE, ERROR, path, number, 1, way.id, why))
        else:
            found.append(Golden(row["kind"], row["prompt"], number))
    there = {one.kind for one in found}
    missing = [kind for kind in KINDS if kind not in there]
    if missing and not faults:
        faults.append(Finding(RULE, ERROR, path, 0, 0, way.id, f"has no {' and no '.join(missing)} prompt"))
    return tuple(found), tuple(faults)


def _wrong(row: object, before: list[Golden]) -> str:
    """What is wrong with one line, "" when nothing is."""
    if not isinstance(row, dict):
        return "is no JSON object"
    if not isinstance(row.get("prompt"), str) or not row["prompt"].strip():
        return "lacks a prompt"
    if row.get("kind") not in KINDS:
        return f"kind must be {' or '.join(KINDS)}"
    if unknown := sorted(set(row) - _FIELDS):
        return f"{unknown[0]} has no meaning here"
    if any(one.kind == row["kind"] for one in before):
        return f"is a second {row['kind']} prompt; there is one of each kind"
    if any(one.prompt == row["prompt"] for one in before):
        return "repeats the other prompt"
    return ""


def _situation(way: Way, found: tuple[Golden, ...]) -> Iterator[Finding]:
    for one in found:
        if one.kind != SITUATION or not way.pattern:
            continue
        with Searcher(seconds=1.0) as searcher:
            span = searcher.search(way.pattern, one.prompt)
        if span is not None:
            word = snippet(one.prompt[span[0] : span[1]], 40)
            message = f"names the subject: the pattern matches {word!r}; describe a case without it"
            yield Finding(RULE, ERROR, path_of(way), one.line, 1, way.id, message)


def _tried(way: Way, found: tuple[Golden, ...], trial: Trial) -> Iterator[Finding]:
    for one in found:
        fired, compared = trial.fires(way, one.prompt)
        if not compared:
            message = "was not tried: the corpus does not have the way as it is now (`ways corpus`)"
            yield Finding(RULE, NOTE, path_of(way), one.line, 1, way.id, message)
        elif not fired:
            message = f"the {one.kind} prompt does not show the way (`ways author match` says why)"
            yield Finding(RULE, ERROR, path_of(way), one.line, 1, way.id, message)
