"""The settings of one hook: user file, target file, project file (spec: settings; disclosure, Switches).

A hook pays a `stat` per file and, for files that exist, one small JSON file that holds the parse, keyed
by the file's identity. YAML is parsed only after a change. No file costs nothing. Loading never writes
but to the cache, and never raises.
"""

from __future__ import annotations

import os

from ways.core import clock, debuglog, files, jsontext
from ways.core.checksum import checksum
from ways.core.record import record
from ways.settings import target_file
from ways.settings.layer import Diagnostic, Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ways.core.roots import Roots

USER, TARGET, PROJECT = "user", "target", "project"
CACHE_VERSION = 2
REFIRE_PRESETS = {"once": 1.0, "rare": 0.4, "normal": 0.15, "frequent": 0.05}
# A file written this shortly before it was parsed may change again within one tick of its clock.
_SETTLED_NS = 2_000_000_000
_CACHE_BYTES = 1 << 20
# Shared by every record and never changed.
_NO_SWITCHES: Mapping[str, bool] = {}
_NO_NUMBERS: Mapping[str, float] = {}


@record
class Settings:
    """What the files say, defaults filled in. `Settings()` is what a user without files has.

    `matching` holds only the numbers that a file sets, by their short names, so that
    `Tuning(**settings.matching)` is the whole. `project_ways` maps a way id or `<prefix>/*` to whether it
    is used.
    """

    enabled: bool = True
    subagents: bool = True
    default_scope: tuple[str, ...] = ("agent",)
    disabled_domains: tuple[str, ...] = ()
    project_ways: Mapping[str, bool] = _NO_SWITCHES
    matching: Mapping[str, float] = _NO_NUMBERS
    refire_presets: Mapping[str, float] = REFIRE_PRESETS
    language: str = "en"
    macro_timeout_ms: int = 5_000
    macro_max_chars: int = 8_000
    engine_threads: int = 1
    engine_resident: bool = True
    engine_idle_minutes: int = 10
    tool_delivery: str = "auto"
    session_links: str = "deny"
    attend_deliver: bool = True
    issues_mirror: bool = True
    issues_api_url: str = "https://api.github.com"
    install_secret_path_deny: bool = False
    install_mode: str = "link"
    install_channel: str = "stable"
    install_auto_check: bool = True
    install_auto_update: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()

    def uses_way(self, way_id: str) -> bool:
        """False when the way's domain or the way itself is switched off: an entry for the way itself
        wins over a prefix, a longer prefix over a shorter one (spec: matching, Order)."""
        if self.disabled_domains and way_id.split("/", 1)[0] in self.disabled_domains:
            return False
        switches = self.project_ways
        if not switches:
            return True
        if way_id in switches:
            return switches[way_id]
        parts = way_id.split("/")
        for count in range(len(parts) - 1, 0, -1):
            prefix = "/".join(parts[:count]) + "/*"
            if prefix in switches:
                return switches[prefix]
        return True


_FIELDS: Mapping[str, tuple[str, type]] = {
    "ways.enabled": ("enabled", bool),
    "ways.subagents": ("subagents", bool),
    "ways.default_scope": ("default_scope", tuple),
    "ways.disabled_domains": ("disabled_domains", tuple),
    "language": ("language", str),
    "macro.timeout_ms": ("macro_timeout_ms", int),
    "macro.max_chars": ("macro_max_chars", int),
    "engine.threads": ("engine_threads", int),
    "engine.resident": ("engine_resident", bool),
    "engine.idle_minutes": ("engine_idle_minutes", int),
    "hooks.tool_delivery": ("tool_delivery", str),
    "hooks.session_links": ("session_links", str),
    "attend.deliver": ("attend_deliver", bool),
    "issues.mirror": ("issues_mirror", bool),
    "issues.api_url": ("issues_api_url", str),
    "install.secret_path_deny": ("install_secret_path_deny", bool),
    "install.mode": ("install_mode", str),
    "install.channel": ("install_channel", str),
    "install.auto_check": ("install_auto_check", bool),
    "install.auto_update": ("install_auto_update", bool),
}


def user_file(roots: Roots) -> str:
    """The user's config.yaml."""
    return os.path.join(roots.config, "config.yaml")


def project_file(project: str) -> str:
    """A project's ways.yaml."""
    return os.path.join(project, ".claude", "ways.yaml")


