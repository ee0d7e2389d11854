"""The list of targets in `{config}/config.yaml` (spec: projection, "Targets").

Read here in full, because a list that cannot be read must stop everything: falling back to the
implicit default would put hooks where the user has just said they do not want them. Written by a
round trip that keeps the file's comments, order and quoting.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

from projection.system import System
from projection.targets import Target, make_target, merged
from ways.core.errors import REFUSED, UserError
from ways.core.roots import Roots

KEY = "targets"
FIELDS = ("path", "enabled", "observe", "config", "key")


def config_file(roots: Roots) -> str:
    """The user's config.yaml."""
    return os.path.join(roots.config, "config.yaml")


def load_targets(system: System, roots: Roots) -> tuple[Target, ...]:
    """The user's targets, one a folder; without a `targets:` key the implicit default one, enabled.

    Raises UserError (file, line, key) when the file or the list is not what it should be.
    """
    listed = listed_targets(system, roots)
    return (default_target(system, roots),) if listed is None else listed


def default_target(system: System, roots: Roots) -> Target:
    """The implicit target: CLAUDE_CONFIG_DIR or `~/.claude`."""
    return make_target(system, roots.projection, roots.home)


def listed_targets(system: System, roots: Roots) -> tuple[Target, ...] | None:
    """The targets of the list, None when there is no `targets:` key."""
    path = config_file(roots)
    try:
        if not system.exists(path):
            return None
        data = system.read_bytes(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}", "ways settings lint", REFUSED) from error
    # Loading the round-trip library costs more than the rest of a run that has nothing to do.
    if KEY.encode() not in data:
        return None
    document = _document(data, path)
    if KEY not in document or document[KEY] is None:
        return None
    rows = document[KEY]
    if not isinstance(rows, list):
        raise _fault(path, _line(document, KEY), KEY, "must be a list of folders")
    return merged(_row(system, roots, path, rows, index) for index in range(len(rows)))


def save_targets(system: System, roots: Roots, targets: tuple[Target, ...]) -> None:
    """Write the list down, changing nothing else in the file. A dry run does nothing.

    Raises UserError when the file cannot be read or written.
    """
    if system.changes_disk:
        from ways.settings import writer  # brings the YAML library with it

        path = config_file(roots)
        writer.rewrite(path, lambda text: with_targets(text, targets, system, roots), roots.state)


def with_targets(text: str, targets: tuple[Target, ...], system: System, roots: Roots) -> str:
    """The text of a config.yaml with this list in it; the lines of other keys are not touched.

    Raises UserError when the text is not what it should be.
    """
    path = config_file(roots)
    document = _document(text.encode(), path)
    wanted = _document(text.encode(), path)
    _put_in(wanted, targets, system, roots)
    if any(wanted[name] != document[name] for name in document if name != KEY):
        what = f"{path}: {KEY} is shared with another key, which must not change"
        raise UserError(what, f"edit {path} by hand", REFUSED)
    start, end = _block(document, text)
    lines = text.splitlines(keepends=True)
    before, block, after = ("".join(part) for part in (lines[:start], lines[start:end], lines[end:]))
    if before and not before.endswith("\n"):
        before += "\n"
    # The whole file is written anew only when the block means nothing by itself (an alias, flow style).
    for attempt in (
        lambda: before + _changed(block, targets, system, roots) + after,
        lambda: _changed(text, targets, system, roots),
    ):
        new = _text_if_it_says(attempt, wanted, path)
        if new is not None:
            return new
    raise UserError(f"{path}: {KEY} cannot be changed by itself", f"edit {path} by hand", REFUSED)


def _text_if_it_says(attempt: Callable[[], str], wanted: Any, path: str) -> str | None:
    """The text when it can be made and parses to just what is wanted."""
    try:
        new = attempt()
        return new if _document(new.encode(), path) == wanted else None
    except UserError:
        return None


def _block(document: Any, text: str) -> tuple[int, int]:
    """The lines (from 0, end exclusive) of the `targets:` key in a block mapping; an empty range at the
    end when there is none. Comments and blank lines before the next key belong to that key."""
    lines = text.splitlines()
    if KEY not in document:
        return len(lines), len(lines)
    start = document.lc.key(KEY)[0]
    later = [document.lc.key(name)[0] for name in document if document.lc.key(name)[0] > start]
    end = min(later, default=len(lines))
    while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return start, end


