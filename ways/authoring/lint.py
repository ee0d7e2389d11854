"""The rules of `ways author lint` (spec: the way format): from a catalogue to findings."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ways.authoring import goldens, regexes
from ways.authoring.findings import ERROR, NOTE, WARNING, Finding, ordered
from ways.catalogue import fields as registry
from ways.catalogue.body import MAX_BYTES, body, check_sections
from ways.catalogue.frontmatter import Parsed, fields_of, script
from ways.catalogue.way import CONTEXT_THRESHOLD, FILE_EXISTS, Catalogue, Check, Way
from ways.core import files, jsontext
from ways.core.text import utf16_length
from ways.matching.reduce import words

if TYPE_CHECKING:
    from ways.catalogue.way import Broken

# One answer of a hook, in UTF-16 units (spec: hooks).
MAX_ANSWER = 10_000
NEAR_COSINE = 0.92
NEAR_WORDS = 0.8
_PROBLEM = re.compile(r"line (\d+), column (\d+): (.*)", re.DOTALL)


@dataclass(frozen=True)
class Knowledge:
    """What the rules need beyond the files: the refire presets that settings define, and per pair of corpus
    ids (in order) the cosine of their aliases where a corpus has both; None without a corpus. With `golden`
    a way that is matched by meaning must have golden prompts, with `trial` they must show it."""

    presets: Collection[str] = ("once", "rare", "normal", "frequent")
    cosines: Mapping[tuple[str, str], float] | None = None
    golden: bool = False
    trial: goldens.Trial | None = None


def lint(catalogue: Catalogue, knowledge: Knowledge, only: Collection[str] | None = None) -> list[Finding]:
    """Everything wrong with the ways of a catalogue, or with those of the ids in `only`.

    A way is still held against all others: a duplicate is found from either side.
    """
    found: list[Finding] = []
    ways = [way for way in catalogue.ways if only is None or way.id in only]
    for way in ways:
        found.extend(_way(way, catalogue, knowledge))
    for check in catalogue.checks:
        if only is None or check.id in only:
            found.extend(_check(check))
    if only is None:
        found.extend(_broken(item) for item in catalogue.broken)
    found.extend(_duplicates(ways, list(catalogue.ways), knowledge))
    return ordered(found)


def _broken(item: Broken) -> Finding:
    return Finding("broken", ERROR, item.path, item.line, item.column, "", item.message)


class _Places:
    """Where the fields of a file stand."""

    def __init__(self, item: Way | Check) -> None:
        self.item = item
        data = files.read_bytes_or_none(item.path, MAX_BYTES + 1)
        parsed = fields_of(data, item.path) if data is not None else None
        self.values = dict(parsed.values) if isinstance(parsed, Parsed) else {}

    def at(self, field: str, rule: str, level: str, message: str) -> Finding:
        """A finding at a field; at the first line when the field is not there."""
        value = self.values.get(field)
        line, column = (value.line, value.column) if value is not None else (1, 1)
        return Finding(rule, level, self.item.path, line, column, self.item.id, message)


def _way(way: Way, catalogue: Catalogue, knowledge: Knowledge) -> Iterator[Finding]:
    places = _Places(way)
    yield from _common(way, places, registry.WAY_FIELDS, ("pattern", "commands", "files"))
    yield from _triggers(way, places)
    yield from _cadence(way, places, knowledge)
    yield from _body(way, places)
    yield from _scripts(way, places)
    yield from _tree(way, places, catalogue)
    yield from _locales(way)
    yield from goldens.examine(way, knowledge.golden, knowledge.trial)


def _common(
    item: Way | Check, places: _Places, known: dict[str, registry.Field], triggers: Sequence[str]
) -> Iterator[Finding]:
    """What ways and checks share: field problems, unknown names, regexes, vocabulary."""
    for problem in item.problems:
        match = _PROBLEM.match(problem)
        line, column, message = (int(match[1]), int(match[2]), match[3]) if match else (0, 0, problem)
        name = message.partition(":")[0].removeprefix("when.")
        rule, hint = "field", ""
        if name in item.when.unknown:
            rule = "unknown-when"
            near = registry.nearest(name, registry.WHEN)
            hint = f"; did you mean {near}?" if near and near != name else ""
        yield Finding(rule, ERROR, item.path, line, column, item.id, f"{message}{hint}")
    for name, line in item.unknown_fields:
        near = registry.nearest(name, known)
        hint = f"; did you mean {near}?" if near else ""
        yield Finding(
            "unknown-field", WARNING, item.path, line, 1, item.id, f"{name} has no meaning here{hint}"
        )
    for field in triggers:
        source = getattr(item, field)
        if source:
            for rule, level, message in regexes.examine(field, source):
                # Who writes pattern_strict beside `.` means every prompt of that scope.
                meant = (
                    rule == "matches-everything" and field == "pattern" and "pattern_strict" in places.values
                )
                yield places.at(field, rule, NOTE if meant else level, message)
    if item.description and not item.vocabulary:
        # A check is matched by its commands and files first; a way lives by its words.
        level = NOTE if isinstance(item, Check) else WARNING
        yield places.at("description", "no-vocabulary", level, "add vocabulary: the words a user would type")


def _triggers(way: Way, places: _Places) -> Iterator[Finding]:
    if not any((way.description, way.pattern, way.commands, way.files, way.trigger, way.postcheck_file)):
        yield places.at(
            "", "no-trigger", ERROR, "nothing can make it appear: give it a description, a regex or a trigger"
        )
    if way.trigger == CONTEXT_THRESHOLD and not way.threshold:
        yield places.at("trigger", "no-trigger", ERROR, "context-threshold needs a threshold, in percent")
    if way.trigger == FILE_EXISTS and not way.trigger_path:
        yield places.at("trigger", "no-trigger", ERROR, "file-exists needs a path, a glob in the project")
    for field, value, trigger in (
        ("threshold", way.threshold, CONTEXT_THRESHOLD),
        ("path", way.trigger_path, FILE_EXISTS),
    ):
        if value and way.trigger != trigger:
            yield places.at(field, "no-trigger", WARNING, f"{field} does nothing without trigger: {trigger}")
    if way.pattern_strict and not way.pattern:
        yield places.at(
            "pattern_strict", "no-trigger", WARNING, "pattern_strict does nothing without a pattern"
        )


def _cadence(way: Way, places: _Places, knowledge: Knowledge) -> Iterator[Finding]:
    if not way.refire:
        yield places.at("", "no-refire", NOTE, "no refire: the default of the settings holds")
        return
    try:
        float(way.refire)
    except ValueError:
        if way.refire not in knowledge.presets:
            names = ", ".join(sorted(knowledge.presets))
            yield places.at(
                "refire", "unknown-refire", ERROR, f"{way.refire} is no preset; there are {names}"
            )


def _body(way: Way, places: _Places) -> Iterator[Finding]:
    try:
        text = body(way.path).strip("\n")
    except OSError as error:
        yield Finding("broken", ERROR, way.path, 0, 0, way.id, f"cannot be read: {error.strerror or error}")
        return
    if not text.strip() and not way.macro_file:
        yield places.at("", "empty-body", ERROR, "the way has no text to show")
    size = utf16_length(text)
    if size > MAX_ANSWER:
        yield places.at(
            "", "too-long", ERROR, f"its text has {size} characters; one answer carries {MAX_ANSWER}"
        )


def _scripts(way: Way, places: _Places) -> Iterator[Finding]:
    try:
        beside = os.listdir(way.directory)
    except OSError:
        return  # the folder has gone since the catalogue was read
    if way.macro and not way.macro_file:
        yield places.at(
            "macro", "macro", ERROR, "there is no macro.py, macro.sh or macro.ps1 beside the file"
        )
    elif not way.macro and (name := script("macro", beside)):
        yield places.at("", "macro", WARNING, f"{name} is never run: add macro: prepend or append")
    if way.postcheck_on and not way.postcheck_file:
        yield places.at("postcheck_on", "macro", WARNING, "postcheck_on does nothing without a postcheck")


def _tree(way: Way, places: _Places, catalogue: Catalogue) -> Iterator[Finding]:
    """A gap: an ancestor further up exists and the nearest one does not."""
    above = way.parent_ids
    if len(above) < 2 or catalogue.find(above[0]) is not None:
        return
    higher = next((one for one in above[1:] if catalogue.find(one) is not None), "")
    if higher:
        yield places.at(
            "", "missing-parent", WARNING, f"{above[0]} is no way, though {higher} above it is one"
        )


def _locales(way: Way) -> Iterator[Finding]:
    path = os.path.join(way.directory, f"{os.path.basename(way.directory)}.locales.jsonl")
    data = files.read_bytes_or_none(path, MAX_BYTES)
    for number, line in enumerate((data or b"").splitlines(), 1):
        if not line.strip():
            continue
        row = jsontext.loads_or_none(line)
        if not isinstance(row, dict):
            message = "is no JSON object"
        elif missing := [
            name
            for name in ("lang", "description")
            if not isinstance(row.get(name), str) or not row[name].strip()
        ]:
            message = f"lacks {' and '.join(missing)}"
        else:
            continue
        yield Finding("locale", ERROR, path, number, 1, way.id, message)


def _check(check: Check) -> Iterator[Finding]:
    places = _Places(check)
    yield from _common(check, places, registry.CHECK_FIELDS, ("commands", "files"))
    if not any((check.description, check.commands, check.files)):
        yield places.at("", "check", ERROR, "nothing can make the check appear: give it commands or files")
    try:
        anchor, text = check_sections(body(check.path))
    except OSError as error:
        yield Finding(
            "broken", ERROR, check.path, 0, 0, check.id, f"cannot be read: {error.strerror or error}"
        )
        return
    if not text.strip():
        yield places.at("", "check", ERROR, "it has no section `## check`")
    if not anchor.strip():
        yield places.at("", "check", WARNING, "it has no section `## anchor`")


def _duplicates(ways: Iterable[Way], others: Sequence[Way], knowledge: Knowledge) -> Iterator[Finding]:
    """Pairs of ways with nearly the same alias; each pair once, at the later one in the tree when both are
    looked at."""
    ways = list(ways)
    looked_at = {way.id for way in ways}
    order = {way.id: number for number, way in enumerate(others)}
    spoken = {way.id: frozenset(words(way.alias)) for way in others if way.embeddable}
    seen: set[tuple[str, str]] = set()
    for way in ways:
        for other in others if way.embeddable else ():
            pair = (min(way.id, other.id), max(way.id, other.id))
            if other.id == way.id or not other.embeddable or pair in seen:
                continue
            how = _likeness(way, other, spoken, knowledge)
            if how:
                seen.add(pair)
                later, earlier = (
                    (way, other)
                    if order[way.id] > order[other.id] or other.id not in looked_at
                    else (other, way)
                )
                yield _Places(later).at(
                    "description",
                    "near-duplicate",
                    WARNING,
                    f"is hard to tell from {earlier.id} ({how}); merge them or sharpen their descriptions",
                )


def _likeness(way: Way, other: Way, spoken: Mapping[str, frozenset[str]], knowledge: Knowledge) -> str:
    """How two ways are nearly the same, "" when they are not."""
    if knowledge.cosines is not None:
        pair = (min(way.corpus_id, other.corpus_id), max(way.corpus_id, other.corpus_id))
        cosine = knowledge.cosines.get(pair)
        if cosine is not None:
            return f"cosine {cosine:.2f}" if cosine >= NEAR_COSINE else ""
    own, theirs = spoken[way.id], spoken[other.id]
    if not own or not theirs:
        return ""
    share = len(own & theirs) / len(own | theirs)
    return f"{share:.0%} of their words are the same" if share >= NEAR_WORDS else ""
