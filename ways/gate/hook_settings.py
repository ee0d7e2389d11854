"""What the hook needs of the gate's settings, from a cached parse (spec: command line and settings).

Parsing YAML costs more than a whole hook, so the few values are kept in `{cache}/gate.json`, keyed by
the identity of `agent.yaml` and the program's version. Nothing that says where a key may be sent is
in there: the agent reads `agent.yaml` itself.
"""

from __future__ import annotations

import os

from ways import __version__
from ways.core import clock, files, jsontext
from ways.core.record import record
from ways.gate import settings
from ways.gate.settings import ConfigError
from ways.gate.types import MODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ways.core.roots import Roots

CACHE_NAME = "gate.json"
_SETTLED_NS = 2_000_000_000
_CHANGED = 6  # where a key holds the time of the last change


@record
class HookSettings:
    """The active profile's share that the hook uses; `error` is why the gate is off, "" when it is not."""

    mode: str = ""
    engine: str = ""
    provider: str = ""
    threshold: float = 0.0
    turns: int = 1
    max_candidates: int = 0
    timeout_ms: int = 0
    error: str = ""


def load(roots: Roots) -> HookSettings:
    """The values for this hook. Never raises: a broken file is a value with `error` set."""
    key = _key(settings.path_of(roots.config))
    cached = _from_cache(roots, key)
    if cached is not None:
        return cached
    try:
        parsed = settings.load(roots.config)
        profile = parsed.profile
        value = HookSettings(
            parsed.mode,
            parsed.engine,
            profile.provider,
            profile.threshold,
            profile.turns,
            profile.max_candidates,
            profile.timeout_ms,
        )
    except ConfigError as error:
        value = HookSettings(error=str(error))
    if _settled(key):
        _to_cache(roots, key, value)
    return value


def _key(path: str) -> list[object]:
    """What a cached parse must match: the file as it stands (or its absence) and our own version."""
    try:
        info = os.stat(path)
    except OSError as error:
        return [__version__, path, error.errno]
    return [
        __version__,
        path,
        info.st_dev,
        info.st_ino,
        info.st_size,
        info.st_mtime_ns,
        info.st_ctime_ns,  # _CHANGED
        info.st_mode,
    ]


def _settled(key: list[object]) -> bool:
    """False for a file changed so recently that it may change again within one tick of its clock."""
    changed = key[_CHANGED] if len(key) > _CHANGED else None
    return not isinstance(changed, int) or not 0 <= clock.now_ns() - changed < _SETTLED_NS


def _from_cache(roots: Roots, key: list[object]) -> HookSettings | None:
    data = files.read_bytes_or_none(os.path.join(roots.cache, CACHE_NAME), 1 << 16)
    stored = jsontext.object_or_empty(data)
    if stored.get("key") != key:
        return None
    try:
        value = HookSettings(**stored["settings"])
    except (TypeError, KeyError):
        return None
    return value if _plausible(value) else None


def _plausible(value: HookSettings) -> bool:
    """A cache that was damaged by hand is parsed anew, never believed."""
    kinds = (
        (value.engine, str),
        (value.provider, str),
        (value.threshold, float),
        (value.turns, int),
        (value.max_candidates, int),
        (value.timeout_ms, int),
        (value.error, str),
    )
    if not all(type(field) is kind for field, kind in kinds):
        return False
    if value.error:
        return True
    return value.mode in MODES and value.max_candidates > 0 and 100 <= value.timeout_ms <= 10_000


def _to_cache(roots: Roots, key: list[object], value: HookSettings) -> None:
    from ways.core import debuglog

    try:
        files.make_private(roots.cache)
        data = jsontext.dump_bytes({"key": key, "settings": value.__dict__})
        files.write_atomic(os.path.join(roots.cache, CACHE_NAME), data)
    except OSError as error:
        debuglog.note(roots.state, "gate", f"the parsed settings cannot be kept: {error}")
