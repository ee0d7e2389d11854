"""The app root of a source install: `versions/<version>/`, `current` and the stable names (spec: roots).

A frozen release is laid out by the installer from its archive. A source install (a checkout, or a
wheel) has no archive, so the same layout is made from the package: copies of the payload and a
`bin/ways` that starts the source with the Python it was installed for. A version is staged beside its
place and renamed, `current` is switched by renaming over it, and a version is never changed afterwards
except to repair it; so a crash leaves leftovers that the next run sweeps, and never half a version.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys

from installer import safety_net
from projection import payload_manifest
from projection.payload_manifest import PayloadManifest, ShippedFile
from projection.scraps import sweep
from projection.system import FileInfo, System
from projection.wants import App
from ways import __version__
from ways.core import active
from ways.core.environment import version_folder
from ways.core.errors import REFUSED, WRITE_FAILED, WRONG, UserError
from ways.core.record import record
from ways.core.roots import Roots

VERSIONS, CURRENT, PREVIOUS = "versions", "current", "previous"
FOLDERS = ("agents", "bin", "commands", "hooks", "skills")
STABLE_NAMES = (*FOLDERS, "settings.json")
NATIVE = ("lib", "models")
SOURCE_MARK = "+src."
_ADAPTER_FOLDERS = frozenset({"hooks", "hooks/ways"})
_STAND_IN = b"#!/bin/sh\n# No longer used. It stands here until no settings file names it.\nexit 0\n"
_STAGING = re.compile(r"^\.staging-src-\d+$")  # never what an update is unpacking

_LAUNCHER = """\
#!/bin/sh
# Starts ways from its source; written by ways reconcile.
# A missing program file would make Python leave with 2, which erases the user's prompt: look first.
python={python}
boot={boot}
if [ -x "$python" ] && [ -f "$boot" ]; then
    exec "$python" -I -S -X utf8 "$boot" "$@"
fi
[ "${{1-}}" = hook ] && exit 0
printf 'ways: the source install has lost %s or %s  Next: ways reconcile, from the source\\n' \\
    "$python" "$boot" >&2
