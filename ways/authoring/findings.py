"""What lint finds, and how it is written: for people, as JSON, as SARIF, as GitHub annotations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

ERROR, WARNING, NOTE = "error", "warning", "note"
FORMATS = ("text", "json", "sarif", "github")
_ORDER = {ERROR: 0, WARNING: 1, NOTE: 2}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# What each rule is about, for SARIF readers and the reference.
RULES = {
    "broken": "The file cannot be used at all",
    "field": "A field has a wrong value and is left out",
    "unknown-field": "A field that has no meaning here",
    "unknown-when": "A condition that cannot be checked, so the way never fires",
    "no-trigger": "Nothing can make the way appear",
    "matches-nothing": "A trigger that can match nothing",
    "matches-everything": "A trigger that matches everything",
    "slow-pattern": "A regex that can take exponential time",
    "short-word": "A short word that also matches inside longer words",
    "no-vocabulary": "A description without vocabulary",
    "no-refire": "No refire, so the default cadence holds",
    "unknown-refire": "A cadence that no setting defines",
    "missing-parent": "A gap in the tree above the way",
    "near-duplicate": "Two ways that are easily confused",
    "empty-body": "Nothing to show",
    "too-long": "More text than one answer of a hook carries",
    "macro": "A macro without its script, or a script without its macro",
    "check": "A check that lacks a part",
    "locale": "A line of a locale file that cannot be used",
    "golden": "Golden prompts that are missing, faulty, or do not show their way",
}


@dataclass(frozen=True)
class Finding:
    """One fault: the rule, how grave, the file with line and column (1-based, 0 for the whole file), the
    way's id ("" when the file is none), and what is wrong with what to do."""

    rule: str
    level: str
    path: str
    line: int
    column: int
    way: str
    message: str


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """By file, line, gravity."""
    return sorted(found, key=lambda one: (one.path, one.line, one.column, _ORDER[one.level], one.rule))


def is_wrong(found: Iterable[Finding], strict: bool) -> bool:
    """True when there is an error, or with `strict` a warning too. A note is never wrong."""
    levels = {ERROR, WARNING} if strict else {ERROR}
    return any(one.level in levels for one in found)


def written(found: Sequence[Finding], form: str, base: str, version: str) -> str:
    """The findings in one of FORMATS. Paths are relative to `base` where they lie below it."""
    if form == "json":
        return json.dumps([asdict(one) for one in found], indent=2) + "\n"
    if form == "sarif":
        return json.dumps(sarif(found, base, version), indent=2) + "\n"
    line = github if form == "github" else text
    return "".join(f"{line(one, base)}\n" for one in found)


def text(one: Finding, base: str) -> str:
    """`file:line:column: level: message [rule]`."""
    place = ":".join(
        [relative(one.path, base), *(str(number) for number in (one.line, one.column) if number)]
    )
    return f"{place}: {one.level}: {one.message} [{one.rule}]"


def github(one: Finding, base: str) -> str:
    """A workflow command of GitHub Actions that annotates the line."""
    kind = {ERROR: "error", WARNING: "warning", NOTE: "notice"}[one.level]
    fields = {"file": relative(one.path, base)}
    if one.line:
        fields |= {"line": str(one.line), **({"col": str(one.column)} if one.column else {})}
    fields["title"] = f"ways author lint ({one.rule})"
    properties = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in fields.items())
    return f"::{kind} {properties}::{_escaped(one.message)}"


def _escaped(value: str, further: str = "") -> str:
    for character in "%\r\n" + further:
        value = value.replace(character, f"%{ord(character):02X}")
    return value


def sarif(found: Sequence[Finding], base: str, version: str) -> dict[str, Any]:
    """A SARIF 2.1.0 log of one run."""
    names = list(RULES)
    rules = [{"id": name, "shortDescription": {"text": about}} for name, about in RULES.items()]
    driver = {"name": "ways author lint", "version": version, "rules": rules}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(one, base, names) for one in found],
            }
        ],
    }


def _result(one: Finding, base: str, names: list[str]) -> dict[str, Any]:
    from urllib.parse import quote

    place: dict[str, Any] = {"artifactLocation": {"uri": quote(relative(one.path, base))}}
    if one.line:
        place["region"] = {"startLine": one.line, **({"startColumn": one.column} if one.column else {})}
    return {
        "ruleId": one.rule,
        "ruleIndex": names.index(one.rule),
        "level": one.level,
        "message": {"text": one.message},
        "locations": [{"physicalLocation": place}],
    }


def relative(path: str, base: str) -> str:
    """`path` from `base` with `/`, itself when it lies elsewhere."""
    inside = (
        os.path.relpath(path, base)
        if base and os.path.splitdrive(path)[0] == os.path.splitdrive(base)[0]
        else path
    )
    return (path if inside.startswith(os.pardir) else inside).replace(os.sep, "/")
