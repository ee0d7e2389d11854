"""`ways update`: check, fetch, verify, stage, probe, switch, reconcile, confirm (spec: installer).

Planned first, from signed metadata alone; carried out with a journal, so that a run that is killed anywhere
is finished or undone by the next (installer/recovery.py). The running version is not touched before the new
one has been verified, unpacked, checked file by file and tried.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass

from installer import archive, download, journal, programs, receipt, recovery, switching, tuf_client, versions
from installer.stage import VERSIONS
from installer.switching import Finished
from installer.tuf_client import Release
from projection import payload_manifest
from projection.system import System
from ways.core import active
from ways.core.environment import platform_name, version_folder
from ways.core.errors import REFUSED, UNVERIFIED, USAGE, WRITE_FAILED, WRONG, UserError
from ways.core.files import remove_if_there
from ways.core.roots import Roots

BASE_VARIABLE = "WAYS_RELEASE_BASE"
MARKER = "managed-by.json"
SPARE_BYTES = 32 << 20
_ARCHITECTURES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Wish:
    """What is asked for. `version` "" is the newest of the channel; `base` "" the base that is known."""

    version: str = ""
    allow_downgrade: bool = False
    force: bool = False
    base: str = ""
    channel: str = "stable"


@dataclass(frozen=True)
class UpdatePlan:
    """From which version to which. `release` None: there is nothing to do, and `why` says so. `present`:
    the version is in place already and whole, so nothing is fetched."""

    before: str
    release: Release | None
    why: str = ""
    present: bool = False
    repair: str = ""

    def lines(self, roots: Roots) -> list[str]:
        """The plan for people."""
        if self.release is None:
            return [self.why]
        to = self.release
        found = [
            f"Repair {to.version}: {self.repair}" if self.repair else f"Update {self.before} to {to.version}"
        ]
        if self.present:
            found.append(f"  {versions.folder(roots, to.version)} is in place already")
        else:
            found.append(
                f"  fetch {download.shown(to.url)} ({to.length / 1e6:.1f} MB), checked against {to.sha256}"
            )
            found.append(
                f"  unpack {to.unpacked / 1e6:.1f} MB to {versions.folder(roots, to.version)} and try it"
            )
        if not self.repair:
            found.append(f"  make it the current version; {self.before or 'nothing'} stays for ways rollback")
            found.append("  bring the targets and the corpus up to date")
        return found


# Who may be updated


def refuse_managed(system: System, roots: Roots) -> None:
    """Raises UserError with the manager's own command when a package manager owns the program."""
    owner = managed_by(system, roots)
    if owner is not None:
        raise UserError(f"this program is kept up to date by {owner.name}", owner.update, REFUSED)


@dataclass(frozen=True)
class Manager:
    """The package manager that owns the program, and its commands."""

    name: str
    update: str
    uninstall: str


def managed_by(system: System, roots: Roots) -> Manager | None:
    """Who owns the program, from the marker in the bundle: `{"manager": "Homebrew", "update": "brew upgrade
    ways", "uninstall": "brew uninstall ways"}`. A marker that cannot be read is a marker."""
    for content in (version_folder(), active.folder(roots.app)):
        path = os.path.join(content, MARKER) if content else ""
        if path and system.exists(path):
            try:
                found = json.loads(system.read_bytes(path, 1 << 16))
                return Manager(str(found["manager"]), str(found["update"]), str(found.get("uninstall", "")))
            except (ValueError, KeyError, TypeError, AttributeError):
                return Manager(f"a package manager (see {path})", "use its own update command", "")
    return None


def is_development(system: System, roots: Roots) -> bool:
    """True when the installed version is not one of our frozen releases."""
    return versions.release_facts(system, active.folder(roots.app)).get("build") != "frozen"


def refuse_development(system: System, roots: Roots, force: bool) -> None:
    """Raises UserError for a development build, unless it is meant."""
    if not force and is_development(system, roots):
        current = versions.look(system, roots).current or "nothing"
        what = f"{roots.app} holds a development build ({current}), which no release replaces by itself"
        raise UserError(what, "ways update --force", REFUSED)


# What there is


def release_base(system: System, roots: Roots, named: str, environ: Mapping[str, str]) -> str:
    """The release base as a URL: named, from the environment, where the program was installed from, or
    what the build names. Raises UserError when none is known."""
    facts = versions.release_facts(system, active.folder(roots.app))
    candidates = (named, environ.get(BASE_VARIABLE, ""), receipt.load(system, roots).base)
    for candidate in (*candidates, str(facts.get("base", ""))):
        if candidate:
            return download.base_url(candidate)
    raise UserError("no release base is known", f"ways update --from URL, or set {BASE_VARIABLE}", USAGE)


