"""The merge of one event's matcher groups (spec: projection, "Hooks" and "Healing").

Each group that we want gets at most one home: a group in the file whose every command is ours. It is
healed where it stands. Everything else of ours in the event is removed: duplicates, what this release
no longer ships, and our commands inside the user's own groups, which keep their bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from projection.claude_settings.base import Written, identity
from projection.claude_settings.edits import Edits, Raw, Value
from projection.claude_settings.ownership import Ownership, matcher_of
from projection.claude_settings.recognise import Role
from projection.claude_settings.report import Report, describe_hook
from projection.claude_settings.slices import CORE_FIELDS, MATCHES_EVERYTHING, Group, Hook, HookFields, Json
from projection.claude_settings.text import Node, Number, Plain, plain


@dataclass(eq=False)
class _Found:
    """One entry of ours in the file."""

    index: int
    node: Node
    fields: Mapping[str, Plain]
    matcher: str | None
    role: Role
    taken: bool = False


@dataclass(eq=False)
class _Theirs:
    """One group in the file. `pure` means that it holds commands and all of them are ours."""

    index: int
    node: Node
    matcher: str | None
    found: list[_Found]
    pure: bool


@dataclass(eq=False)
class _Wanted:
    """One group that we want, its home, and which entry of the file becomes which hook."""

    matcher: str | None
    hooks: tuple[Hook, ...]
    roles: list[Role]
    home: _Theirs | None = None
    matched: dict[int, _Found] = field(default_factory=dict)
    moved: dict[int, _Found] = field(default_factory=dict)


@dataclass(frozen=True)
class EventChange:
    """Which groups go from the event's list, which come, and what of ours the user had already."""

    removed: frozenset[int]
    added: tuple[Value, ...]
    written: tuple[Written, ...]
    user_had: tuple[Written, ...]


def merge_event(
    event: str,
    groups: Iterable[Node],
    ours: tuple[Group, ...],
    *,
    ownership: Ownership,
    edits: Edits,
    report: Report,
) -> EventChange:
    """Plan one event. Edits inside groups go to `edits`; adding and removing groups is returned."""
    theirs = [_theirs(event, number, node, ownership) for number, node in enumerate(groups)]
    user_had = tuple(_user_had(event, theirs, ours, ownership))
    wanted = _wanted(event, ours, user_had, ownership)
    _assign_homes(wanted, theirs)
    _match(wanted, theirs)
    known = _Known(event, ownership)
    added = tuple(_settle(group, known, edits, report) for group in wanted)
    removed = _clear(event, theirs, wanted, edits, report)
    written = tuple(Written(event, group.matcher, hook.fields) for group in wanted for hook in group.hooks)
    return EventChange(removed, tuple(group for group in added if group is not None), written, user_had)


def _theirs(event: str, index: int, node: Node, ownership: Ownership) -> _Theirs:
    group = plain(node)
    matcher = matcher_of(group) if isinstance(group, dict) else None
    listed = node.get("hooks")
    items = listed.items if listed else []
    found = []
    for number, item in enumerate(items):
        fields = plain(item)
        if isinstance(fields, dict):
            role = ownership.role(event, matcher, fields)
            if role:
                found.append(_Found(number, item, fields, matcher, role))
    return _Theirs(index, node, matcher, found, bool(items) and len(found) == len(items))


def _user_had(
    event: str, theirs: list[_Theirs], ours: tuple[Group, ...], ownership: Ownership
) -> Iterable[Written]:
    """Entries equal to ours, in a group with the same matcher, that are the user's own."""
    standing = set()
    for group in theirs:
        mine = {found.index for found in group.found}
        listed = group.node.get("hooks")
        for number, item in enumerate(listed.items if listed else []):
            fields = plain(item)
            if number not in mine and isinstance(fields, dict):
                standing.add((group.matcher, identity(event, fields)))
    for wish in ours:
        for hook in wish.hooks:
            if (wish.matcher, identity(event, hook.fields)) in standing:
                yield Written(event, wish.matcher, hook.fields)


