"""`gate:` in `{config}/agent.yaml`: mode, engine, concurrency and profiles (spec: judge and agent).

The shipped profiles are data (`profiles.json` beside this file); `agent.yaml` overrides any field of
one and adds profiles. Unlike other sections, a mistake anywhere in this one is an error and not a
default: a misspelt `mode: off` must not leave the gate on.
"""

from __future__ import annotations

import os

from ways.core import files, jsontext
from ways.core.record import record, replace
from ways.gate.types import ENFORCE, MODES, OFF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FILE_NAME = "agent.yaml"
MAX_FILE = 256 << 10
ANTHROPIC, OPENROUTER = "anthropic", "openrouter"
PROVIDERS = (ANTHROPIC, OPENROUTER)
_GATE_KEYS = ("mode", "engine", "concurrency", "profiles")
# What our own request is made of; a profile may add to it, never replace it.
_RESERVED_BODY = frozenset({"model", "messages", "system", "tools", "tool_choice", "stream", "max_tokens"})


class ConfigError(Exception):
    """`agent.yaml` or a shipped profile is broken: which key, what is wrong and, when known, where."""

    def __init__(self, message: str, key: tuple[str, ...] = (), line: int = 0) -> None:
        where = f"{FILE_NAME} line {line}" if line else FILE_NAME
        super().__init__(f"{where}: {'.'.join(key)}: {message}" if key else f"{where}: {message}")
        self.message = message
        self.key = key
        self.line = line


@record
class Profile:
    """One engine. `timeout_ms` is the whole request's deadline; prices are USD for a million tokens
    (None: unknown); `temperature` None is not sent; `extra_body` is added to the provider's request."""

    name: str
    provider: str
    base_url: str
    model: str
    threshold: float
    turns: int
    max_candidates: int
    timeout_ms: int
    temperature: float | None
    price_input: float | None
    price_output: float | None
    extra_body: Mapping[str, Any]


@record
class GateSettings:
    """The whole section. `engine` names one of `profiles`."""

    mode: str
    engine: str
    concurrency: int
    profiles: Mapping[str, Profile]

    @property
    def profile(self) -> Profile:
        """The active profile."""
        return self.profiles[self.engine]


def path_of(config_root: str) -> str:
    """The settings file of the gate."""
    return os.path.join(config_root, FILE_NAME)


def load(config_root: str) -> GateSettings:
    """The section as the file says it; the shipped defaults without a file. Raises ConfigError."""
    path = path_of(config_root)
    try:
        data = files.read_bytes(path, MAX_FILE + 1)
    except FileNotFoundError:
        return parse({})
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}") from error
    if len(data) > MAX_FILE:
        raise ConfigError(f"larger than {MAX_FILE} bytes")
    return parse_text(data)


def parse_text(data: bytes) -> GateSettings:
    """The section in a file's bytes. Raises ConfigError, with the line where that is known."""
    import yaml

    from ways.core.text import decode

    text = decode(data)
    try:
        document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ConfigError(error.problem or "not YAML", (), mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"not YAML ({type(error).__name__})") from error
    if document is None:
        return parse({})
    if not isinstance(document, dict):
        raise ConfigError("a mapping is expected at the top")
    try:
        return parse({} if document.get("gate") is None else document["gate"])
    except ConfigError as error:
        raise ConfigError(error.message, error.key, _line_of(text, error.key)) from error


def parse(section: object) -> GateSettings:
    """The settings that the `gate:` mapping gives over the shipped profiles. Raises ConfigError."""
    gate = _mapping(section, ("gate",))
    _known(gate, _GATE_KEYS, ("gate",))
    profiles = _profiles(gate.get("profiles"))
    engine = gate.get("engine", ANTHROPIC)
    if not isinstance(engine, str) or engine not in profiles:
        raise ConfigError(
            f"no profile has the name {engine!r} (known: {', '.join(profiles)})", ("gate", "engine")
        )
    return GateSettings(
        mode=_mode(gate.get("mode", ENFORCE)),
        engine=engine,
        concurrency=_integer(gate.get("concurrency", 4), ("gate", "concurrency"), 1, 32),
        profiles=profiles,
    )


