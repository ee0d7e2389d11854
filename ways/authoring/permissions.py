"""The permissions that ways need (`requires`), held against those of settings files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ways.catalogue.way import Way
from ways.core import files
from ways.core.errors import REFUSED, UserError

ALLOWED, PARTLY, ASKED, DENIED, MISSING = "allowed", "partly denied", "asked", "denied", "missing"
LISTS = ("allow", "ask", "deny")
_MAX_BYTES = 4 << 20


@dataclass(frozen=True)
class Rules:
    """The permission rules of all files together, as written."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True)
class Need:
    """A permission, the ways that need it, its state, and the rule that decided ("" for none)."""

    permission: str
    ways: tuple[str, ...]
    state: str
    rule: str


def read(paths: Iterable[str]) -> Rules:
    """The rules in these settings files; one that is not there has none. Raises UserError (exit 3) for one
    that cannot be read: what it denies must not be overlooked."""
    found: dict[str, list[str]] = {name: [] for name in LISTS}
    for path in paths:
        if not os.path.lexists(path):
            continue
        try:
            document = json.loads(files.read_bytes(path, _MAX_BYTES).decode("utf-8-sig"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read: {error}", "repair the file", REFUSED) from error
        permissions = document.get("permissions") if isinstance(document, dict) else None
        for name in LISTS:
            rules = permissions.get(name) if isinstance(permissions, dict) else None
            found[name] += (
                [rule for rule in rules if isinstance(rule, str)] if isinstance(rules, list) else []
            )
    return Rules(*(tuple(dict.fromkeys(found[name])) for name in LISTS))


def needs(ways: Sequence[Way], rules: Rules) -> list[Need]:
    """Every permission that a way requires, in alphabetical order."""
    wanted: dict[str, list[str]] = {}
    for way in ways:
        for permission in way.requires:
            wanted.setdefault(permission.strip(), []).append(way.id)
    return [Need(name, tuple(wanted[name]), *state(name, rules)) for name in sorted(wanted) if name]


def state(permission: str, rules: Rules) -> tuple[str, str]:
    """The state of one permission and the rule that decides: deny before ask before allow, as Claude Code
    has it."""
    for verdict, listed in ((DENIED, rules.deny), (ASKED, rules.ask)):
        rule = next((one for one in listed if covers(one, permission)), "")
        if rule:
            return verdict, rule
    rule = next((one for one in rules.allow if covers(one, permission)), "")
    inside = next((one for one in rules.deny if covers(permission, one)), "")
    if rule and inside:
        return PARTLY, inside
    return (ALLOWED, rule) if rule else (MISSING, "")


def covers(rule: str, permission: str) -> bool:
    """True when `rule` takes in everything that `permission` does.

    `Bash` covers `Bash(git status)`; `Bash(git:*)` and `Bash(git *)` cover `Bash(git status:*)`.
    """
    tool, inside = _parts(rule)
    wanted_tool, wanted = _parts(permission)
    if tool != wanted_tool and not (tool.startswith("mcp__") and wanted_tool.startswith(f"{tool}__")):
        return False
    if inside is None or inside in ("*", "**"):
        return True
    if wanted is None:
        return False
    if inside == wanted:
        return True
    if inside.endswith(":*"):
        stem = inside[:-2]
        return wanted.removesuffix(":*") == stem or wanted.startswith(f"{stem} ")
    if "*" not in inside:
        return False
    pattern = ".*".join(re.escape(part) for part in re.split(r"\*+", inside))
    return re.fullmatch(pattern, wanted.removesuffix(":*"), re.DOTALL) is not None or (
        inside.endswith(" *") and wanted.removesuffix(":*") == inside[:-2]
    )


def _parts(rule: str) -> tuple[str, str | None]:
    """The tool and what stands in its parentheses, None without any."""
    head, bracket, rest = rule.strip().partition("(")
    return (head.strip(), rest[:-1]) if bracket and rest.endswith(")") else (rule.strip(), None)


def snippet_of(needed: Iterable[Need]) -> str:
    """What is missing, as it would stand in settings.json."""
    missing = [one.permission for one in needed if one.state == MISSING]
    return json.dumps({"permissions": {"allow": missing}}, indent=2, ensure_ascii=False)
