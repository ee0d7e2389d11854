"""Planning what changes in one target's folder: looks, decides, changes nothing (spec: projection).

Every place is looked at once. What is not ours and stands where something of ours belongs becomes a
`Conflict`; with `force` it becomes something to put aside first. Ours is: a link into the app, a link
that the record names, and a file whose content has a hash that the record names for that path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from projection.manifest import projected_roots
from projection.records import LINKS, Entry, Record
from projection.scraps import is_scrap
from projection.system import FileInfo, Kind, System
from projection.targets import Target, is_inside
from projection.wants import App, Want
from ways.core.record import record

_KINDS: dict[Kind, str] = {
    "file": "a file",
    "folder": "a folder",
    "link": "a link elsewhere",
    "junction": "a junction elsewhere",
    "other": "a thing",
}

LINKED = "linked"  # as it should be
LINK_IT = "link"  # new
RELINK = "relink"  # ours, points elsewhere or nowhere
COPIED = "copied"
COPY_IT = "copy"
UPDATE = "update"
REPLACE = "replace"  # of another mode
REMOVE = "remove"
REFUSED_ROOT = "refused"


@record
class Conflict:
    """Something of the user's at a place of ours: absolute path, path inside the target, and why."""

    path: str
    inside: str
    why: str


@record
class Placement:
    """Put `wants` at `path` (one link or file, or a folder of copies). `seen` is what stood there when
    the plan was made; `dismantle` are the copies of ours in a folder that a link replaces, and `edited`
    those copies that the user changed, to be kept first (both inside the target)."""

    verb: str
    path: str
    inside: str
    wants: tuple[Want, ...]
    seen: FileInfo | None
    dismantle: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()


@record
class Removal:
    """Take away what we once made at `path`; one that the user edited is kept aside instead."""

    path: str
    inside: str
    edited: bool = False


@dataclass
class FilePlan:
    """Everything that will happen to one target's folder, in this order: `aside` (only when forced),
    `scraps`, `folders`, `placements`; then, after the settings merge, `removals` and `empty`.

    `entries` and `made` (folders of ours, absolute) are what the record says afterwards; `roots` tells
    of each projected root what happens to it."""

    conflicts: list[Conflict] = field(default_factory=list)
    aside: list[Conflict] = field(default_factory=list)
    scraps: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    placements: list[Placement] = field(default_factory=list)
    removals: list[Removal] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    roots: dict[str, str] = field(default_factory=dict)

    @property
    def changes(self) -> bool:
        """True when applying it would change something in the target."""
        parts = (self.aside, self.scraps, self.folders, self.placements, self.removals, self.empty)
        return any(parts)


@record
class Ground:
    """What a plan is made on: the disk, the target, the app, and what the record says."""

    system: System
    target: Target
    app: App
    record: Record
    platform: str
    force: bool = False
    shared: frozenset[str] = frozenset()  # real paths that another enabled target counts on

    def at(self, inside: str) -> str:
        """The absolute path of a place in the target."""
        return os.path.join(self.target.folder, *inside.split("/")) if inside else self.target.folder


def shown(ground: Ground, path: str) -> str:
    """A path in the target as the user spells the target."""
    folder, spelt = ground.target.folder, ground.target.path
    return spelt + path[len(folder) :] if is_inside(path, folder) else path


def plan_files(
    ground: Ground, wants: dict[str, tuple[Want, ...]], going: frozenset[str] = frozenset()
) -> FilePlan:
    """The plan that makes the target hold exactly `wants` of ours; `going` are files that somebody else
    will have removed by then. Raises OSError when it cannot look."""
    plan = FilePlan()
    _plan_target_folder(ground, plan, bool(wants))
    if not plan.conflicts:
        for root, parts in sorted(wants.items()):
            _plan_root(ground, plan, root, parts)
    _plan_removals(ground, plan, wants)
    _plan_scraps(ground, plan, wants)
    _plan_empty_folders(ground, plan, wants, going)
    plan.made = _folders_of_ours(ground, plan)
    return plan


