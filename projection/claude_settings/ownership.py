"""Whose an entry of the live file is: the base and the structure together (spec: projection).

One `Ownership` answers for one pair of file and base; the merge and the check of the user's view use
the same answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from projection.claude_settings.base import Base, Identity, Written, identity
from projection.claude_settings.recognise import Recogniser, Role, exact_role
from projection.claude_settings.slices import HookFields
from projection.claude_settings.text import Plain


@dataclass(frozen=True)
class Ownership:
    """`document` is the live file as plain data, `base` what we know of it."""

    document: Plain
    base: Base | None
    recogniser: Recogniser

    def role(self, event: str, matcher: str | None, fields: HookFields) -> Role | None:
        """The role of a hook entry of ours, None when it is the user's."""
        if self._user_had(event, matcher, fields):
            return None
        role = self.recogniser.role(fields)
        if role:
            return role
        if self.base is None:
            return None
        if identity(event, fields) in self._written:
            return exact_role(fields)
        return self._stripped(event, matcher, fields)

    def permission(self, name: str, entry: str) -> bool:
        """Whether an entry of `permissions.<name>` is ours."""
        if self.base is not None:
            known = self.base.listed(name)
            if entry in known.user_had:
                return False
            if entry in known.written:
                return True
        if name != "allow":
            return False
        where = self.recogniser.permission(entry)
        # Without a base, only the presence of our hooks tells that we, and not the user, wrote it.
        return where == "foreign" or (where == "own" and self.base is None and self._been_here)

    def _user_had(self, event: str, matcher: str | None, fields: HookFields) -> bool:
        wanted = identity(event, fields)
        entries = self.base.hooks_user_had if self.base else ()
        return any(entry.identity == wanted and entry.matcher == matcher for entry in entries)

    def _stripped(self, event: str, matcher: str | None, fields: HookFields) -> Role | None:
        """An exec-form entry of ours that lost its `args` to another program (cases s02, s03)."""
        if self.base is None or "args" in fields:
            return None
        found = [
            entry
            for entry in self.base.hooks
            if entry.event == event and entry.fields.get("command") == fields.get("command")
        ]
        found.sort(key=lambda entry: entry.matcher != matcher)
        return self.wanted_role(found[0].fields) if found else None

    def wanted_role(self, fields: HookFields) -> Role:
        """The role of an entry that is known to be ours."""
        return self.recogniser.role(fields) or exact_role(fields)

    @cached_property
    def _written(self) -> frozenset[Identity]:
        return frozenset(entry.identity for entry in self.base.hooks) if self.base else frozenset()

    @cached_property
    def _been_here(self) -> bool:
        return any(self.recogniser.role(entry.fields) for entry in entries_of(self.document))

    def vanished(self) -> list[Written]:
        """The entries that the base says we wrote and that the file no longer holds (case s01)."""
        if self.base is None:
            return []
        present = {
            (entry.event, role)
            for entry in entries_of(self.document)
            if (role := self.role(entry.event, entry.matcher, entry.fields))
        }
        return [
            entry for entry in self.base.hooks if (entry.event, self.wanted_role(entry.fields)) not in present
        ]


def entries_of(document: Plain) -> Iterator[Written]:
    """Every hook entry of a settings document whose shape has been checked."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            if isinstance(group, dict):
                yield from _entries_of_group(event, group)


def _entries_of_group(event: str, group: Mapping[str, Plain]) -> Iterator[Written]:
    listed = group.get("hooks")
    matcher = matcher_of(group)
    for hook in listed if isinstance(listed, list) else ():
        if isinstance(hook, dict):
            yield Written(event, matcher, hook)


def matcher_of(group: Mapping[str, Plain]) -> str | None:
    """A group's matcher, None when it has none."""
    matcher = group.get("matcher")
    return matcher if isinstance(matcher, str) else None
