"""What a merge did, in lines that a person can read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from projection.claude_settings.slices import HookFields, arguments
from ways.core.text import clean

_LONGEST = 240


@dataclass
class Report:
    """Lines by what happened to our entries. `vanished` are entries that we wrote and that another
    program took away since; they are among `added` when they come back."""

    kept: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    healed: list[str] = field(default_factory=list)
    collapsed: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, list[str]]:
        """The lines by name."""
        return {name: list(lines) for name, lines in vars(self).items()}

    def lines(self) -> list[str]:
        """One line for each entry that changes, and one for those that other programs removed."""
        found = [
            f"{name} {line}"
            for name in ("added", "replaced", "healed", "collapsed", "removed")
            for line in getattr(self, name)
        ]
        if self.vanished:
            found.append(f"entries we wrote were removed: {len(self.vanished)}")
        return found


def describe_hook(event: str, matcher: str | None, fields: HookFields) -> str:
    """`PreToolUse [Bash]: "…/check-bash-pre.sh"`."""
    args = arguments(fields)
    command = str(fields.get("command"))
    shown = command if args is None else " ".join([json.dumps(command, ensure_ascii=False), *args])
    place = event if not matcher else f"{event} [{matcher}]"
    return printable(f"{place}: {shown}")


def describe_permission(name: str, entry: str) -> str:
    """`permissions.allow: Bash(ways:*)`."""
    return printable(f"permissions.{name}: {entry}")


def printable(text: str, longest: int = _LONGEST) -> str:
    """One line without control characters, cut at `longest` characters."""
    line = "".join(char if char.isprintable() else "?" for char in clean(text))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def printable_path(path: str) -> str:
    """A path as one line, whole."""
    return printable(path, len(path) + 1)