def shipped_profiles() -> dict[str, Any]:
    """The shipped profiles as plain data."""
    data = files.read_bytes(os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiles.json"))
    shipped: dict[str, Any] = jsontext.loads(data)
    return shipped


def _profiles(section: object) -> dict[str, Profile]:
    raw = shipped_profiles()
    own = {} if section is None else _mapping(section, ("gate", "profiles"))
    for name, fields in own.items():
        key = ("gate", "profiles", name)
        changes = _mapping({} if fields is None else fields, key)
        # A profile of the user's own starts from the shipped one of its provider.
        base = raw.get(name) or raw.get(str(changes.get("provider"))) or {}
        raw[name] = {**base, **changes}
    return {name: _profile(name, fields) for name, fields in raw.items()}


def _profile(name: str, fields: Mapping[str, Any]) -> Profile:
    key = ("gate", "profiles", name)
    if not name or not all(c.isalnum() or c in "-_." for c in name):
        raise ConfigError("a profile's name is made of letters, digits, '-', '_' and '.'", key)
    _known(fields, (*_FIELDS, "prices"), key)
    values: dict[str, Any] = {}
    for field, parser in _FIELDS.items():
        if field not in fields:
            raise ConfigError("is missing", (*key, field))
        values[field] = parser(fields[field], (*key, field))
    price_input, price_output = _prices(fields.get("prices"), (*key, "prices"))
    profile = Profile(name=name, price_input=price_input, price_output=price_output, **values)
    if profile.provider == OPENROUTER and profile.model.count("/") != 1:
        raise ConfigError("an OpenRouter model is written author/name", (*key, "model"))
    return replace(profile, base_url=profile.base_url.rstrip("/"))


def _mode(value: object) -> str:
    # YAML 1.1 reads a bare `off` as false.
    value = OFF if value is False else value
    if value not in MODES:
        raise ConfigError(f"{value!r} is not one of {', '.join(MODES)}", ("gate", "mode"))
    return str(value)


def _mapping(value: object, key: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ConfigError("a mapping is expected", key)
    return value


def _known(fields: Mapping[str, Any], names: tuple[str, ...], key: tuple[str, ...]) -> None:
    for name in fields:
        if name not in names:
            raise ConfigError(f"unknown key (known: {', '.join(names)})", (*key, name))


def _number(value: object, key: tuple[str, ...], low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ConfigError(f"{value!r} is not a number from {low:g} to {high:g}", key)
    return float(value)


def _integer(value: object, key: tuple[str, ...], low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ConfigError(f"{value!r} is not a whole number from {low} to {high}", key)
    return value


def _provider(value: object, key: tuple[str, ...]) -> str:
    if value not in PROVIDERS:
        raise ConfigError(f"{value!r} is not one of {', '.join(PROVIDERS)}", key)
    return str(value)


def _word(value: object, key: tuple[str, ...]) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 200 or not value.isprintable() or " " in value:
        raise ConfigError("one word of at most 200 characters is expected", key)
    return value


def _base_url(value: object, key: tuple[str, ...]) -> str:
    """An https URL; http only to this machine, because the key travels with every request."""
    url = _word(value, key)
    scheme, separator, rest = url.partition("://")
    authority = rest.split("/", 1)[0]
    if not separator or not authority or "@" in authority or any(c in rest for c in "?#\\"):
        raise ConfigError("a URL such as https://api.example.com is expected", key)
    if scheme == "https" or (scheme == "http" and is_loopback(authority)):
        return url
    raise ConfigError("must be https (plain http only to this machine)", key)


def is_loopback(authority: str) -> bool:
    """True for `localhost`, `127.x.y.z` and `[::1]`, with or without a port."""
    host = authority.split("]", 1)[0] + "]" if authority.startswith("[") else authority.rsplit(":", 1)[0]
    if host in {"localhost", "[::1]"}:
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isascii() and part.isdigit() for part in parts)


def _temperature(value: object, key: tuple[str, ...]) -> float | None:
    return None if value is None or value == "none" else _number(value, key, 0, 2)


def _extra_body(value: object, key: tuple[str, ...]) -> Mapping[str, Any]:
    body = {} if value is None else _mapping(value, key)
    for name in body:
        if name in _RESERVED_BODY:
            raise ConfigError("cannot be replaced", (*key, name))
    return body


def _prices(value: object, key: tuple[str, ...]) -> tuple[float | None, float | None]:
    """`{input, output}` or `[input, output]`, USD for a million tokens; absent: unknown."""
    if value is None:
        return None, None
    if isinstance(value, list) and len(value) == 2:
        value = {"input": value[0], "output": value[1]}
    pair = _mapping(value, key)
    _known(pair, ("input", "output"), key)
    if len(pair) != 2:
        raise ConfigError("both input and output are needed", key)
    return _number(pair["input"], key, 0, 100_000), _number(pair["output"], key, 0, 100_000)


_FIELDS: dict[str, Callable[[object, tuple[str, ...]], Any]] = {
    "provider": _provider,
    "base_url": _base_url,
    "model": _word,
    "threshold": lambda value, key: _number(value, key, 0, 1),
    "turns": lambda value, key: _integer(value, key, 1, 2),
    "max_candidates": lambda value, key: _integer(value, key, 1, 24),
    "timeout_ms": lambda value, key: _integer(value, key, 100, 10_000),
    "temperature": _temperature,
    "extra_body": _extra_body,
}


def _line_of(text: str, key: tuple[str, ...]) -> int:
    """The line (1-based) of a dotted key or of its nearest existing parent, 0 when there is none."""
    import yaml

    node: Any = yaml.compose(text, yaml.SafeLoader)
    line = 0
    for name in key:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = next((pair for pair in pairs if getattr(pair[0], "value", None) == name), None)
        if found is None:
            break
        line = found[0].start_mark.line + 1
        node = found[1]
    return line