def available(roots: Roots, base: str, root: bytes, *, keep: bool = True) -> list[Release]:
    """The releases for this machine, newest first. Raises UserError."""
    machine = this_machine()
    found = tuf_client.releases(roots, base, root, keep=keep)
    mine = [one for one in found if (one.platform, one.architecture) == machine]
    return sorted(mine, key=lambda one: versions.order(one.version) or (), reverse=True)


def this_machine() -> tuple[str, str]:
    """Platform and architecture as archives are named."""
    import platform

    machine = platform.machine().lower()
    return platform_name(), _ARCHITECTURES.get(machine, machine)


def newest(found: list[Release], channel: str) -> Release | None:
    """The newest release of a channel: stable has final versions only, beta all."""
    return next((one for one in found if channel == "beta" or versions.is_final(one.version)), None)


def plan(system: System, roots: Roots, wish: Wish, found: list[Release]) -> UpdatePlan:
    """What to do for this wish. Raises UserError when it is refused."""
    before = versions.look(system, roots).current
    release = _wanted(wish, found)
    if release is None:
        return UpdatePlan(before, None, "There is no release for this machine yet.")
    then, now = versions.order(release.version), versions.order(before)
    if release.version == before:
        fault = versions.damage(system, versions.folder(roots, before))
        if not fault:
            return UpdatePlan(before, None, f"{before} is the newest release and is installed.")
        return UpdatePlan(before, release, repair=fault)
    if then is not None and now is not None and then < now:
        if not wish.version:
            return UpdatePlan(
                before, None, f"{before} is installed, newer than the release {release.version}."
            )
        if not wish.allow_downgrade:
            what = f"{release.version} is older than the installed {before}"
            raise UserError(what, f"ways update --version {release.version} --allow-downgrade", REFUSED)
    content = versions.folder(roots, release.version)
    present = system.kind(content) == "folder" and not versions.damage(system, content)
    return UpdatePlan(before, release, present=present)


def _wanted(wish: Wish, found: list[Release]) -> Release | None:
    if not wish.version:
        return newest(found, wish.channel)
    for release in found:
        if release.version == wish.version:
            return release
    known = ", ".join(release.version for release in found[:8]) or "none"
    raise UserError(f"there is no release {wish.version} for this machine; there are {known}", "", USAGE)


# Carrying it out


def apply(
    system: System,
    roots: Roots,
    what: UpdatePlan,
    environ: Mapping[str, str],
    progress: download.Progress | None = None,
) -> Finished:
    """Carry a plan out. Call it under the update lock, after recovery. Raises UserError; the version that
    was active is active then."""
    release = what.release
    if release is None:
        return Finished(what.before, (what.why,))
    versions.check_places(system, roots)
    entry = journal.begin(journal.UPDATE, what.before, release.version, versions.look(system, roots).previous)
    try:
        if not what.present:
            file = fetch(roots, release, progress)
            entry = _put_in_place(system, roots, entry, what, file)
            remove_if_there(file)
        if what.repair:
            journal.clear(system, roots)
            return Finished(release.version, (f"{release.version} was repaired",))
    except UserError:
        _abandon(system, roots)
        raise
    except OSError as error:
        _abandon(system, roots)
        raise _write_failed(error) from error
    try:
        return switching.switch(system, roots, entry, environ)
    except OSError as error:
        # The journal tells the next run where this one stopped.
        raise _write_failed(error) from error


def _write_failed(error: OSError) -> UserError:
    where = f"{error.filename}: " if error.filename else ""
    return UserError(f"{where}{error.strerror or error}", "make room, then ways update", WRITE_FAILED)


def _abandon(system: System, roots: Roots) -> None:
    """Leave no trace of an update that failed before the switch. Where even that fails (a full or broken
    disk), the journal stays and the next run does it."""
    try:
        versions.sweep(system, roots)
        journal.clear(system, roots)
    except OSError:
        return


def downloads_folder(roots: Roots) -> str:
    """Where archives are fetched to."""
    return os.path.join(roots.cache, "downloads")


def fetch(roots: Roots, release: Release, progress: download.Progress | None = None) -> str:
    """Fetch and verify an archive; its path. Raises UserError."""
    path = os.path.join(downloads_folder(roots), f"{release.sha256[:16]}-{release.name}")
    _check_space(roots, release, path)

    def check(file: str) -> str:
        digest = hashlib.sha256()
        with open(file, "rb") as stream:
            while part := stream.read(1 << 20):
                digest.update(part)
        found = digest.hexdigest()
        return "" if found == release.sha256 else f"its SHA-256 is {found}, and {release.sha256} was signed"

    download.fetch(release.url, path, release.length, check, progress)
    return path