def load(
    roots: Roots, project: str | None = None, target: str | None = None, *, keep: bool = True
) -> Settings:
    """The settings that hold in this project for this target (a Claude Code config directory), each layer
    over the one before: user, target, project. With `keep` off no parse is put into the cache, for a
    command that must write nothing (a dry run)."""
    layers = []
    user = layer_of(roots, user_file(roots), USER, keep=keep)
    if user is not None:
        layers.append(user)
    if target:
        named = user.values.get("targets") if user is not None else None
        path = target_file.path_of(roots.config, target, roots.home, named)
        below = layer_of(roots, path, TARGET, keep=keep) if path else None
        if below is not None:
            layers.append(below)
    if project:
        top = layer_of(roots, project_file(project), PROJECT, keep=keep)
        if top is not None:
            layers.append(top)
    return combine(layers) if layers else Settings()


def combine(layers: list[Layer]) -> Settings:
    """The settings of layers, lowest first."""
    fields: dict[str, object] = {}
    matching: dict[str, float] = {}
    presets = dict(REFIRE_PRESETS)
    switches: dict[str, bool] = {}
    diagnostics: tuple[Diagnostic, ...] = ()
    for layer in layers:
        diagnostics += layer.diagnostics
        for key, value in layer.values.items():
            value = tuple(value) if isinstance(value, list) else value
            field = _FIELDS.get(key)
            if field is not None and type(value) is field[1]:
                fields[field[0]] = value
            elif key.startswith("matching.") and type(value) in {int, float}:
                matching[key[len("matching.") :]] = value  # type: ignore[assignment]
            elif key.startswith("refire_presets.") and type(value) in {int, float}:
                presets[key[len("refire_presets.") :]] = float(value)  # type: ignore[arg-type]
            elif key.startswith("ways.project.") and type(value) is bool:
                switches[key[len("ways.project.") :]] = value
    if matching:
        fields["matching"] = matching
    if switches:
        fields["project_ways"] = switches
    return Settings(refire_presets=presets, diagnostics=diagnostics, **fields)  # type: ignore[arg-type]


def layer_of(roots: Roots, path: str, scope: str, *, keep: bool = True) -> Layer | None:
    """One file's settings, from the cache while the file is unchanged; None when there is no file.
    With `keep` off the cache is read only."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    if info.st_mode & 0o170000 != 0o100000:
        return None
    identity = [info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns, info.st_dev]
    key = [CACHE_VERSION, path, scope, *identity]
    cache = _cache_path(roots, path, scope)
    cached = _from_cache(cache, key, path)
    return cached if cached is not None else _parse(roots, path, scope, key, cache if keep else "")


def _parse(roots: Roots, path: str, scope: str, key: list[object], cache: str) -> Layer:
    """Parse a file and keep the parse in the file `cache` ("": nowhere)."""
    from ways.settings import parsing

    try:
        data = files.read_bytes(path, parsing.MAX_BYTES + 1)
    except OSError as error:
        fault = Diagnostic(path, 0, "", f"cannot be read: {error.strerror or error}")
        return Layer({}, (fault,))
    layer = parsing.parse(data, path, scope)
    changed = key[4]
    if not cache or (isinstance(changed, int) and 0 <= clock.now_ns() - changed < _SETTLED_NS):
        return layer
    stored = {
        "key": key,
        "values": layer.values,
        "diagnostics": [[item.line, item.key, item.message] for item in layer.diagnostics],
    }
    try:
        files.make_private(os.path.dirname(cache))
        files.write_atomic(cache, jsontext.dump_bytes(stored))
    except OSError as error:
        debuglog.note(roots.state, "settings", f"the parse of {path} cannot be kept: {error}")
    return layer


def _cache_path(roots: Roots, path: str, scope: str) -> str:
    """`{cache}/settings/<scope>-<checksum>.json`; the path inside tells two files of one checksum apart."""
    return os.path.join(roots.cache, "settings", f"{scope}-{checksum(os.fsencode(path)).hex()}.json")


def _from_cache(cache: str, key: list[object], path: str) -> Layer | None:
    """The cached parse; None when it is of another file or another state of it, or damaged."""
    stored = jsontext.object_or_empty(files.read_bytes_or_none(cache, _CACHE_BYTES))
    if stored.get("key") != key:
        return None
    values, rows = stored.get("values"), stored.get("diagnostics")
    if not isinstance(values, dict) or not isinstance(rows, list):
        return None
    diagnostics = []
    for row in rows:
        if not isinstance(row, list) or [type(item) for item in row] != [int, str, str]:
            return None
        diagnostics.append(Diagnostic(path, *row))
    return Layer(values, tuple(diagnostics))
