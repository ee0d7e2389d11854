"""The merge base: what we wrote last time to one target, and what the user had there already.

Kept in the state root as JSON with its own checksum. A base that is missing, damaged, of another
schema or of another target counts as lost: the merge then goes by structure alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from projection.claude_settings.slices import HookFields, arguments

SCHEMA = 1


@dataclass(frozen=True)
class Written:
    """One hook entry that we wrote: its event, its group's matcher, its fields."""

    event: str
    matcher: str | None
    fields: HookFields

    @property
    def identity(self) -> Identity:
        """What identifies the entry; optional fields never do (case s02)."""
        return identity(self.event, self.fields)


Identity = tuple[str, str, tuple[str, ...] | None]


def identity(event: str, fields: HookFields) -> Identity:
    """Event, command and args of a hook entry."""
    return event, str(fields.get("command")), arguments(fields)


@dataclass(frozen=True)
class Permissions:
    """Entries of one list: those that we wrote, and those of ours that the user had already."""

    written: tuple[str, ...] = ()
    user_had: tuple[str, ...] = ()


@dataclass(frozen=True)
class Base:
    """`target` is the key of the target; `hooks_user_had` are entries equal to ours that stood there
    before; `had_empty` maps the place of a container that the user had empty (`""`, `hooks`,
    `hooks/<event>`, `permissions`, `permissions/allow`) to the blanks between its brackets; `created`
    says that we made the file."""

    target: str
    release: str = ""
    created: bool = False
    hooks: tuple[Written, ...] = ()
    hooks_user_had: tuple[Written, ...] = ()
    permissions: Mapping[str, Permissions] = field(default_factory=dict)
    had_empty: Mapping[str, str] = field(default_factory=dict)

    def listed(self, name: str) -> Permissions:
        """What is known of `permissions.<name>`."""
        return self.permissions.get(name, Permissions())

    def says_the_same(self, other: Base | None) -> bool:
        """Equal but for the release that wrote it."""
        return other is not None and replace(self, release=other.release) == other


def to_bytes(base: Base) -> bytes:
    """The base as a file."""
    return (json.dumps(sealed(base), indent=1) + "\n").encode("ascii")


def sealed(base: Base) -> dict[str, Any]:
    """The base as JSON with its checksum."""
    plain: dict[str, Any] = {"schema": SCHEMA, **_plain(base)}
    return {**plain, "sha256": _seal(plain)}


def from_bytes(data: bytes, target: str) -> Base | None:
    """The base in a file, None when it is damaged, of another schema or of another target."""
    try:
        return unsealed(json.loads(data), target)
    except ValueError:
        return None


def unsealed(sealed_base: Any, target: str) -> Base | None:
    """The base that `sealed` made, None when anything about it is wrong."""
    try:
        plain = dict(sealed_base)
        if plain.pop("sha256") != _seal(plain) or plain["schema"] != SCHEMA or plain["target"] != target:
            return None
        return _parse(plain)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _plain(base: Base) -> dict[str, Any]:
    plain = asdict(replace(base, hooks=(), hooks_user_had=(), permissions={}, had_empty={}))
    plain["hooks"] = [_written(entry) for entry in base.hooks]
    plain["hooks_user_had"] = [_written(entry) for entry in base.hooks_user_had]
    plain["permissions"] = {name: asdict(listed) for name, listed in base.permissions.items()}
    plain["had_empty"] = dict(base.had_empty)
    return plain


def _written(entry: Written) -> dict[str, Any]:
    return {"event": entry.event, "matcher": entry.matcher, "fields": dict(entry.fields)}


def _seal(plain: Mapping[str, Any]) -> str:
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _parse(plain: Mapping[str, Any]) -> Base:
    permissions = {
        str(name): Permissions(tuple(map(str, listed["written"])), tuple(map(str, listed["user_had"])))
        for name, listed in plain["permissions"].items()
    }
    had_empty = {str(place): str(blanks) for place, blanks in plain["had_empty"].items()}
    if any(blanks.strip(" \t\r\n") for blanks in had_empty.values()):
        raise ValueError("blanks expected")
    return Base(
        target=str(plain["target"]),
        release=str(plain["release"]),
        created=bool(plain["created"]),
        hooks=tuple(_entry(entry) for entry in plain["hooks"]),
        hooks_user_had=tuple(_entry(entry) for entry in plain["hooks_user_had"]),
        permissions=permissions,
        had_empty=had_empty,
    )


def _entry(plain: Mapping[str, Any]) -> Written:
    return Written(str(plain["event"]), plain["matcher"], dict(plain["fields"]))
