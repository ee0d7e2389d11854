"""Carrying a file plan out, step by step, through a `System` (spec: projection, "Materialising").

`apply_additions` runs before the settings merge and `apply_removals` after it, so that at every moment
each command that settings.json registers leads to a file (case s06). Before a place is touched it must
look as it did when the plan was made.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from projection import backups
from projection.file_plan import Conflict, FilePlan, Ground, Placement, Removal, owns_file
from projection.records import COPY, HARD_LINK, JUNCTION, LINKS, SHIM, Entry, Record
from projection.system import FileInfo, System
from projection.wants import Want
from ways.core.errors import WRITE_FAILED, UserError
from ways.core.files import TEMPORARY_MARK, temporary_name
from ways.core.roots import Roots


@dataclass
class Done:
    """What was put aside on the way, and the entries as they really came out."""

    forced: list[backups.PutAside] = field(default_factory=list)
    kept: list[backups.PutAside] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass
class _Site:
    """Where a plan is carried out: the ground, the state root, and the folders of this run's asides."""

    ground: Ground
    roots: Roots
    done: Done
    folders: dict[str, str] = field(default_factory=dict)

    @property
    def system(self) -> System:
        return self.ground.system

    def aside_folder(self, kind: str) -> str:
        if kind not in self.folders:
            self.folders[kind] = backups.next_folder(self.system, self.roots, kind, self.ground.target.key)
        return self.folders[kind]


def intended(record: Record, plan: FilePlan) -> Record:
    """The record to write before the first change: everything that may be ours from now on, whether or
    not the run gets that far."""
    entries = dict(record.entries)
    for path, entry in plan.entries.items():
        before = record.entries.get(path)
        hashes = dict.fromkeys((*entry.hashes, *(before.hashes if before else ())))
        # A copy that a link is about to replace stays known as a copy: it is one until then.
        kind = before.kind if before and entry.kind in LINKS else entry.kind
        entries[path] = Entry(path, kind, entry.target, tuple(hashes))
    folders = tuple(sorted({*record.folders, *plan.made}))
    return Record(
        record.key, record.path, record.folder, record.mode, record.version, "applying", entries, folders
    )


def put_aside(ground: Ground, roots: Roots, plan: FilePlan, done: Done) -> None:
    """Move what `--force` takes out of the way. Before the intended record is written: after that, what
    stands at a place of ours would count as ours. Raises OSError."""
    site = _Site(ground, roots, done)
    for conflict in plan.aside:
        _force_aside(site, conflict)


def apply_additions(ground: Ground, roots: Roots, plan: FilePlan, done: Done) -> None:
    """Sweep, make folders, place. Raises OSError, UserError when a place has changed."""
    site = _Site(ground, roots, done)
    done.entries.update(plan.entries)
    for path in plan.scraps:
        _sweep(site, path)
    for folder in plan.folders:
        if not ground.system.exists(folder):
            ground.system.mkdir(folder)
    for placement in plan.placements:
        _place(site, placement)


def apply_removals(ground: Ground, roots: Roots, plan: FilePlan, done: Done) -> None:
    """Take away what is ours and wanted no more. Raises OSError."""
    site = _Site(ground, roots, done)
    for removal in plan.removals:
        _remove(site, removal)
    for path in plan.scraps:
        _sweep(site, path)


def drop_empty(system: System, plan: FilePlan) -> None:
    """Remove the folders that we made and that hold nothing now. Raises OSError."""
    for folder in plan.empty:
        if system.kind(folder) == "folder" and not system.names(folder):
            system.rmdir(folder)


def verify(ground: Ground, entries: dict[str, Entry]) -> None:
    """Look whether everything is there as it was made (case s08). Raises UserError (exit 5), OSError."""
    system = ground.system
    for inside, entry in entries.items():
        path = ground.at(inside)
        if entry.kind in LINKS:
            good = system.kind(path) in {"link", "junction"} and system.exists(path)
        else:
            good = owns_file(system, path, entry)
        if not good:
            raise UserError(f"{path} is not there as it was written", "ways reconcile", WRITE_FAILED)


def _force_aside(site: _Site, conflict: Conflict) -> None:
    if site.system.info(conflict.path) is not None:
        folder = site.aside_folder(backups.FORCED)
        site.done.forced.append(backups.put_aside(site.system, folder, conflict.path, conflict.inside))


def _keep_edited(site: _Site, insides: Iterable[str]) -> None:
    for inside in insides:
        folder, path = site.aside_folder(backups.EDITED), site.ground.at(inside)
        site.done.kept.append(backups.keep_copy(site.system, folder, path, inside))


def _place(site: _Site, placement: Placement) -> None:
    system = site.system
    _check_unchanged(system, placement.path, placement.seen)
    _keep_edited(site, placement.edited)
    first = placement.wants[0]
    if first.path != placement.inside:
        _switch_to_copies(site, placement)
    elif placement.seen is not None and placement.seen.kind == "folder":
        _switch_to_link(site, placement)
    else:
        site.done.entries[first.path] = _make(site, first, placement.path, placement.seen)


