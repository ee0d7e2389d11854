"""Repairs of which there can be no doubt: a misspelt field whose right name is missing."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from difflib import SequenceMatcher

from ways.catalogue import fields as registry
from ways.catalogue.body import MAX_BYTES
from ways.catalogue.frontmatter import Parsed, fields_of
from ways.catalogue.way import CORE, Check, Way
from ways.core import files
from ways.core.errors import WRITE_FAILED, UserError

# Below this likeness a name may be a different idea, not a slip.
MIN_RATIO = 0.8


@dataclass(frozen=True)
class Fix:
    """One repair: the line (1-based), the name as written, the name as it should be."""

    path: str
    line: int
    wrong: str
    right: str


def plan(item: Way | Check) -> list[Fix]:
    """The repairs of one file; none for a shipped one, which an update would replace."""
    if item.root_kind == CORE or not item.unknown_fields:
        return []
    known = registry.CHECK_FIELDS if isinstance(item, Check) else registry.WAY_FIELDS
    data = files.read_bytes_or_none(item.path, MAX_BYTES)
    parsed = fields_of(data, item.path) if data is not None else None
    if not isinstance(parsed, Parsed):
        return []
    there = {name for name, _value in parsed.values}
    found = []
    for name, value in parsed.values:
        right = registry.nearest(name, known) if name not in known else ""
        if right and right not in there and _is_slip(name, right):
            there.add(right)
            found.append(Fix(item.path, value.line, name, right))
    return found


def _is_slip(wrong: str, right: str) -> bool:
    folded = wrong.lower().replace("-", "_").strip()
    return SequenceMatcher(None, folded, right).ratio() >= MIN_RATIO


def apply(fixes: list[Fix]) -> list[Fix]:
    """Make the repairs of one file, which all have its path. Returns those that were made.

    Only the names change; the file is replaced at once, and not at all when it is not what was planned
    for. Raises UserError when it cannot be written.
    """
    path = fixes[0].path
    data = files.read_bytes(path, MAX_BYTES)
    lines = data.split(b"\n")
    done = []
    for fix in fixes:
        if _rename(lines, fix):
            done.append(fix)
    new = b"\n".join(lines)
    parsed = fields_of(new, path)
    if (
        not done
        or not isinstance(parsed, Parsed)
        or not {fix.right for fix in done} <= dict(parsed.values).keys()
    ):
        return []
    try:
        if files.read_bytes(path, MAX_BYTES) != data:
            return []  # another program has just changed it; the next run sees what is there
        mode = stat.S_IMODE(os.stat(path).st_mode)
        files.write_atomic(os.path.realpath(path), new, mode)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "", WRITE_FAILED) from error
    return done


def _rename(lines: list[bytes], fix: Fix) -> bool:
    """Rename the key that begins a line near its value's; False when it does not stand there."""
    key = re.compile(rb"^" + re.escape(fix.wrong.encode("utf-8")) + rb"(?=\s*:)")
    for at in (fix.line - 1, fix.line - 2):
        if 0 <= at < len(lines) and key.match(lines[at]):
            lines[at] = key.sub(fix.right.encode("ascii"), lines[at], count=1)
            return True
    return False
