"""What we want in a settings file: hook groups per event and permission entries.

A slice is built once from a rendered block (the shape of settings.json itself) and trusted after
that. It is checked as strictly as Claude Code checks, because one bad entry costs the user the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None
# The fields of a hook entry, ours or read from a file.
HookFields = Mapping[str, object]

CORE_FIELDS = ("type", "command", "args")
# No matcher, "" and "*" are the same to Claude Code.
MATCHES_EVERYTHING = frozenset({None, "", "*"})
OWNED_PERMISSIONS = ("allow", "deny")


@dataclass(frozen=True)
class Hook:
    """One hook entry as it is written. `fields` keeps the order in which it is rendered."""

    fields: Mapping[str, Json]

    @property
    def command(self) -> str:
        """The shell line, or in exec form the program."""
        return str(self.fields["command"])

    @property
    def args(self) -> tuple[str, ...] | None:
        """The arguments of the exec form, None in shell form."""
        return arguments(self.fields)


@dataclass(frozen=True)
class Group:
    """A matcher group. `matcher` None means every occasion and is written as no member."""

    matcher: str | None
    hooks: tuple[Hook, ...]


@dataclass(frozen=True)
class Slice:
    """Ours: `hooks` by event, and the entries of `permissions.allow` and `permissions.deny`."""

    hooks: Mapping[str, tuple[Group, ...]] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permissions(self, name: str) -> tuple[str, ...]:
        """The entries of one list, `allow` or `deny`."""
        return self.allow if name == "allow" else self.deny

    def entries(self) -> Iterator[tuple[str, Group, Hook]]:
        """Every hook with its event and group."""
        for event, groups in self.hooks.items():
            for group in groups:
                for hook in group.hooks:
                    yield event, group, hook

    def to_block(self) -> dict[str, Json]:
        """The slice in the shape of settings.json."""
        hooks: dict[str, Json] = {
            event: [group_fields(group) for group in groups] for event, groups in self.hooks.items() if groups
        }
        permissions: dict[str, Json] = {
            name: list(self.permissions(name)) for name in OWNED_PERMISSIONS if self.permissions(name)
        }
        block: dict[str, Json] = {}
        if hooks:
            block["hooks"] = hooks
        if permissions:
            block["permissions"] = permissions
        return block


EMPTY = Slice()


def arguments(fields: HookFields) -> tuple[str, ...] | None:
    """The `args` of a hook entry as strings, None when it has none."""
    args = fields.get("args")
    return tuple(str(arg) for arg in args) if isinstance(args, list) else None


def group_fields(group: Group) -> Json:
    """A group in the shape of settings.json."""
    hooks: list[Json] = [dict(hook.fields) for hook in group.hooks]
    return {"hooks": hooks} if group.matcher is None else {"matcher": group.matcher, "hooks": hooks}


def from_block(block: Mapping[str, Json]) -> Slice:
    """The slice that a rendered block describes; other members than ours are an error.

    Raises ValueError naming the place when an entry is not what Claude Code accepts. Duplicates
    within a permission list are dropped.
    """
    unknown = set(block) - {"hooks", "permissions"}
    if unknown:
        raise ValueError(f"settings block: only hooks and permissions are ours, not {sorted(unknown)}")
    hooks = _mapping(block.get("hooks", {}), "hooks")
    permissions = _mapping(block.get("permissions", {}), "permissions")
    stray = set(permissions) - set(OWNED_PERMISSIONS)
    if stray:
        raise ValueError(f"settings block: permissions.{sorted(stray)[0]} is never ours")
    return Slice(
        {event: groups for event, value in hooks.items() if (groups := _groups(value, f"hooks.{event}"))},
        _strings(permissions.get("allow", []), "permissions.allow"),
        _strings(permissions.get("deny", []), "permissions.deny"),
    )


def _groups(value: Json, place: str) -> tuple[Group, ...]:
    groups = tuple(_group(group, f"{place}[{number}]") for number, group in enumerate(_list(value, place)))
    seen = set()
    for group in groups:
        for hook in group.hooks:
            entry = (None if group.matcher in MATCHES_EVERYTHING else group.matcher, hook.command, hook.args)
            if entry in seen:
                raise ValueError(f"settings block: {place} has {hook.command!r} twice for the same matcher")
            seen.add(entry)
    return groups


def _group(value: Json, place: str) -> Group:
    fields = _mapping(value, place)
    if set(fields) - {"matcher", "hooks"}:
        raise ValueError(f"settings block: {place} has keys that Claude Code does not define")
    matcher = fields.get("matcher")
    if matcher is not None and not isinstance(matcher, str):
        raise ValueError(f"settings block: {place}.matcher is no string")
    hooks = _list(fields.get("hooks"), f"{place}.hooks")
    if not hooks:
        raise ValueError(f"settings block: {place}.hooks is empty")
    return Group(matcher, tuple(_hook(hook, f"{place}.hooks[{number}]") for number, hook in enumerate(hooks)))


def _hook(value: Json, place: str) -> Hook:
    fields = _mapping(value, place)
    if fields.get("type") != "command":
        raise ValueError(f"settings block: {place}.type is not 'command'")
    command = fields.get("command")
    if not isinstance(command, str) or not command.strip():
        raise ValueError(f"settings block: {place}.command is no command")
    if "args" in fields:
        _strings(fields["args"], f"{place}.args", unique=False)
    timeout = fields.get("timeout", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout <= 0:
        raise ValueError(f"settings block: {place}.timeout is no positive number of seconds")
    return Hook(dict(fields))


def _mapping(value: Json, place: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise ValueError(f"settings block: {place} is no object")
    return value


def _list(value: Json, place: str) -> list[Json]:
    if not isinstance(value, list):
        raise ValueError(f"settings block: {place} is no list")
    return value


def _strings(value: Json, place: str, unique: bool = True) -> tuple[str, ...]:
    items = _list(value, place)
    strings = tuple(item for item in items if isinstance(item, str))
    if len(strings) != len(items):
        raise ValueError(f"settings block: {place} holds something that is no string")
    return tuple(dict.fromkeys(strings)) if unique else strings