def _look(ground: Ground, plan: FilePlan, path: str) -> FileInfo | None:
    """What will stand at `path` once everything planned so far is done."""
    if any(is_inside(path, gone.path) for gone in plan.aside):
        return None
    return ground.system.info(path)


# The target's own folder, and the folders between it and a root


def _plan_target_folder(ground: Ground, plan: FilePlan, needed: bool) -> None:
    system, target = ground.system, ground.target
    if not needed:
        return
    found = system.info(target.folder, follow=True)
    if found is not None:
        if found.kind != "folder":
            plan.conflicts.append(Conflict(target.folder, "", "is not a folder"))
        return
    if system.kind(target.path) == "link":
        plan.conflicts.append(Conflict(target.folder, "", "is a link to a folder that does not exist"))
        return
    at, missing = target.folder, []
    while not system.exists(at):
        missing.append(at)
        at = os.path.dirname(at)
    floor = system.info(at, follow=True)
    if floor is None or floor.kind != "folder":
        plan.conflicts.append(Conflict(at, "", "is not a folder"))
        return
    plan.folders += reversed(missing)


def _parents_usable(ground: Ground, plan: FilePlan, inside: str) -> bool:
    """See to the folders above a place: those missing are planned, one of another kind is a conflict."""
    parts = inside.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        above = "/".join(parts[:depth])
        path = ground.at(above)
        if path in plan.folders:
            continue
        if _look(ground, plan, path) is None:
            plan.folders.append(path)
            continue
        why = _why_no_parent(ground, path)
        if why:
            if any(known.path == path for known in plan.conflicts):
                return False
            if not _conflict(ground, plan, Conflict(path, above, why)):
                return False
            plan.folders.append(path)
    return True


def _why_no_parent(ground: Ground, path: str) -> str:
    system = ground.system
    behind = system.info(path, follow=True)
    if behind is None:
        return "is a link that leads nowhere"
    if behind.kind != "folder":
        return "is not a folder"
    if system.kind(path) != "folder" and is_inside(system.real_path(path), system.real_path(ground.app.root)):
        return "is a link into the app, where nothing may be written"
    return ""


def _conflict(ground: Ground, plan: FilePlan, conflict: Conflict) -> bool:
    """Note something of the user's; True when it will be put aside, so that the place becomes free."""
    if ground.force and conflict.inside:
        if conflict not in plan.aside:
            plan.aside.append(conflict)
        return True
    plan.conflicts.append(conflict)
    return False


# One root


def _plan_root(ground: Ground, plan: FilePlan, root: str, wants: tuple[Want, ...]) -> None:
    before = len(plan.conflicts)
    if _parents_usable(ground, plan, root):
        if wants[0].path == root:
            _plan_single(ground, plan, wants[0])
        else:
            _plan_folder_of_copies(ground, plan, root, wants)
    if len(plan.conflicts) > before:
        plan.roots[root] = REFUSED_ROOT


def _plan_single(ground: Ground, plan: FilePlan, want: Want) -> None:
    """A link, one copied file or a shim."""
    path = ground.at(want.path)
    there = _look(ground, plan, path)
    fresh = LINK_IT if want.kind in LINKS else COPY_IT
    if there is None:
        _place(plan, Placement(fresh, path, want.path, (want,), None))
    elif there.kind in {"link", "junction"}:
        if not is_our_link(ground, want.path):
            _refuse_single(ground, plan, want, fresh, f"is {_KINDS[there.kind]} of yours")
        elif want.kind in LINKS and _points_right(ground, path, want):
            _keep(plan, want, LINKED)
        else:
            verb = RELINK if want.kind in LINKS else REPLACE
            _place(plan, Placement(verb, path, want.path, (want,), there))
    elif there.kind == "file":
        _plan_over_file(ground, plan, want, there, fresh)
    elif there.kind == "folder" and want.kind in LINKS and not want.sha256:
        _plan_link_over_copies(ground, plan, want, there)
    else:
        _refuse_single(ground, plan, want, fresh, f"is {_KINDS[there.kind]} of yours")