def _check_space(roots: Roots, release: Release, path: str) -> None:
    """Raises UserError (exit 5) when the archive or its content will not fit."""
    have = os.path.getsize(path) if os.path.exists(path) else 0
    download_bytes = max(0, release.length - have)
    volumes: dict[int, tuple[str, int]] = {}
    for place, needed in ((roots.cache, download_bytes), (roots.app, release.unpacked + SPARE_BYTES)):
        there = place
        while not os.path.exists(there):
            there = os.path.dirname(there)
        device = os.stat(there).st_dev
        volumes[device] = (there, volumes.get(device, ("", 0))[1] + needed)
    for there, needed in volumes.values():
        free = shutil.disk_usage(there).free
        if free < needed:
            what = f"{there} has {free / 1e6:.0f} MB free, and this update needs {needed / 1e6:.0f} MB there"
            raise UserError(what, "make room, then ways update", WRITE_FAILED)


def _put_in_place(
    system: System, roots: Roots, entry: journal.Journal, what: UpdatePlan, file: str
) -> journal.Journal:
    """Unpack, check, try, and rename to its place; the journal as it is then. Raises UserError, OSError."""
    version = entry.after
    entry = journal.write(system, roots, entry, journal.STAGE)
    system.make_folders(os.path.join(roots.app, VERSIONS))
    staging = os.path.join(roots.app, VERSIONS, f".{versions.STAGING}-{version}-{os.getpid()}")
    archive.extract(system, file, f"ways-{version}", staging)
    fault = versions.damage(system, staging)
    if fault:
        raise UserError(f"the archive of {version} is not whole: {fault}", "report this release", UNVERIFIED)
    entry = journal.write(system, roots, entry, journal.PROBE)
    fault = programs.probe(system, roots, staging, version)
    if fault:
        what_failed = (
            f"version {version} does not work here: {fault}; {entry.before or 'nothing'} stays active"
        )
        raise UserError(what_failed, "ways doctor", WRONG)
    entry = journal.write(system, roots, entry, journal.PLACE)
    content = versions.folder(roots, version)
    if what.repair:
        _mend(system, staging, content)
        return entry
    if system.kind(content) is not None:
        _make_way(system, roots, version)
    system.rename(staging, content)
    return entry


def _make_way(system: System, roots: Roots, version: str) -> None:
    """Put a damaged folder of that version, which is not the active one, out of the way."""
    installed = versions.look(system, roots)
    with versions.claimed(system, versions.folder(roots, version)) as free:
        if version == installed.current or not free:
            what = f"{versions.folder(roots, version)} is damaged, and a process runs from it"
            raise UserError(what, "end that process, then ways update", WRITE_FAILED)
        versions.remove_version(system, roots, version)


def _mend(system: System, staging: str, content: str) -> None:
    """Replace what is not as it was shipped, each file by rename: a program that runs keeps its own."""
    path = os.path.join(staging, payload_manifest.NAME)
    for file in payload_manifest.from_json(system.read_bytes(path), path).files:
        place = os.path.join(content, *file.path.split("/"))
        found = system.info(place)
        whole = (
            found is not None
            and found.kind == "file"
            and bool(found.mode & 0o100) == file.executable
            and system.sha256(place) == file.sha256
        )
        if not whole:
            system.make_folders(os.path.dirname(place))
            system.rename(os.path.join(staging, *file.path.split("/")), place)
    system.rename(path, os.path.join(content, payload_manifest.NAME))
    system.remove_tree(staging)


def run(
    system: System,
    roots: Roots,
    wish: Wish,
    environ: Mapping[str, str],
    progress: download.Progress | None = None,
) -> Finished:
    """The whole of `ways update`. Call it under the update lock. Raises UserError, OSError."""
    told = recovery.recover(system, roots, environ)
    refuse_managed(system, roots)
    refuse_development(system, roots, wish.force)
    root = tuf_client.trusted_root(roots)  # first: without keys no release base helps
    base = release_base(system, roots, wish.base, environ)
    found = available(roots, base, root)
    done = apply(system, roots, plan(system, roots, wish, found), environ, progress)
    notes = (told, *done.notes) if told else done.notes
    return Finished(done.version, notes, done.problems, done.exit_code)