def _changed(text: str, targets: tuple[Target, ...], system: System, roots: Roots) -> str:
    """A text that holds (or gets) the list, through a round trip."""
    document = _document(text.encode(), config_file(roots))
    _put_in(document, targets, system, roots)
    stream = io.BytesIO()
    _yaml(text.encode()).dump(document, stream)
    return stream.getvalue().decode()


def _put_in(document: Any, targets: tuple[Target, ...], system: System, roots: Roots) -> None:
    rows = document.get(KEY)
    if not isinstance(rows, list) or not targets:
        # (An emptied list would keep the comments of its entries, where they are no YAML any more.)
        document[KEY] = _empty_list()
    elif any(document[name] is rows for name in document if name != KEY):
        # An alias of another key's list, which is not ours to change.
        document[KEY] = _empty_list()
        document[KEY].extend(rows)
    _bring_in_line(document[KEY], targets, system, roots)


def _row(system: System, roots: Roots, file: str, rows: list[Any], index: int) -> Target:
    where = f"{KEY}[{index}]"
    line = _line(rows, index)
    row = rows[index]
    if isinstance(row, str):
        return make_target(system, row, roots.home)
    if not isinstance(row, dict):
        raise _fault(file, line, where, "must be a folder or an entry with `path`")
    unknown = [str(name) for name in row if name not in FIELDS]
    if unknown:
        raise _fault(file, line, f"{where}.{unknown[0]}", f"is not known; known are {', '.join(FIELDS)}")
    spelling = row.get("path")
    if not isinstance(spelling, str):
        raise _fault(file, line, f"{where}.path", "must be the path of a folder")
    flags = {}
    for name in ("enabled", "observe"):
        flags[name] = row.get(name, True)
        if not isinstance(flags[name], bool):
            raise _fault(file, line, f"{where}.{name}", "must be true or false")
    config = row.get("config") or ""
    if not isinstance(config, str):
        raise _fault(file, line, f"{where}.config", "must be the path of a file")
    return make_target(
        system,
        spelling,
        roots.home,
        enabled=flags["enabled"],
        observe=flags["observe"],
        config=config,
    )


def _bring_in_line(rows: list[Any], targets: tuple[Target, ...], system: System, roots: Roots) -> None:
    """Change only what differs: entries that stay keep their place, comments and spelling."""
    wanted = {target.key: target for target in targets}
    kept: set[str] = set()
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        spelling = row if isinstance(row, str) else row["path"]
        key = make_target(system, spelling, roots.home).key
        target = wanted.get(key)
        if target is None or key in kept:
            del rows[index]
            continue
        kept.add(key)
        if isinstance(row, str):
            if not (target.enabled and target.observe):
                rows[index] = _entry(target, spelling)
            continue
        for name, value in (("enabled", target.enabled), ("observe", target.observe)):
            if row.get(name, True) != value:
                row[name] = value
    rows.extend(_entry(target, target.path) for target in targets if target.key not in kept)


def _entry(target: Target, spelling: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": spelling, "enabled": target.enabled, "observe": target.observe}
    if target.config:
        entry["config"] = target.config
    return entry


def _document(data: bytes, path: str) -> Any:
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    try:
        document = _yaml(data).load(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text", "ways settings lint", REFUSED) from error
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or "is not valid YAML"
        raise UserError(f"{path}:{line}: {problem}", "ways settings lint", REFUSED) from error
    if document is None:
        return CommentedMap()
    if not isinstance(document, dict):
        raise _fault(path, 1, "the file", "must hold keys and values")
    return document


def _yaml(data: bytes) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = 1 << 16
    yaml.encoding = "utf-8"
    yaml.indent(mapping=2, sequence=4, offset=2)
    if any(line.startswith(b"- ") for line in data.splitlines()):
        yaml.indent(mapping=2, sequence=2, offset=0)
    return yaml


def _empty_list() -> Any:
    from ruamel.yaml.comments import CommentedSeq

    return CommentedSeq()


def _line(node: Any, at: object) -> int:
    """The line (from 1) of a key or an index in a round-trip node."""
    try:
        places = node.lc
        position = places.key(at) if isinstance(at, str) else places.item(at)
        return int(position[0]) + 1
    except (AttributeError, KeyError, TypeError):
        return 1


def _fault(file: str, line: int, key: str, what: str) -> UserError:
    return UserError(f"{file}:{line}: {key} {what}", "ways settings lint", REFUSED)