def _plan_over_file(ground: Ground, plan: FilePlan, want: Want, there: FileInfo, fresh: str) -> None:
    """A file stands there: a copy, a shim or (on Windows) a stand-in for a link, or the user's own."""
    entry = ground.record.entries.get(want.path)
    path = ground.at(want.path)
    actual = ground.system.sha256(path)
    # Windows: where links need a privilege, a hard link or a copy stands in for one.
    windows = ground.platform == "windows"
    ours = entry is not None and (entry.kind not in LINKS or (windows and actual in entry.hashes))
    if entry is None or not ours or not want.sha256:
        _refuse_single(ground, plan, want, fresh, "is a file of yours")
        return
    stands_in = want.kind in LINKS and windows and ground.record.mode == "link"
    right_mode = windows or not (want.mode ^ there.mode) & 0o100
    if actual == want.sha256 and right_mode and (want.kind not in LINKS or stands_in):
        plan.entries[want.path] = Entry(want.path, entry.kind if stands_in else want.kind, "", (actual,))
        plan.roots[want.root] = plan.roots.get(want.root, COPIED)
        return
    edited = () if actual in entry.hashes else (want.path,)
    verb = REPLACE if want.kind in LINKS and not stands_in else UPDATE
    _place(plan, Placement(verb, path, want.path, (want,), there, edited=edited))


def _plan_link_over_copies(ground: Ground, plan: FilePlan, want: Want, there: FileInfo) -> None:
    """Copy mode is left: the folder of our copies gives way to a link, unless something else is in it."""
    path = ground.at(want.path)
    if not _made_by_us(ground, want.path):
        _refuse_single(ground, plan, want, LINK_IT, "is a folder of yours")
        return
    ours, edited, foreign = [], [], []
    for inside in _files_below(ground, want.path):
        entry = ground.record.entries.get(inside)
        if is_scrap(os.path.basename(inside)):
            ours.append(inside)
        elif entry is None:
            foreign.append(inside)
        else:
            ours.append(inside)
            if not owns_file(ground.system, ground.at(inside), entry):
                edited.append(inside)
    conflicts = [Conflict(ground.at(inside), inside, "is yours, in a folder of ours") for inside in foreign]
    if all([_conflict(ground, plan, conflict) for conflict in conflicts]):
        _place(plan, Placement(REPLACE, path, want.path, (want,), there, tuple(ours), tuple(edited)))


def _plan_folder_of_copies(ground: Ground, plan: FilePlan, root: str, wants: tuple[Want, ...]) -> None:
    path = ground.at(root)
    there = _look(ground, plan, path)
    if there is None:
        _plan_copies(ground, plan, root, wants)
    elif there.kind in {"link", "junction"} and is_our_link(ground, root):
        _place(plan, Placement(REPLACE, path, root, wants, there))
        plan.roots[root] = REPLACE
    elif there.kind == "folder" and _made_by_us(ground, root):
        _plan_copies(ground, plan, root, wants)
    else:
        why = f"is {_KINDS[there.kind]} of yours"
        if _conflict(ground, plan, Conflict(path, root, why)):
            plan.folders.append(path)
            _plan_copies(ground, plan, root, wants)


def _plan_copies(ground: Ground, plan: FilePlan, root: str, wants: tuple[Want, ...]) -> None:
    """Copies one by one, into a folder that exists as ours or will be made."""
    for want in wants:
        if _parents_usable(ground, plan, want.path):
            _plan_single(ground, plan, want)


