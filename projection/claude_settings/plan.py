"""Planning the merge into one settings file: reading and deciding, nothing is changed.

A plan is plain data that prints, turns into JSON and shows a diff; a file that must not be touched
gives a plan with a refusal in it, so that a dry run and other targets go on.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import dataclass
from typing import Any, Literal

from projection.claude_settings import shape, store, text
from projection.claude_settings.base import Base
from projection.claude_settings.context import SettingsContext
from projection.claude_settings.merge import Merged, merge
from projection.claude_settings.ownership import Ownership
from projection.claude_settings.recognise import Recogniser
from projection.claude_settings.report import Report, printable, printable_path
from projection.claude_settings.slices import Slice
from projection.claude_settings.text import Document, Malformed, Number, Plain
from projection.claude_settings.view import users_view
from projection.system import FileInfo, System
from ways.core.errors import REFUSED, WRITE_FAILED, UserError

MAX_LINKS = 40
Action = Literal["unchanged", "create", "write", "remove", "refused"]


@dataclass(frozen=True)
class Refusal:
    """Why a file is left alone. `line` and `column` count from 1, 0 when no place is meant;
    `exit_code` is 3 (to protect the file) or 5 (it cannot be written)."""

    path: str
    what: str
    line: int = 0
    column: int = 0
    exit_code: int = REFUSED

    @property
    def message(self) -> str:
        """`path:line:column: what`."""
        place = f":{self.line}:{self.column}" if self.line else ""
        return f"{printable_path(self.path)}{place}: {printable(self.what, 1000)}"

    def error(self) -> UserError:
        """The refusal as the error that the command line shows."""
        return UserError(self.message, "ways reconcile", self.exit_code)


@dataclass(frozen=True)
class Snapshot:
    """A settings file as it was read: the real file behind all links, its content (None: no file)
    and what the file system said of it."""

    real_path: str
    content: bytes | None
    info: FileInfo | None


@dataclass(frozen=True)
class SettingsPlan:
    """What will happen to one settings file, and all that applying it needs."""

    path: str
    action: Action
    snapshot: Snapshot
    after: bytes | None
    report: Report
    warnings: tuple[str, ...]
    refusal: Refusal | None
    base: Base | None
    base_is_tidy: bool
    view: Plain
    ours: Slice
    context: SettingsContext

    @property
    def changes_something(self) -> bool:
        """True when applying would write or remove the file."""
        return self.action in {"create", "write", "remove"}

    def diff(self) -> str:
        """A unified diff of the file, "" when it stays as it is."""
        if not self.changes_something:
            return ""
        import difflib

        before, after = (_lines(content) for content in (self.snapshot.content, self.after))
        return "".join(difflib.unified_diff(before, after, self.path, self.path))

    def to_json(self) -> dict[str, Any]:
        """The plan as data for `--json`."""
        return {
            "path": self.path,
            "real_path": self.snapshot.real_path,
            "action": self.action,
            "warnings": list(self.warnings),
            "refusal": self.refusal.message if self.refusal else None,
            "exit_code": self.refusal.exit_code if self.refusal else 0,
            **self.report.to_json(),
            "diff": self.diff(),
        }


def plan_settings(system: System, path: str, ours: Slice, context: SettingsContext) -> SettingsPlan:
    """Plan the merge of `ours` into the settings file at `path` (an empty slice withdraws).

    Never raises for anything about the file: what stands in the way is the plan's `refusal`.
    """
    snapshot, refusal = take_snapshot(system, path)
    if refusal:
        return _refused(path, snapshot, refusal, ours, context)
    try:
        document = text.parse(snapshot.content) if snapshot.content is not None else None
        if document:
            shape.check(document)
    except Malformed as fault:
        refusal = Refusal(path, fault.what, fault.line, fault.column)
        return _refused(path, snapshot, refusal, ours, context)
    plain = text.plain(document.root) if document else {}
    known = store.load(system, context.store, context.key, snapshot.content, plain)
    recogniser = context.recogniser(system, ours)
    merged = merge(document, ours, known.base, recogniser, target=context.key, release=context.release)
    view = users_view(Ownership(plain, known.base, recogniser))
    action = _action(snapshot.content, merged.after)
    if action != "unchanged":
        refusal = _prove(path, merged, view, ours=ours, context=context, recogniser=recogniser) or _obstacle(
            system, path, snapshot
        )
    return SettingsPlan(
        path=path,
        action="refused" if refusal else action,
        snapshot=snapshot,
        after=merged.after,
        report=merged.report,
        warnings=_warnings(snapshot, action, known.damaged),
        refusal=refusal,
        base=merged.base,
        base_is_tidy=known.tidy and _same_base(merged.base, known.base),
        view=view,
        ours=ours,
        context=context,
    )


def take_snapshot(system: System, path: str) -> tuple[Snapshot, Refusal | None]:
    """Follow every link to the real file and read it."""
    real, refusal = _follow(system, path)
    if refusal:
        return Snapshot(real, None, None), refusal
    try:
        info = system.info(real)
        if info is None:
            return Snapshot(real, None, None), None
        if info.kind != "file":
            return Snapshot(real, None, info), Refusal(path, "is not a file")
        content = system.read_bytes(real, text.MAX_BYTES + 1)
    except FileNotFoundError:
        return Snapshot(real, None, None), None
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        return Snapshot(real, None, None), Refusal(path, what, exit_code=WRITE_FAILED)
    return Snapshot(real, content, info), None


def _follow(system: System, path: str) -> tuple[str, Refusal | None]:
    """The real file that `path` leads to; it may not exist yet."""
    at = path
    try:
        for _ in range(MAX_LINKS):
            if system.kind(at) != "link":
                break
            at = os.path.join(system.real_path(os.path.dirname(at)), system.read_link(at))
        else:
            return at, Refusal(path, "is a link that leads back to itself")
        real = os.path.join(system.real_path(os.path.dirname(at)), os.path.basename(at))
        if at != path and not system.exists(os.path.dirname(real)):
            return real, Refusal(path, f"is a link to {printable_path(real)}, whose folder does not exist")
    except OSError as error:
        what = f"cannot be followed: {error.strerror or error}"
        return at, Refusal(path, what, exit_code=WRITE_FAILED)
    return real, None


def _action(before: bytes | None, after: bytes | None) -> Action:
    if before == after:
        return "unchanged"
    if after is None:
        return "remove"
    return "create" if before is None else "write"


def _prove(
    path: str, merged: Merged, view: Plain, *, ours: Slice, context: SettingsContext, recogniser: Recogniser
) -> Refusal | None:
    """Check the result before anything is written: it parses (for the standard library too), Claude
    Code would accept it, the user's part is what it was, and a second run would change nothing."""
    problem = _emptied(view) if merged.after is None else ""
    if merged.after is not None:
        try:
            document = text.parse(merged.after)
            shape.check(document)
            again = merge(
                document, ours, merged.base, recogniser, target=context.key, release=context.release
            )
            problem = _changed(document, merged, again, view, recogniser)
        except Malformed as fault:
            problem = str(fault)
    if not problem:
        return None
    return Refusal(
        path, f"the merge would not be safe ({problem}), so nothing is written; please report this"
    )


