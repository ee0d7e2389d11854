"""Which projects may run their own macros and postchecks (spec: disclosure, Macros and postchecks).

`{target}/trusted-project-macros` holds one absolute path a line. It is the user's file: reading
tolerates blank lines and comments, writing keeps every other line as it is.
"""

from __future__ import annotations

import os

from ways.core import files

FILE_NAME = "trusted-project-macros"
MAX_BYTES = 1 << 20


def trust_file(target: str) -> str:
    """The list's path in a target."""
    return os.path.join(target, FILE_NAME)


def resolved(path: str) -> str:
    """The spelling in which two paths are compared: links resolved, case folded where the system folds;
    "" for what cannot be a path (a NUL in a damaged list)."""
    try:
        return os.path.normcase(os.path.realpath(path))
    except ValueError:
        return ""


def listed(target: str) -> list[str]:
    """The paths in the list, in order, as they are written. No file is an empty list."""
    data = files.read_bytes_or_none(trust_file(target), MAX_BYTES)
    if data is None:
        return []
    # Split as bytes: a text would also be split at characters that may stand in a folder's name.
    lines = [line.decode("utf-8", "replace").strip() for line in data.splitlines()]
    return [line for line in lines if line and not line.startswith("#") and os.path.isabs(line)]


def is_trusted(target: str, project: str) -> bool:
    """True when the project is listed, compared after resolving links."""
    if not project:
        return False
    wanted = resolved(project)
    return any(resolved(path) == wanted for path in listed(target))


def can_be_listed(project: str) -> bool:
    """True when the project's real path is one line of UTF-8 text, and thus one entry of the list."""
    path = os.path.realpath(project)
    try:
        lines = path.encode("utf-8").splitlines()
    except UnicodeEncodeError:
        return False
    return len(lines) == 1 and path == path.strip()


def add(target: str, project: str) -> bool:
    """List the project. Returns False when it was listed already. Raises OSError, ValueError for a path
    that no line can hold."""
    if is_trusted(target, project):
        return False
    if not can_be_listed(project):
        raise ValueError(f"not a line of a list: {project!r}")
    path = trust_file(target)
    data = files.read_bytes_or_none(path, MAX_BYTES) or b""
    if data and not data.endswith(b"\n"):
        data += b"\n"
    _write(path, data + os.path.realpath(project).encode("utf-8") + b"\n")
    return True


def remove(target: str, project: str) -> bool:
    """Take the project off the list; an emptied list goes. Returns False when it was not on it.
    Raises OSError."""
    path = trust_file(target)
    data = files.read_bytes_or_none(path, MAX_BYTES)
    if data is None:
        return False
    wanted = resolved(project)
    lines = data.splitlines(keepends=True)
    kept = [line for line in lines if not _names(line, wanted)]
    if len(kept) == len(lines):
        return False
    if kept or os.path.islink(path):
        _write(path, b"".join(kept))
    else:
        files.remove_if_there(path)
    return True


def _names(line: bytes, wanted: str) -> bool:
    text = line.decode("utf-8", "replace").strip()
    return bool(text) and os.path.isabs(text) and resolved(text) == wanted


def _write(path: str, data: bytes) -> None:
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode & 0o777
    except FileNotFoundError:
        mode = 0o600
    files.write_atomic(real, data, mode)