def _refuse_single(ground: Ground, plan: FilePlan, want: Want, fresh: str, why: str) -> None:
    path = ground.at(want.path)
    if _conflict(ground, plan, Conflict(path, want.path, why)):
        _place(plan, Placement(fresh, path, want.path, (want,), None))


def _place(plan: FilePlan, placement: Placement) -> None:
    plan.placements.append(placement)
    root = placement.wants[0].root
    before = plan.roots.get(root)
    plan.roots[root] = placement.verb if before in {None, COPIED, placement.verb} else UPDATE
    for want in placement.wants:
        plan.entries[want.path] = entry_of(want)


def _keep(plan: FilePlan, want: Want, state: str) -> None:
    plan.entries[want.path] = entry_of(want)
    plan.roots[want.root] = plan.roots.get(want.root, state)


def entry_of(want: Want) -> Entry:
    """The record's line for something made as wanted."""
    if want.kind in LINKS:
        return Entry(want.path, want.kind, want.source, (want.sha256,) if want.sha256 else ())
    return Entry(want.path, want.kind, "", (want.sha256,))


# What is ours


def is_our_link(ground: Ground, inside: str) -> bool:
    """True for a link into the app (by its text or by where it leads) or one that the record names."""
    system, path = ground.system, ground.at(inside)
    text = system.read_link(path)
    entry = ground.record.entries.get(inside)
    if entry is not None and entry.kind in LINKS and entry.target == text:
        return True
    lexical = os.path.normpath(os.path.join(os.path.dirname(path), text))
    if is_inside(lexical, os.path.normpath(ground.app.root)):
        return True
    return is_inside(system.real_path(path), system.real_path(ground.app.root))


def owns_file(system: System, path: str, entry: Entry) -> bool:
    """True when a file has a content that we gave it."""
    return system.kind(path) == "file" and system.sha256(path) in entry.hashes


def _points_right(ground: Ground, path: str, want: Want) -> bool:
    return os.path.normcase(ground.system.read_link(path)) == os.path.normcase(want.source)


def _made_by_us(ground: Ground, inside: str) -> bool:
    """True when we made this folder, or made something in it that the record still names."""
    if ground.at(inside) in ground.record.folders:
        return True
    return any(path.startswith(inside + "/") for path in ground.record.entries)


def _files_below(ground: Ground, inside: str) -> Iterator[str]:
    """Everything in a folder that is not itself a plain folder of ours; an empty folder that we did not
    make counts as a thing of its own."""
    names = ground.system.names(ground.at(inside))
    for name in names:
        child = f"{inside}/{name}"
        if ground.system.kind(ground.at(child)) == "folder":
            below = list(_files_below(ground, child))
            if not below and ground.at(child) not in ground.record.folders:
                below = [child]
            yield from below
        else:
            yield child


# What goes


def _plan_removals(ground: Ground, plan: FilePlan, wants: dict[str, tuple[Want, ...]]) -> None:
    """What we made and want no more. Links into the app at a place of ours count without a record."""
    system = ground.system
    replaced = {f for placement in plan.placements for f in placement.dismantle}
    wanted = {want.path for parts in wants.values() for want in parts}
    linked_roots = [want.path for parts in wants.values() for want in parts if want.kind in LINKS]
    recorded = ground.record.entries
    places = {*recorded, *(root.path for root in projected_roots(ground.app.payload))}
    for inside in sorted(places):
        covered = any(inside.startswith(root + "/") for root in linked_roots)
        if inside in wanted or inside in replaced or covered:
            continue
        if _replaced_by_folder(inside, wanted):
            continue
        path = ground.at(inside)
        there = system.info(path)
        if there is None or _is_shared(ground, path) or _leads_into_app(ground, os.path.dirname(path)):
            continue
        if there.kind in {"link", "junction"}:
            if is_our_link(ground, inside):
                plan.removals.append(Removal(path, inside))
        elif there.kind == "file" and inside in recorded and _may_be_copy(ground, recorded[inside]):
            edited = system.sha256(path) not in recorded[inside].hashes
            if not edited or recorded[inside].kind not in LINKS:
                plan.removals.append(Removal(path, inside, edited))