exit 1
"""

_BOOT = '''\
"""Starts ways from the source at the paths below; written by ways reconcile."""

import sys

sys.path += {paths}
HOOK = sys.argv[1:2] == ["hook"]
try:
    from ways.entry import main
except Exception as error:
    # The source is gone or half updated. A hook stays silent: nothing may disturb the session.
    if not HOOK:
        sys.stderr.write(
            f"ways: the source at {{sys.path[-{count}]}} cannot be loaded: {{error}}  "
            "Next: restore it, or run ways reconcile from where it is now\\n"
        )
    sys.exit(0 if HOOK else 1)
sys.exit(main())
'''


@record
class Source:
    """A source install: the folder that holds the packages, the Python that runs them, the folders of
    its libraries, the payload, and the built engine and models to link (name and folder)."""

    code: str
    python: str
    libraries: tuple[str, ...]
    payload: str
    native: tuple[tuple[str, str], ...] = ()


@record
class Staged:
    """One file of a version: its entry, and where it comes from (a path, or its own bytes)."""

    file: ShippedFile
    source: str = ""
    data: bytes = b""


@record
class Version:
    """A version to stage: its name, its folder, its files, and links to folders outside."""

    name: str
    folder: str
    files: tuple[Staged, ...]
    links: tuple[tuple[str, str], ...]

    @property
    def manifest(self) -> PayloadManifest:
        """Every file of the version."""
        return PayloadManifest(payload_manifest.in_order(staged.file for staged in self.files))


def prepare(system: System, roots: Roots) -> App:
    """The app that targets are projected from; a source install is staged first.

    Call it under the run lock. Raises UserError when there is no app to project or it cannot be staged.
    """
    try:
        app = installed_app(system, roots) if getattr(sys, "frozen", False) else _source_app(system, roots)
        safety_net.place(system, roots)
    except OSError as error:
        what = f"{error.filename or roots.app}: {error.strerror or error}"
        raise UserError(what, "ways reconcile", WRITE_FAILED) from error
    return app


def _source_app(system: System, roots: Roots) -> App:
    version = plan_version(this_source(), roots)
    stage(system, roots, version)
    return App(roots.app, version.folder, version.manifest, version.name)


def installed_app(system: System, roots: Roots) -> App:
    """The app that an installer laid out. Raises UserError when there is none."""
    content = active.folder(roots.app)
    path = os.path.join(content, payload_manifest.NAME)
    if not system.exists(path):
        raise UserError(f"{roots.app} holds no installed version", "run the installer again", WRONG)
    manifest = payload_manifest.from_json(system.read_bytes(path), path)
    linked = content == os.path.join(roots.app, CURRENT)
    return App(roots.app, content, manifest, os.path.basename(system.real_path(content)), linked)


def shipped_payload() -> str:
    """The folder with the payload of the program that runs: its version's folder, or the source's."""
    return version_folder() or this_source().payload


def this_source() -> Source:
    """The source install that this process runs from."""
    import projection
    import ways

    code = os.path.dirname(os.path.dirname(os.path.abspath(ways.__file__)))
    native = ((name, os.path.join(code, "build", "out", name)) for name in NATIVE)
    return Source(
        code=code,
        python=_stable_python(),
        libraries=tuple(
            dict.fromkeys(path for path in sys.path if _is_library_folder(path) and path != code)
        ),
        payload=os.path.join(os.path.dirname(os.path.abspath(projection.__file__)), "payload"),
        native=tuple((name, folder) for name, folder in native if os.path.isdir(folder)),
    )


def _is_library_folder(path: str) -> bool:
    return os.path.basename(path) in {"site-packages", "dist-packages"} and os.path.isdir(path)


def _stable_python() -> str:
    """The interpreter under one name, whichever of its names started this process."""
    folder = os.path.dirname(sys.executable)
    for name in ("python3", "python"):
        path = os.path.join(folder, name)
        if os.path.exists(path) and os.path.samefile(path, sys.executable):
            return path
    return sys.executable


# What a version holds


def plan_version(source: Source, roots: Roots) -> Version:
    """The version that this source makes. Its name holds 8 hex digits over everything in it, so that
    whatever changes becomes a new version beside the old one."""
    if os.name == "nt":
        raise UserError(
            "a source install is not supported on Windows: its hooks need the packaged ways.exe",
            "install a release",
            WRONG,
        )
    shipped = payload_manifest.compute(source.payload)
    name = f"{__version__}{SOURCE_MARK}{_identity(source, shipped, roots)}"
    folder = os.path.join(roots.app, VERSIONS, name)
    files = [Staged(file, os.path.join(source.payload, *file.path.split("/"))) for file in shipped.files]
    files += _programs(source, folder)
    release = {"version": name, "build": "source", "source": source.code, "python": source.python}
    files.append(_made("release.json", (json.dumps(release, indent=2) + "\n").encode(), False))
    listed = PayloadManifest(payload_manifest.in_order(staged.file for staged in files))
    files.append(_made(payload_manifest.NAME, payload_manifest.to_json(listed), False))
    return Version(name, folder, tuple(files), source.native)


def _identity(source: Source, shipped: PayloadManifest, roots: Roots) -> str:
    parts = (shipped.digest, roots.app, source.code, source.python, *source.libraries)
    native = (part for pair in source.native for part in pair)
    text = "\0".join((*parts, *native, _LAUNCHER, _BOOT))
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:8]


def _programs(source: Source, folder: str) -> list[Staged]:
    paths = [source.code, *source.libraries]
    launcher = _LAUNCHER.format(
        python=_single_quoted(source.python), boot=_single_quoted(os.path.join(folder, "bin", "boot.py"))
    )
    # ascii(): the file is read as UTF-8, and a folder's name need not be.
    boot = _BOOT.format(paths="[" + ", ".join(ascii(path) for path in paths) + "]", count=len(paths))
    return [
        _made("bin/ways", launcher.encode("utf-8", "surrogateescape"), True),
        _made("bin/boot.py", boot.encode("ascii"), False),
    ]


def _made(path: str, data: bytes, executable: bool) -> Staged:
    return Staged(payload_manifest.entry_for(path, data, executable), data=data)


def _single_quoted(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "'"


# Putting it in place


def stage(system: System, roots: Roots, version: Version) -> None:
    """Make `version` the current one. Nothing is changed when everything is as it should be.

    Raises UserError (exit 3) when a place in the app root is taken by something that is not a link.
    """
    _check_places(system, roots)
    _sweep(system, roots)
    if system.kind(version.folder) is None:
        _stage_new(system, roots, version)
    else:
        sweep(system, version.folder)
        _repair(system, version)
    carry_adapters(system, os.path.join(roots.app, CURRENT), version.folder, version.manifest)
    _switch(system, roots, version)
    for name in STABLE_NAMES:
        _link(system, os.path.join(CURRENT, name), os.path.join(roots.app, name))
    _prune(system, roots)


def _check_places(system: System, roots: Roots) -> None:
    for name in (CURRENT, PREVIOUS, *STABLE_NAMES):
        path = os.path.join(roots.app, name)
        if system.kind(path) not in {None, "link", "junction"}:
            raise UserError(
                f"{path} is in the way: ways keeps a link of its own there", f"move {path} away", REFUSED
            )


def _sweep(system: System, roots: Roots) -> None:
    """Remove what a killed run left: half-staged versions and temporary links."""
    folder = os.path.join(roots.app, VERSIONS)
    if system.kind(folder) == "folder":
        for name in system.names(folder):
            if _STAGING.match(name):
                system.remove_tree(os.path.join(folder, name))
    if system.kind(roots.app) == "folder":
        for name in system.names(roots.app):
            if _is_temporary_link(name):
                system.remove(os.path.join(roots.app, name))


def _is_temporary_link(name: str) -> bool:
    return any(name.startswith(f".{known}.ways-tmp-") for known in (CURRENT, PREVIOUS, *STABLE_NAMES))


def _stage_new(system: System, roots: Roots, version: Version) -> None:
    versions = os.path.join(roots.app, VERSIONS)
    system.make_folders(versions)
    staging = os.path.join(versions, f".staging-src-{os.getpid()}")
    system.mkdir(staging)
    for name in FOLDERS:
        system.mkdir(os.path.join(staging, name))
    for staged in version.files:
        _put(system, staging, staged)
    for name, target in version.links:
        system.symlink(target, os.path.join(staging, name), folder=True)
    system.rename(staging, version.folder)


def carry_adapters(system: System, before: str, folder: str, manifest: PayloadManifest) -> None:
    """Give a version that is about to be current a silent stand-in for every hook adapter that the one
    `before` it has and it has not. Until the targets' settings are merged they name those adapters, and
    a registered command must resolve at every moment (case s06). The version after drops them."""
    path = os.path.join(before, payload_manifest.NAME)
    if not system.exists(path):
        return
    shipped = {file.path for file in manifest.files}
    for file in payload_manifest.from_json(system.read_bytes(path), path).files:
        adapter = os.path.dirname(file.path) in _ADAPTER_FOLDERS and file.executable
        place = os.path.join(folder, *file.path.split("/"))
        if adapter and file.path not in shipped and not system.exists(place):
            system.make_folders(os.path.dirname(place))
            system.write_atomic(place, _STAND_IN, 0o755)


def _put(system: System, folder: str, staged: Staged) -> None:
    path = os.path.join(folder, *staged.file.path.split("/"))
    system.make_folders(os.path.dirname(path))
    if staged.source:
        system.copy(staged.source, path, staged.file.mode)
    else:
        system.write_atomic(path, staged.data, staged.file.mode)


def _repair(system: System, version: Version) -> None:
    """Put back what was damaged by hand in a version that is already there, each file by rename."""
    for staged in version.files:
        path = os.path.join(version.folder, *staged.file.path.split("/"))
        found = system.info(path)
        if found is not None and found.kind != "file":
            what = f"{path} is not the file it should be"
            raise UserError(what, f"move {version.folder} away", WRITE_FAILED)
        if found is None or not _is_intact(system, path, found, staged.file):
            _put(system, version.folder, staged)
    for name in FOLDERS:
        system.make_folders(os.path.join(version.folder, name))
    for name, target in version.links:
        _link(system, target, os.path.join(version.folder, name))


def _is_intact(system: System, path: str, found: FileInfo, file: ShippedFile) -> bool:
    same = found.size == file.size and bool(found.mode & 0o100) == file.executable
    return same and system.sha256(path) == file.sha256


def _switch(system: System, roots: Roots, version: Version) -> None:
    current = os.path.join(roots.app, CURRENT)
    wanted = os.path.join(VERSIONS, version.name)
    before = system.read_link(current) if system.kind(current) else ""
    if before and before != wanted and system.exists(current):
        _link(system, before, os.path.join(roots.app, PREVIOUS))
    _link(system, wanted, current)


def _link(system: System, target: str, path: str) -> None:
    """A symlink, written only when it is missing or points elsewhere."""
    if system.kind(path) is None or system.read_link(path) != target:
        system.symlink(target, path, folder=True)


def _prune(system: System, roots: Roots) -> None:
    """Remove source versions that are neither current nor previous; released ones belong to update."""
    versions = os.path.join(roots.app, VERSIONS)
    kept = set()
    for name in (CURRENT, PREVIOUS):
        path = os.path.join(roots.app, name)
        if system.kind(path):
            kept.add(os.path.basename(system.read_link(path)))
    for name in system.names(versions):
        if SOURCE_MARK in name and name not in kept:
            system.remove_tree(os.path.join(versions, name))
