"""The user's view of a settings document: the document minus our slice, as plain data.

Worked out without the editing code, so that comparing it before and after a write is a check of
that code and not a repetition of it (spec: projection, "Writing").
"""

from __future__ import annotations

from collections.abc import Mapping

from projection.claude_settings.ownership import Ownership, matcher_of
from projection.claude_settings.slices import OWNED_PERMISSIONS
from projection.claude_settings.text import Plain


def users_view(ownership: Ownership) -> Plain:
    """What the file would say had we never run, as far as the base and the structure tell."""
    document = ownership.document
    if not isinstance(document, dict):
        return document
    had_empty = ownership.base.had_empty if ownership.base else {}
    view = dict(document)
    hooks = document.get("hooks")
    if isinstance(hooks, dict):
        events = {event: _groups(ownership, event, groups) for event, groups in hooks.items()}
        _put_back(view, "hooks", hooks, _without_emptied(hooks, events, "hooks", had_empty), had_empty)
    permissions = document.get("permissions")
    if isinstance(permissions, dict):
        lists = {name: _entries(ownership, name, listed) for name, listed in permissions.items()}
        left = _without_emptied(permissions, lists, "permissions", had_empty)
        _put_back(view, "permissions", permissions, left, had_empty)
    return view


def _groups(ownership: Ownership, event: str, groups: Plain) -> Plain:
    if not isinstance(groups, list):
        return groups
    kept: list[Plain] = []
    for group in groups:
        listed = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(group, dict) or not isinstance(listed, list):
            kept.append(group)
            continue
        matcher = matcher_of(group)
        theirs = [hook for hook in listed if not _is_ours(ownership, event, matcher, hook)]
        if theirs or not listed:
            kept.append({**group, "hooks": theirs})
    return kept


def _is_ours(ownership: Ownership, event: str, matcher: str | None, hook: Plain) -> bool:
    fields: Mapping[str, Plain] = hook if isinstance(hook, dict) else {}
    return ownership.role(event, matcher, fields) is not None


def _entries(ownership: Ownership, name: str, listed: Plain) -> Plain:
    if name not in OWNED_PERMISSIONS or not isinstance(listed, list):
        return listed
    return [entry for entry in listed if not ownership.permission(name, str(entry))]


def _without_emptied(
    before: Mapping[str, Plain], after: Mapping[str, Plain], place: str, had_empty: Mapping[str, str]
) -> dict[str, Plain]:
    """The members that hold something, were empty before, or that the user had empty."""
    return {
        key: value
        for key, value in after.items()
        if value or not before[key] or f"{place}/{key}" in had_empty
    }


def _put_back(
    view: dict[str, Plain],
    key: str,
    before: Mapping[str, Plain],
    left: dict[str, Plain],
    had_empty: Mapping[str, str],
) -> None:
    if left or not before or key in had_empty:
        view[key] = left
    else:
        del view[key]