def _may_be_copy(ground: Ground, entry: Entry) -> bool:
    return entry.kind not in LINKS or ground.platform == "windows"


def _replaced_by_folder(inside: str, wanted: set[str]) -> bool:
    return any(path.startswith(inside + "/") for path in wanted)


def _is_shared(ground: Ground, path: str) -> bool:
    """True when another enabled target reaches the same place through a link of the user's (case s07)."""
    return bool(ground.shared) and _real_place(ground.system, path) in ground.shared


def _real_place(system: System, path: str) -> str:
    return os.path.join(system.real_path(os.path.dirname(path)), os.path.basename(path))


def real_places(system: System, target: Target, record: Record) -> frozenset[str]:
    """Where the entries of a record really lie."""
    return frozenset(
        _real_place(system, os.path.join(target.folder, *inside.split("/"))) for inside in record.entries
    )


def _plan_scraps(ground: Ground, plan: FilePlan, wants: dict[str, tuple[Want, ...]]) -> None:
    """Temporary files that a killed run left beside what it was writing."""
    insides = {*ground.record.entries, *(want.path for parts in wants.values() for want in parts), *wants}
    folders = {ground.target.folder, *(os.path.dirname(ground.at(inside)) for inside in insides)}
    for folder in sorted(folders):
        found = ground.system.info(folder, follow=True)
        if found is None or found.kind != "folder" or _leads_into_app(ground, folder):
            continue
        plan.scraps += [os.path.join(folder, name) for name in ground.system.names(folder) if is_scrap(name)]


def _is_real_folder(ground: Ground, folder: str) -> bool:
    """True for a folder that is there and lies in the target, not in the app behind a link of ours."""
    return ground.system.kind(folder) == "folder" and not _leads_into_app(ground, folder)


def _leads_into_app(ground: Ground, folder: str) -> bool:
    return is_inside(ground.system.real_path(folder), ground.system.real_path(ground.app.root))


def _plan_empty_folders(
    ground: Ground, plan: FilePlan, wants: dict[str, tuple[Want, ...]], leaving: frozenset[str]
) -> None:
    """Folders that we made, need no more, and that hold nothing but what goes."""
    needed = {ground.target.folder} if wants else set()
    for parts in wants.values():
        for want in parts:
            above = os.path.dirname(ground.at(want.path))
            while is_inside(above, ground.target.folder) and above not in needed:
                needed.add(above)
                above = os.path.dirname(above)
    going = {removal.path for removal in plan.removals} | set(plan.scraps) | leaving
    for folder in sorted(ground.record.folders, key=len, reverse=True):
        covered = any(is_inside(folder, placement.path) for placement in plan.placements)
        if folder in needed or covered or not _is_real_folder(ground, folder):
            continue
        if any(is_inside(other, folder) for other in needed):
            continue
        names = {os.path.join(folder, name) for name in ground.system.names(folder)}
        if names <= going:
            plan.empty.append(folder)
            going.add(folder)


def _folders_of_ours(ground: Ground, plan: FilePlan) -> list[str]:
    """The folders that are ours once the plan is done."""
    linked = [p.path for p in plan.placements if p.wants[0].kind in LINKS]
    built = []
    for placement in plan.placements:
        if placement.wants[0].path != placement.inside:
            built.append(placement.path)
            for want in placement.wants:
                above = os.path.dirname(ground.at(want.path))
                while is_inside(above, placement.path):
                    built.append(above)
                    above = os.path.dirname(above)
    before = [folder for folder in ground.record.folders if _is_real_folder(ground, folder)]
    return sorted(
        folder
        for folder in {*before, *plan.folders, *built}
        if folder not in plan.empty and not any(is_inside(folder, path) for path in linked)
    )