def _wanted(
    event: str, ours: tuple[Group, ...], user_had: tuple[Written, ...], ownership: Ownership
) -> list[_Wanted]:
    had = {(entry.matcher, entry.identity) for entry in user_had}
    wanted = []
    for group in ours:
        hooks = tuple(
            hook for hook in group.hooks if (group.matcher, identity(event, hook.fields)) not in had
        )
        if hooks:
            roles = [ownership.wanted_role(hook.fields) for hook in hooks]
            wanted.append(_Wanted(group.matcher, hooks, roles))
    return wanted


def _assign_homes(wanted: list[_Wanted], theirs: list[_Theirs]) -> None:
    """The best pairs first: same matcher, then what is spelt just as we want it, then the most roles in
    common, then the order of the file."""
    pairs = []
    for number, want in enumerate(wanted):
        spelt = {identity("", hook.fields) for hook in want.hooks}
        for group in theirs:
            common = Counter(want.roles) & Counter(found.role for found in group.found)
            if group.pure and common:
                apart = not same_matcher(want.matcher, group.matcher)
                exact = len(spelt & {identity("", found.fields) for found in group.found})
                pairs.append((apart, -exact, -common.total(), group.index, number))
    taken: set[int] = set()
    for *_, index, number in sorted(pairs):
        if index not in taken and wanted[number].home is None:
            wanted[number].home = theirs[index]
            taken.add(index)


def _match(wanted: list[_Wanted], theirs: list[_Theirs]) -> None:
    """Which entry becomes which hook: inside the home first (the exact spelling before another one of
    the same role), then from anywhere in the event, so that what the user put on it comes along."""
    for exact in (True, False):
        for want in wanted:
            for number in range(len(want.hooks)):
                if want.home and number not in want.matched:
                    _take(want, number, want.matched, want.home.found, exact)
    everything = [found for group in theirs for found in group.found]
    for want in wanted:
        near = sorted(everything, key=lambda found: not same_matcher(found.matcher, want.matcher))
        for number in range(len(want.hooks)):
            if number not in want.matched:
                _take(want, number, want.moved, near, False)


def _take(want: _Wanted, number: int, into: dict[int, _Found], among: list[_Found], exact: bool) -> None:
    hook = want.hooks[number]
    for found in among:
        if found.taken or found.role != want.roles[number]:
            continue
        if exact and identity("", found.fields) != identity("", hook.fields):
            continue
        found.taken = True
        into[number] = found
        return


@dataclass(frozen=True)
class _Known:
    """What the base says about optional fields of our entries in one event."""

    event: str
    ownership: Ownership

    def fields(self, role: Role, matcher: str | None) -> HookFields:
        base = self.ownership.base
        found = [
            entry
            for entry in (base.hooks if base else ())
            if entry.event == self.event and self.ownership.wanted_role(entry.fields) == role
        ]
        found.sort(key=lambda entry: entry.matcher != matcher)
        return found[0].fields if found else {}


def _settle(want: _Wanted, known: _Known, edits: Edits, report: Report) -> Value | None:
    """Heal a group in its home, or return it as a new one."""
    if want.home is None:
        hooks = [_placed(want, number, known, edits, report) for number in range(len(want.hooks))]
        return {"hooks": hooks} if want.matcher is None else {"matcher": want.matcher, "hooks": hooks}
    home = want.home
    matcher_healed = _heal_matcher(want, home, edits)
    for number, found in want.matched.items():
        base_fields = known.fields(want.roles[number], want.matcher)
        changes, removed = _differences(want.hooks[number].fields, found.fields, base_fields)
        _heal_fields(found, changes, removed, edits)
        if changes or removed or matcher_healed:
            _note(known.event, want, number, found, report)
        else:
            report.kept.append(describe_hook(known.event, want.matcher, found.fields))
    missing = [number for number in range(len(want.hooks)) if number not in want.matched]
    added = [_placed(want, number, known, edits, report) for number in missing]
    listed = home.node.get("hooks")
    surplus = {found.index for found in home.found if found not in want.matched.values()}
    if listed and (surplus or added):
        edits.change(listed, surplus, added)
    return None


def _placed(want: _Wanted, number: int, known: _Known, edits: Edits, report: Report) -> dict[str, Value]:
    """A hook as it is added: ours, with what the user had put on an entry that moves here."""
    hook = want.hooks[number]
    fields: dict[str, Value] = dict(hook.fields)
    found = want.moved.get(number)
    if found is None:
        report.added.append(describe_hook(known.event, want.matcher, hook.fields))
        return fields
    base_fields = known.fields(want.roles[number], want.matcher)
    changes, removed = _differences(hook.fields, found.fields, base_fields)
    for member in found.node.members:
        if member.key not in changes and member.key not in removed:
            fields[member.key] = Raw(edits.document.raw(member.value))
    _note(known.event, want, number, found, report)
    return fields