def _emptied(view: Plain) -> str:
    return "" if view == {} else "the file would go although it holds something of yours"


def _changed(document: Document, merged: Merged, again: Merged, view: Plain, recogniser: Recogniser) -> str:
    plain = text.plain(document.root)
    if json.loads(document.text, parse_float=Number, parse_int=Number) != plain:
        return "two readers of the result disagree"
    if users_view(Ownership(plain, merged.base, recogniser)) != view:
        return "entries that are not ours would change"
    return "" if again.after == merged.after else "a second run would change the file again"


def _obstacle(system: System, path: str, snapshot: Snapshot) -> Refusal | None:
    """What the file system has against the write, before it is tried."""
    what = _standing_in_the_way(system, path, snapshot)
    return Refusal(path, f"left alone, because {what}", exit_code=WRITE_FAILED) if what else None


def _standing_in_the_way(system: System, path: str, snapshot: Snapshot) -> str:
    real, info = snapshot.real_path, snapshot.info
    folder = os.path.dirname(real)
    about = system.info(folder, follow=True)
    # The mode bits are asked first: root may write everything, and still should not.
    if info and not info.mode & 0o222:
        return f"{_it(path, real)} is read-only"
    if about and not about.mode & 0o222:
        return f"the folder {printable_path(folder)} is read-only"
    if os.path.isdir(folder) and not os.access(folder, os.W_OK | os.X_OK):
        return f"the folder {printable_path(folder)} cannot be written to"
    if info and os.path.isfile(real) and not os.access(real, os.W_OK):
        return f"{_it(path, real)} cannot be written to"
    return _owner_that_cannot_be_kept(path, real, info, about)


def _it(path: str, real: str) -> str:
    """The file, by name only where a link leads to it: the message begins with the path."""
    return "it" if path == real else printable_path(real)


def _owner_that_cannot_be_kept(path: str, real: str, info: FileInfo | None, folder: FileInfo | None) -> str:
    """A file written anew is ours; only root may give it to another user, or to a group of others."""
    if info is None or os.name == "nt" or os.geteuid() == 0:
        return ""
    if info.uid != os.geteuid():
        return f"{_it(path, real)} belongs to another user"
    # Some systems and folders give a new file the folder's group; then nothing has to be changed.
    inherited = folder is not None and folder.gid == info.gid and _hands_down_its_group(folder)
    if not inherited and info.gid not in {os.getegid(), *os.getgroups()}:
        return f"{printable_path(real)} belongs to a group that you are not in (group {info.gid})"
    return ""


def _hands_down_its_group(folder: FileInfo) -> bool:
    return sys.platform == "darwin" or bool(folder.mode & stat.S_ISGID)


def _warnings(snapshot: Snapshot, action: Action, damaged: str) -> tuple[str, ...]:
    found = []
    if action == "write" and snapshot.info and snapshot.info.links > 1:
        others = snapshot.info.links - 1
        found.append(
            f"{printable_path(snapshot.real_path)} is a hard link: its {others} other name"
            f"{'s keep' if others > 1 else ' keeps'} the old content"
        )
    if damaged:
        found.append(f"{printable_path(damaged)} is damaged and was not used")
    return tuple(found)


def _same_base(one: Base | None, other: Base | None) -> bool:
    return one is other or (one is not None and one.says_the_same(other))


def _refused(
    path: str, snapshot: Snapshot, refusal: Refusal, ours: Slice, context: SettingsContext
) -> SettingsPlan:
    return SettingsPlan(
        path=path,
        action="refused",
        snapshot=snapshot,
        after=snapshot.content,
        report=Report(),
        warnings=(),
        refusal=refusal,
        base=None,
        base_is_tidy=True,
        view={},
        ours=ours,
        context=context,
    )


def _lines(content: bytes | None) -> list[str]:
    """Lines for a diff; a file without a final newline gets the mark that diff gives it."""
    if content is None:
        return []
    document_lines = content.decode("utf-8", "replace").split("\n")
    lines = [line + "\n" for line in document_lines[:-1]]
    if document_lines[-1]:
        lines.append(document_lines[-1] + "\n\\ No newline at end of file\n")
    return lines
