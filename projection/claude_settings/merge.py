"""The three-way merge: theirs (the live file), ours (what we want), base (what we wrote last).

Pure: documents and records in, bytes and a report out. The list law (spec: projection):

    deprecated = base − ours;  result = (theirs − deprecated − ours) ++ ours

with ours staying where they already are, containers that we empty removed, and those that the user
had empty put back as they were. Withdrawing is the same merge with an empty slice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from projection.claude_settings import text
from projection.claude_settings.base import Base, Permissions, Written
from projection.claude_settings.edits import Edits, Value
from projection.claude_settings.hook_merge import EventChange, merge_event
from projection.claude_settings.ownership import Ownership
from projection.claude_settings.recognise import Recogniser
from projection.claude_settings.report import Report, describe_hook, describe_permission
from projection.claude_settings.slices import OWNED_PERMISSIONS, Group, Slice
from projection.claude_settings.text import Document, Node

_NEW_FILE = b"{}\n"


@dataclass(frozen=True)
class Merged:
    """`after` is the new content, None when no file should be there; `base` is what to remember,
    None for nothing (after a withdrawal)."""

    after: bytes | None
    report: Report
    base: Base | None


@dataclass
class _Work:
    """What the parts of one merge share. `had_empty` grows as empty containers are filled."""

    edits: Edits
    ownership: Ownership
    ours: Slice
    report: Report
    had_empty: dict[str, str]

    def settle(self, place: str, node: Node, removed: set[int], added: Value) -> bool:
        """Change one container; True when that leaves it empty and it should go altogether."""
        if not removed and not added:
            return False
        children = len(node.spans())
        if not children:
            self.had_empty[place] = self.edits.document.text[node.start + 1 : node.end - 1]
        if len(removed) == children and not added:
            if place not in self.had_empty:
                return True
            # From here on it is the user's empty container again, and nothing to remember.
            self.edits.change(node, removed, (), self.had_empty.pop(place))
            return False
        self.edits.change(node, removed, added)  # type: ignore[arg-type]
        return False


def merge(
    theirs: Document | None,
    ours: Slice,
    base: Base | None,
    recogniser: Recogniser,
    *,
    target: str = "",
    release: str = "",
) -> Merged:
    """Merge our slice into a document (None: there is no file), whose shape has been checked.

    `target` and `release` are noted in the new base: the key of the target and the program's version.
    """
    if theirs is None and not ours.hooks and not ours.allow and not ours.deny:
        return Merged(None, Report(), None)
    document = text.parse(_NEW_FILE) if theirs is None else theirs
    created = theirs is None or (base is not None and base.created)
    ownership = Ownership(text.plain(document.root), base, recogniser)
    had_empty = _still_filled(document.root, base.had_empty if base else {})
    work = _Work(Edits(document), ownership, ours, Report(), had_empty)
    work.report.vanished.extend(_vanished(ownership))
    hooks, hooks_user_had, hooks_gone, hooks_new = _merge_hooks(work, document.root.get("hooks"))
    permissions, permissions_gone, permissions_new = _merge_permissions(
        work, document.root.get("permissions")
    )
    gone = {name for name, is_gone in (("hooks", hooks_gone), ("permissions", permissions_gone)) if is_gone}
    new = {"hooks": hooks_new, "permissions": permissions_new}
    added: dict[str, Value] = {name: value for name, value in new.items() if value}
    _settle_root(work, document.root, gone, added)
    after = document.encode(work.edits.apply())
    if created and not hooks and not permissions and not text.parse(after).root.members:
        return Merged(None, work.report, None)
    if not (hooks or hooks_user_had or permissions):
        return Merged(after, work.report, None)
    new_base = Base(target, release, created, hooks, hooks_user_had, permissions, work.had_empty)
    return Merged(after, work.report, new_base)


def _still_filled(root: Node, had_empty: Mapping[str, str]) -> dict[str, str]:
    """Of the containers that the user once had empty, those that are there and hold something."""
    found = {}
    for place, blanks in had_empty.items():
        node: Node | None = root
        if place:
            top, _, name = place.partition("/")
            node = root.get(top)
            node = node.get(name) if node and name else node
        if node and node.spans():
            found[place] = blanks
    return found


def _vanished(ownership: Ownership) -> list[str]:
    lines = [describe_hook(entry.event, entry.matcher, entry.fields) for entry in ownership.vanished()]
    document = ownership.document
    permissions = document.get("permissions") if isinstance(document, dict) else None
    for name, known in (ownership.base.permissions if ownership.base else {}).items():
        listed = permissions.get(name) if isinstance(permissions, dict) else None
        present = listed if isinstance(listed, list) else []
        lines += [describe_permission(name, entry) for entry in known.written if entry not in present]
    return lines


def _merge_hooks(
    work: _Work, node: Node | None
) -> tuple[tuple[Written, ...], tuple[Written, ...], bool, Value]:
    """Returns what is written, what the user had, whether `hooks` goes, and a new `hooks`."""
    written: list[Written] = []
    user_had: list[Written] = []
    gone: set[int] = set()
    members = node.members if node else []
    events = [member.key for member in members]
    for number, member in enumerate(members):
        ours = work.ours.hooks.get(member.key, ())
        change = _merge_event(work, member.key, member.value.items, ours)
        written += change.written
        user_had += change.user_had
        place = f"hooks/{member.key}"
        if work.settle(place, member.value, set(change.removed), list(change.added)):
            gone.add(number)
    new: dict[str, Value] = {}
    for event, groups in work.ours.hooks.items():
        if event not in events:
            change = _merge_event(work, event, [], groups)
            written += change.written
            new[event] = list(change.added)
    if node is None:
        return tuple(written), tuple(user_had), False, new
    return tuple(written), tuple(user_had), work.settle("hooks", node, gone, new), {}


def _merge_event(work: _Work, event: str, groups: list[Node], ours: tuple[Group, ...]) -> EventChange:
    return merge_event(event, groups, ours, ownership=work.ownership, edits=work.edits, report=work.report)


def _merge_permissions(work: _Work, node: Node | None) -> tuple[dict[str, Permissions], bool, Value]:
    """Returns what is known of each list, whether `permissions` goes, and a new `permissions`."""
    known: dict[str, Permissions] = {}
    new: dict[str, Value] = {}
    gone: set[int] = set()
    keys = [member.key for member in node.members] if node else []
    for name in OWNED_PERMISSIONS:
        listed = node.get(name) if node else None
        removed, added, permissions = _merge_list(work, name, listed)
        if permissions != Permissions():
            known[name] = permissions
        if listed is None:
            if added:
                new[name] = list(added)
        elif work.settle(f"permissions/{name}", listed, removed, list(added)):
            gone.add(keys.index(name))
    if node is None:
        return known, False, new
    return known, work.settle("permissions", node, gone, new), {}


def _merge_list(work: _Work, name: str, listed: Node | None) -> tuple[set[int], list[str], Permissions]:
    """The list law for one list of permissions."""
    wanted = work.ours.permissions(name)
    removed: set[int] = set()
    standing: set[str] = set()
    user_had: set[str] = set()
    for number, item in enumerate(listed.items if listed else []):
        entry = str(item.value)
        line = describe_permission(name, entry)
        if not work.ownership.permission(name, entry):
            user_had.add(entry)
        elif entry in wanted and entry not in standing:
            standing.add(entry)
            work.report.kept.append(line)
        else:
            removed.add(number)
            (work.report.collapsed if entry in wanted else work.report.removed).append(line)
    added = [entry for entry in wanted if entry not in standing and entry not in user_had]
    work.report.added.extend(describe_permission(name, entry) for entry in added)
    return (
        removed,
        added,
        Permissions(
            tuple(entry for entry in wanted if entry not in user_had),
            tuple(entry for entry in wanted if entry in user_had),
        ),
    )


def _settle_root(work: _Work, root: Node, gone: set[str], added: dict[str, Value]) -> None:
    numbers = {number for number, member in enumerate(root.members) if member.key in gone}
    if not numbers and not added:
        return
    if not root.members:
        work.had_empty[""] = work.edits.document.text[root.start + 1 : root.end - 1]
    work.edits.change(root, numbers, added, work.had_empty.get("", ""))