def _note(event: str, want: _Wanted, number: int, found: _Found, report: Report) -> None:
    hook = want.hooks[number]
    line = describe_hook(event, want.matcher, hook.fields)
    if found.fields.get("command") == hook.command:
        report.healed.append(line)
    else:
        before = describe_hook(event, found.matcher, found.fields)
        report.replaced.append(f"{before} -> {line}")


def _differences(
    want: Mapping[str, Json], have: Mapping[str, Plain], base: HookFields
) -> tuple[dict[str, Json], set[str]]:
    """Fields to set and fields to take away. Type, command and args are ours alone; of the others a
    value stays that the user put there, which is one that the base does not know."""
    changes: dict[str, Json] = {}
    removed: set[str] = set()
    for key in (*CORE_FIELDS, *(key for key in want if key not in CORE_FIELDS)):
        if key not in want:
            if key in have:
                removed.add(key)
        elif key not in have or (
            not same(have[key], want[key])
            and (key in CORE_FIELDS or (key in base and same(have[key], base[key])))
        ):
            changes[key] = want[key]
    for key in base:
        if key not in want and key not in CORE_FIELDS and key in have and same(have[key], base[key]):
            removed.add(key)
    return changes, removed


def _heal_fields(found: _Found, changes: Mapping[str, Json], removed: set[str], edits: Edits) -> None:
    numbers = {member.key: number for number, member in enumerate(found.node.members)}
    for key, value in changes.items():
        if key in numbers:
            edits.replace(found.node.members[numbers[key]].value, value)
    added = {key: value for key, value in changes.items() if key not in numbers}
    gone = {numbers[key] for key in removed}
    if added or gone:
        edits.change(found.node, gone, added)


def _heal_matcher(want: _Wanted, home: _Theirs, edits: Edits) -> bool:
    if same_matcher(want.matcher, home.matcher):
        return False
    keys = [member.key for member in home.node.members]
    if want.matcher is None:
        edits.change(home.node, {keys.index("matcher")})
    elif "matcher" in keys:
        edits.replace(home.node.members[keys.index("matcher")].value, want.matcher)
    else:
        edits.change(home.node, set(), {"matcher": want.matcher})
    return True


def _clear(
    event: str, theirs: list[_Theirs], wanted: list[_Wanted], edits: Edits, report: Report
) -> frozenset[int]:
    """Remove what is ours and stands nowhere in the wanted groups; returns the groups that go."""
    homes = {want.home.index for want in wanted if want.home}
    roles = {role for want in wanted for role in want.roles}
    removed = set()
    for group in theirs:
        for found in group.found:
            if not found.taken:
                line = describe_hook(event, group.matcher, found.fields)
                (report.collapsed if found.role in roles else report.removed).append(line)
        if group.index in homes or not group.found:
            continue
        listed = group.node.get("hooks")
        if group.pure:
            removed.add(group.index)
        elif listed:
            edits.change(listed, {found.index for found in group.found})
    return frozenset(removed)


def same_matcher(one: str | None, other: str | None) -> bool:
    """Equal, or both mean every occasion."""
    return one == other or (one in MATCHES_EVERYTHING and other in MATCHES_EVERYTHING)


def same(have: object, want: object) -> bool:
    """Whether a value of the file equals one of ours; `10` and `10.0` are the same number."""
    if isinstance(have, Number):
        if isinstance(want, bool) or not isinstance(want, int | float):
            return False
        return _number(have.spelling) == Decimal(str(want))
    if isinstance(have, list) and isinstance(want, list):
        return len(have) == len(want) and all(map(same, have, want))
    if isinstance(have, dict) and isinstance(want, dict):
        return have.keys() == want.keys() and all(same(have[key], want[key]) for key in have)
    return type(have) is type(want) and have == want


def _number(spelling: str) -> Decimal | None:
    """A number of the file, None for one that is too large to be held."""
    try:
        return Decimal(spelling)
    except InvalidOperation:
        return None
