"""Globs for preconditions and triggers, without `re`: linear in the text, bounded on disk."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Directory entries that one file glob may look at; a hook waits for the answer.
MAX_ENTRIES = 5_000
MAX_PATTERN = 500
_MAGIC = frozenset("*?[")
# Never worth a walk, and often enormous.
_SKIPPED = frozenset(["node_modules", "__pycache__", "site-packages"])


def matches(text: str, pattern: str) -> bool:
    """True when the whole `text` matches: `*` any run (also across `/`), `?` one character, `[a-z]`, `[!a]`.

    Case counts. Goes back to the last `*` only, so the time is at most len(text) × len(pattern).
    """
    position = at = 0
    star, mark = -1, 0
    while position < len(text):
        step = _one(text[position], pattern, at) if at < len(pattern) else 0
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, position
            at += 1
        elif step:
            position += 1
            at += step
        elif star >= 0:
            mark += 1
            position, at = mark, star + 1
        else:
            return False
    return not pattern[at:].strip("*")


def _one(character: str, pattern: str, at: int) -> int:
    """How many characters of the pattern at `at` match this one character; 0 when they do not."""
    sign = pattern[at]
    if sign == "?":
        return 1
    if sign != "[":
        return int(sign == character)
    end = pattern.find("]", at + 3 if pattern[at + 1 : at + 2] == "!" else at + 2)
    if end < 0:
        return int(sign == character)
    inside = pattern[at + 1 : end]
    negated = inside.startswith("!")
    if negated:
        inside = inside[1:]
    found = False
    index = 0
    while index < len(inside):
        if inside[index + 1 : index + 2] == "-" and index + 2 < len(inside):
            found = found or inside[index] <= character <= inside[index + 2]
            index += 3
        else:
            found = found or inside[index] == character
            index += 1
    return end - at + 1 if found != negated else 0


def file_exists(folder: str, pattern: str) -> bool:
    """True when something under `folder` matches the glob `pattern`, in which `**` is any depth.

    A pattern that is absolute or climbs out (`..`) matches nothing. Names that begin with a dot are
    matched only by a segment that begins with one. At most MAX_ENTRIES directory entries are looked at,
    the shallow ones first; what lies beyond does not exist for this purpose.
    """
    segments = [part for part in pattern.replace("\\", "/").split("/") if part not in {"", "."}]
    if not folder or not segments or len(pattern) > MAX_PATTERN or ".." in segments:
        return False
    if pattern.startswith(("/", "\\", "~")) or pattern[1:2] == ":" or "\0" in pattern:
        return False
    if not any(_MAGIC & set(segment) for segment in segments):
        return os.path.exists(os.path.join(folder, *segments))
    return _search(folder, segments)


def _search(folder: str, segments: list[str]) -> bool:
    """Breadth first over (directory, segments still to match)."""
    budget = MAX_ENTRIES
    waiting = [(folder, tuple(segments))]
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for place, rest in waiting:
        if (place, rest) in seen:
            continue
        seen.add((place, rest))
        first, after = rest[0], rest[1:]
        if not _MAGIC & set(first):
            path = os.path.join(place, first)
            if os.path.exists(path):
                if not after:
                    return True
                waiting.append((path, after))
            continue
        if first == "**" and after:
            waiting.append((place, after))
        for entry in _entries(place):
            budget -= 1
            if budget < 0:
                return False
            if first == "**":
                if entry.name[0] == "." or entry.name in _SKIPPED:
                    continue
                if not after:
                    return True
                # A link is not descended into: it could lead around in a circle.
                if _is_directory(entry, follow=False):
                    waiting.append((entry.path, rest))
            elif (entry.name[0] != "." or first[0] == ".") and matches(
                os.path.normcase(entry.name), os.path.normcase(first)
            ):
                if not after:
                    return True
                if _is_directory(entry, follow=True):
                    waiting.append((entry.path, after))
    return False


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            yield from listing
    except OSError:
        return


def _is_directory(entry: os.DirEntry[str], follow: bool) -> bool:
    try:
        return entry.is_dir(follow_symlinks=follow)
    except OSError:
        return False
