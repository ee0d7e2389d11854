"""`embed-manifest.json`: what the corpus was made from and how its lanes are calibrated.

For `status`, `doctor` and `--if-stale`. It is written last of a build, so that it never vouches
for files that are not there. Scoring does not need it: the fit stands in the sidecar too.
"""

from __future__ import annotations

import os

from ways.core import files
from ways.core.record import record
from ways.embedding.sidecar import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NAME = "embed-manifest.json"
VERSION = 1
MAX_BYTES = 1 << 20


@record
class Lane:
    """One lane of the corpus.

    `model_hash` SHA-256 of the GGUF file, `corpus_hash` of the rows' ids and texts, `signature` of
    the stat results of everything that was read, `jsonl_bytes` the length of the exchange file,
    `ids` and `rows` counts. `a`, `b` are None while the lane is uncalibrated, for the `reason`.
    `auc` is None when undefined. Times are UTC ISO 8601.
    """

    model: str
    model_hash: str
    dimensions: int
    corpus_hash: str
    probes_hash: str
    signature: str
    jsonl_bytes: int
    ids: int
    rows: int
    a: float | None
    b: float | None
    auc: float | None
    samples: int
    reason: str
    built_at: str
    fitted_at: str


@record
class Manifest:
    """The manifest of a cache: its lanes by name (`en`, `multi`)."""

    lanes: Mapping[str, Lane]


_TEXTS = ("model", "model_hash", "corpus_hash", "probes_hash", "signature", "reason", "built_at", "fitted_at")
_COUNTS = ("dimensions", "jsonl_bytes", "ids", "rows", "samples")
_NUMBERS = ("a", "b", "auc")


def path_in(cache: str) -> str:
    """Where the manifest of a cache root lies."""
    return os.path.join(cache, NAME)


def read(cache: str) -> Manifest | Problem:
    """The manifest of a cache root, or why there is none. Raises nothing for any content."""
    import json

    path = path_in(cache)
    try:
        data = files.read_bytes(path, MAX_BYTES + 1)
    except FileNotFoundError:
        return Problem("not built yet", missing=True)
    except OSError as error:
        return Problem(f"{path}: {error.strerror or error}")
    if len(data) > MAX_BYTES:
        return Problem(f"{path}: longer than {MAX_BYTES} bytes")
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return Problem(f"{path}: not JSON")
    if (
        not isinstance(value, dict)
        or value.get("version") != VERSION
        or not isinstance(value.get("lanes"), dict)
    ):
        return Problem(f"{path}: not a manifest of version {VERSION}")
    lanes = {}
    for name, fields in value["lanes"].items():
        lane = _lane(fields)
        if isinstance(lane, str):
            return Problem(f"{path}: lanes.{name}: {lane}")
        lanes[name] = lane
    return Manifest(lanes)


def _lane(fields: object) -> Lane | str:
    """A lane from its JSON, or what is wrong with it."""
    if not isinstance(fields, dict):
        return "not an object"
    for name in _TEXTS:
        if not isinstance(fields.get(name), str):
            return f"{name} is not a string"
    for name in _COUNTS:
        if type(fields.get(name)) is not int or fields[name] < 0:
            return f"{name} is not a count"
    for name in _NUMBERS:
        if fields.get(name) is not None and not _is_finite(fields[name]):
            return f"{name} is not a finite number"
    if (fields.get("a") is None) != (fields.get("b") is None):
        return "a and b belong together"
    known: dict[str, Any] = {name: fields.get(name) for name in (*_TEXTS, *_COUNTS, *_NUMBERS)}
    return Lane(**known)


def _is_finite(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) < 1e300


def encode(manifest: Manifest) -> bytes:
    """The manifest as JSON for people and programs, ending with a newline."""
    import json

    lanes = {name: dict(lane.__dict__) for name, lane in sorted(manifest.lanes.items())}
    return json.dumps({"version": VERSION, "lanes": lanes}, indent=2, allow_nan=False).encode() + b"\n"


def write(cache: str, manifest: Manifest) -> None:
    """Replace the manifest of a cache root. Raises OSError."""
    files.write_atomic(path_in(cache), encode(manifest))
