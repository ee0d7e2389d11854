"""The multilingual model: is it there, is it the right one, and putting it in place (spec: embedding).

The file that ships with a release is named by its SHA-256 in `models.json`. Another one is taken only
when the user names its hash; that hash is then kept in `{state}/models.json`.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ways.core import clock, files
from ways.core.errors import UNVERIFIED, USAGE, WRITE_FAILED, UserError
from ways.embedding import modelfile, paths
from ways.matching.types import MULTI

if TYPE_CHECKING:
    from ways.core.roots import Roots

PINNED, ACCEPTED, UNKNOWN, DAMAGED, ABSENT = "pinned", "accepted", "unknown", "damaged", "absent"
MAX_BYTES = 4 << 30
_PINS = os.path.join(os.path.dirname(__file__), "models.json")


@dataclass(frozen=True)
class State:
    """The model as it is on disk. `verdict` is pinned, accepted (by the user), unknown (neither),
    damaged (with `problem`) or absent; `sha256` of the whole file, "" when absent."""

    verdict: str
    path: str = ""
    name: str = ""
    sha256: str = ""
    problem: str = ""


def pinned() -> dict[str, str]:
    """The entry of the multilingual model in models.json, {} when this build pins none."""
    with open(_PINS, encoding="utf-8") as stream:
        entry = json.load(stream).get(MULTI, {})
    return {key: str(value) for key, value in entry.items()}


def accepted_hash(roots: Roots) -> str:
    """The SHA-256 that the user accepted, "" when none."""
    data = files.read_bytes_or_none(_record(roots), 65536)
    try:
        value = json.loads(data or b"null")
    except (ValueError, RecursionError):
        return ""
    entry = value.get(MULTI) if isinstance(value, dict) else None
    found = entry.get("sha256") if isinstance(entry, dict) else None
    return found if isinstance(found, str) and _is_hash(found) else ""


def state(roots: Roots) -> State:
    """What stands on disk now. Reads the whole file."""
    path = paths.find_model(MULTI, roots)
    if not path:
        return State(ABSENT)
    opened = modelfile.load(path)
    if isinstance(opened, modelfile.Problem):
        return State(DAMAGED, path, problem=opened.reason)
    if (problem := modelfile.verify(path)) is not None:
        return State(DAMAGED, path, problem=problem.reason)
    with open(path, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    verdict = PINNED if digest == pinned().get("sha256") else UNKNOWN
    if verdict == UNKNOWN and digest == accepted_hash(roots):
        verdict = ACCEPTED
    return State(verdict, path, opened.notes.get("name", "unnamed"), digest)


def install(roots: Roots, source: str, accept: str = "") -> State:
    """Copy the model at `source` into the cache, verified; what stood there before stays until then.

    `accept` is the SHA-256 of a model that is not the pinned one. Raises UserError: exit code 6 when the
    file is not what its hash promises, 5 when it cannot be written.
    """
    if accept and not _is_hash(accept):
        raise UserError(f"{accept!r} is not a SHA-256 (64 hex digits)", "ways tune language --help", USAGE)
    target = os.path.join(roots.cache, "models", paths.model_name(MULTI))
    temporary = files.temporary_name(target)
    try:
        files.make_private(os.path.dirname(target))
        digest = _copy(source, temporary)
        _check(source, temporary, digest, accept.lower())
        if digest != pinned().get("sha256"):
            _keep(roots, digest)
        files.replace(temporary, target)
    except OSError as error:
        raise UserError(f"{error.filename or target}: {error.strerror or error}", "", WRITE_FAILED) from error
    finally:
        files.remove_if_there(temporary)
    return state(roots)


def _copy(source: str, target: str) -> str:
    """Copy a regular file, durably. The SHA-256 of what was written. Raises UserError, OSError."""
    try:
        reading = open(source, "rb")  # noqa: SIM115 - closed below, opened here to tell its errors apart
    except OSError as error:
        raise UserError(f"{source}: {error.strerror or error}", "ways tune language", USAGE) from error
    digest = hashlib.sha256()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with reading, os.fdopen(descriptor, "wb") as writing:
        left = MAX_BYTES
        while part := reading.read(1 << 20):
            left -= len(part)
            if left < 0:
                raise UserError(f"{source}: longer than any model of this program", "", UNVERIFIED)
            digest.update(part)
            writing.write(part)
        writing.flush()
        os.fsync(writing.fileno())
    return digest.hexdigest()


def _check(source: str, copied: str, digest: str, accept: str) -> None:
    """Raise UserError unless the copy is the pinned model, or a sound one that was accepted."""
    wanted = accept or pinned().get("sha256", "")
    if digest != wanted:
        what = "the accepted hash" if accept else "the pinned model"
        raise UserError(
            f"{source}: SHA-256 is {digest}, {what} is {wanted or 'none'}",
            "" if accept else f"ways tune language --install --from {source} --accept-hash {digest}",
            UNVERIFIED,
        )
    problem = modelfile.verify(copied)
    if problem is not None:
        why = problem.reason.removeprefix(f"{copied}: ")
        raise UserError(f"{source}: {why}", "python build/model.py multi", UNVERIFIED)


def _keep(roots: Roots, digest: str) -> None:
    files.make_private(roots.state)
    value = {MULTI: {"sha256": digest, "accepted_at": clock.utc_iso()}}
    files.write_atomic(_record(roots), json.dumps(value, indent=2).encode() + b"\n", durable=True)


def _record(roots: Roots) -> str:
    return os.path.join(roots.state, "models.json")


def _is_hash(text: str) -> bool:
    return len(text) == 64 and all(character in "0123456789abcdefABCDEF" for character in text)