def _check_unchanged(system: System, path: str, seen: FileInfo | None) -> None:
    now = system.info(path)
    same = (now is None) == (seen is None)
    if now is not None and seen is not None:
        same = (now.kind, now.identity, now.size) == (seen.kind, seen.identity, seen.size)
        same = same and (now.kind == "folder" or now.mtime_ns == seen.mtime_ns)
    if not same:
        raise UserError(f"{path} changed while it was being replaced", "ways reconcile", WRITE_FAILED)


def _make(site: _Site, want: Want, path: str, seen: FileInfo | None) -> Entry:
    """Make one link, copy or shim at `path`, replacing a file or link of ours."""
    system = site.system
    if want.kind == SHIM:
        system.write_atomic(path, want.data, want.mode)
        return Entry(want.path, SHIM, "", (want.sha256,))
    if want.kind == COPY:
        system.copy(want.source, path, want.mode)
        return Entry(want.path, COPY, "", (want.sha256,))
    if want.kind == JUNCTION:
        if seen is not None and seen.kind != "junction":
            system.remove(path)
        system.junction(want.source, path)
        return Entry(want.path, JUNCTION, want.source)
    if site.ground.platform == "windows":
        return _link_file_on_windows(site, want, path)
    system.symlink(want.source, path, folder=not want.sha256)
    return Entry(want.path, want.kind, want.source, (want.sha256,) if want.sha256 else ())


def _link_file_on_windows(site: _Site, want: Want, path: str) -> Entry:
    """A symlink where the privilege exists, else a hard link on the same volume, else a copy."""
    system, source = site.system, site.ground.app.file(want.path)
    try:
        system.symlink(want.source, path)
        return Entry(want.path, want.kind, want.source, (want.sha256,))
    except OSError:
        # No privilege, or a file system without symlinks: the next way is as good for a reader.
        try:
            system.hard_link(source, path)
            return Entry(want.path, HARD_LINK, "", (want.sha256,))
        except OSError:
            system.copy(source, path, want.mode)
            return Entry(want.path, COPY, "", (want.sha256,))


def _switch_to_link(site: _Site, placement: Placement) -> None:
    """A folder of our copies gives way to a link: made beside it, swapped in, the copies then go."""
    want = placement.wants[0]
    beside = temporary_name(placement.path)
    site.done.entries[want.path] = _make(site, want, beside, None)
    site.system.exchange(beside, placement.path)
    _dismantle(site, beside, placement.inside)


def _switch_to_copies(site: _Site, placement: Placement) -> None:
    """A link of ours gives way to a folder of copies, built beside it and swapped in."""
    system, beside = site.system, temporary_name(placement.path)
    system.mkdir(beside)
    made = {beside}
    for want in placement.wants:
        path = os.path.join(beside, *want.path[len(placement.inside) + 1 :].split("/"))
        above = os.path.dirname(path)
        if above not in made:
            made.update(system.make_folders(above))
            made.add(above)
        _make(site, want, path, None)
    system.exchange(beside, placement.path)
    system.remove(beside)


def _sweep(site: _Site, path: str) -> None:
    """Clear a leftover of a killed run: a file or link at once, a folder when its files are ours."""
    found = site.system.kind(path)
    if found == "folder":
        name = os.path.basename(path)[1:].split(TEMPORARY_MARK)[0]
        inside = os.path.relpath(os.path.join(os.path.dirname(path), name), site.ground.target.folder)
        _dismantle(site, path, inside.replace(os.sep, "/"))
    elif found is not None:
        site.system.remove(path)


def _dismantle(site: _Site, folder: str, inside: str) -> None:
    """Remove a folder of our copies that stood (or was to stand) at `inside`; whatever in it is not as
    we made it is kept in the state root first."""
    system = site.system
    for name in system.names(folder):
        path, below = os.path.join(folder, name), f"{inside}/{name}"
        if system.kind(path) == "folder":
            _dismantle(site, path, below)
            continue
        if not _is_known_copy(site, path, below):
            aside = site.aside_folder(backups.EDITED)
            site.done.kept.append(backups.put_aside(system, aside, path, below))
        else:
            system.remove(path)
    system.rmdir(folder)


def _is_known_copy(site: _Site, path: str, inside: str) -> bool:
    if TEMPORARY_MARK in os.path.basename(path):
        return True
    hashes: set[str] = set()
    for entry in (site.ground.record.entries.get(inside), site.done.entries.get(inside)):
        hashes.update(entry.hashes if entry else ())
    kept = {row.sha256 for row in site.done.kept if row.origin == site.ground.at(inside)}
    return site.system.kind(path) == "file" and site.system.sha256(path) in hashes | kept


def _remove(site: _Site, removal: Removal) -> None:
    system = site.system
    if system.info(removal.path) is None:
        return
    entry = site.ground.record.entries.get(removal.inside)
    is_file = system.kind(removal.path) == "file"
    if is_file and (removal.edited or entry is None or not owns_file(system, removal.path, entry)):
        folder = site.aside_folder(backups.EDITED)
        site.done.kept.append(backups.put_aside(system, folder, removal.path, removal.inside))
    elif is_file or system.kind(removal.path) in {"link", "junction"}:
        system.remove(removal.path)
    site.done.entries.pop(removal.inside, None)
