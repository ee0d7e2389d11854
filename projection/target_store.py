"""The list of targets in `{config}/config.yaml` (spec: projection, "Targets").

Read here in full, because a list that cannot be read must stop everything: falling back to the
implicit default would put hooks where the user has just said they do not want them. Written by a
round trip that keeps the file's comments, order and quoting.
"""

from __future__ import annotations

import io
import os
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
    if not system.exists(path):
        return None
    data = system.read_bytes(path)
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
    """Write the list down, changing nothing else in the file. Raises UserError, OSError."""
    path = config_file(roots)
    found = system.info(path, follow=True)
    data = system.read_bytes(path) if found else b""
    document = _document(data, path)
    rows = document.get(KEY)
    if not isinstance(rows, list):
        rows = _empty_list()
        document[KEY] = rows
    _bring_in_line(rows, targets, system, roots)
    stream = io.BytesIO()
    _yaml(data).dump(document, stream)
    text = stream.getvalue()
    if b"\r\n" in data:
        text = text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if text == data:
        return
    system.make_folders(roots.config, 0o700)
    # A config.yaml that is a link (into a dotfiles folder) stays one: its file is written.
    real = system.real_path(path)
    system.write_atomic(real, text, found.mode if found else 0o600, durable=True)


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
