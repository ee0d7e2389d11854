"""What a target is: one folder, one key, however it is spelt (spec: projection, "Targets")."""

from __future__ import annotations

import os
from collections.abc import Iterable

from projection.system import RealSystem, System
from ways.core.errors import REFUSED, UserError
from ways.core.record import record, replace
from ways.core.roots import Roots
from ways.settings.target_file import target_key

ACTIVE = "active"  # everything is in place
PENDING = "pending"  # named, not yet applied
PARTIAL = "partial"  # a run was interrupted or a write failed
REFUSED_STATE = "refused"  # something of the user's is in the way
STALE = "stale"  # what is there has drifted, is from another release, or is no longer in the list
WITHDRAWN = "withdrawn"  # disabled, and nothing of ours is left
STATES = (ACTIVE, PENDING, PARTIAL, REFUSED_STATE, STALE, WITHDRAWN)


@record
class Target:
    """A Claude Code config directory. `path` is absolute, as the user spelt it; `folder` is the same
    place with links, case and `..` resolved; `key` is derived from `folder`. `config` names the
    target's own config file, "" for `{config}/targets/<key>/config.yaml`."""

    path: str
    folder: str
    key: str
    enabled: bool = True
    observe: bool = True
    config: str = ""


def make_target(
    system: System,
    spelling: str,
    home: str,
    *,
    enabled: bool = True,
    observe: bool = True,
    config: str = "",
) -> Target:
    """The target that a spelling names. Raises UserError for one that cannot be a target."""
    written = _expanded(spelling, home)
    path = os.path.normpath(written)
    if os.name != "nt" and path.startswith("//"):
        path = path[1:]
    folder = canonical(system, written)
    if system.real_path(path) != system.real_path(written):
        # `link/..` is not the folder that holds `link`: where the two differ, the real place counts.
        path = folder
    return Target(path, folder, target_key(folder), enabled, observe, config)


def _expanded(spelling: str, home: str) -> str:
    """A spelling as an absolute path: `~` expanded, a relative one taken from the current folder.

    Raises UserError for an empty one and for one that no settings.json can hold.
    """
    if not spelling.strip() or "\0" in spelling:
        raise UserError("a target needs the path of a folder", "ways target list", REFUSED)
    try:
        spelling.encode("utf-8")
    except UnicodeEncodeError:
        shown = spelling.encode("utf-8", "replace").decode("utf-8")
        raise UserError(
            f"{shown}: the name is not valid UTF-8, so no settings.json can hold it",
            "rename the folder",
            REFUSED,
        ) from None
    if spelling == "~" or spelling.startswith(("~/", "~\\")):
        spelling = home + spelling[1:]
    return spelling if os.path.isabs(spelling) else os.path.join(os.getcwd(), spelling)


def canonical(system: System, path: str) -> str:
    """The one spelling of a folder: links resolved and, where the file system ignores case or Unicode
    form, each name as the disk has it. Parts that do not exist yet stay as they are."""
    real = system.real_path(path)
    drive, rest = os.path.splitdrive(real)
    at = drive.upper() + os.sep
    for name in (part for part in rest.split(os.sep) if part):
        at = os.path.join(at, _name_on_disk(system, at, name))
    return at


def _name_on_disk(system: System, parent: str, name: str) -> str:
    """The name as the folder lists it. Looked for only where another case of it is the same entry."""
    try:
        there = system.info(os.path.join(parent, name))
        other = system.info(os.path.join(parent, name.swapcase()))
        if there is None or other is None or there.identity != other.identity or name == name.swapcase():
            return name
        names = system.names(parent)
        if name in names:
            return name
        for candidate in names:
            found = system.info(os.path.join(parent, candidate))
            if found is not None and found.identity == there.identity:
                return candidate
    except OSError:
        # A folder that may be entered but not listed: the spelling given is the best there is.
        return name
    return name


def merged(targets: Iterable[Target]) -> tuple[Target, ...]:
    """One target a key: the first spelling counts, and it is enabled when any spelling is."""
    seen: dict[str, Target] = {}
    for target in targets:
        before = seen.get(target.key)
        if before is None:
            seen[target.key] = target
        elif target.enabled and not before.enabled:
            seen[target.key] = replace(before, enabled=True)
    return tuple(seen.values())


def is_inside(folder: str, other: str) -> bool:
    """True when `folder` lies below `other` (or is it)."""
    return folder == other or folder.startswith(other.rstrip(os.sep) + os.sep)


def placement_fault(target: Target, others: Iterable[Target], roots: Roots) -> str:
    """Why this folder cannot be a target, "" when it can: inside another, or inside a root of ours."""
    for other in others:
        if other.key != target.key and is_inside(target.folder, other.folder):
            return f"{target.path} lies inside the target {other.path}"
    system = RealSystem()
    kept = (("app", roots.app), ("config", roots.config), ("state", roots.state), ("cache", roots.cache))
    for name, root in kept:
        if is_inside(target.folder, system.real_path(root)):
            return f"{target.path} lies inside the {name} root {root}"
    return ""


def find(targets: Iterable[Target], wanted: str, system: System, home: str) -> Target | None:
    """The target of that key or, failing that, of that path in whatever spelling."""
    listed = tuple(targets)
    for target in listed:
        if target.key == wanted:
            return target
    key = target_key(canonical(system, _expanded(wanted, home)))
    return next((target for target in listed if target.key == key), None)
