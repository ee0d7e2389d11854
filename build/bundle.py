"""The content of `versions/<version>/`: program, engine, model, payload and the files that describe them
(spec: installer, "Bundle layout")."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from build import licences, packages
from installer.tuf_client import ROOT_NAME
from projection import payload_manifest
from ways.core.environment import platform_name
from ways.core.errors import USAGE, UserError

RELEASE = "release.json"
PAYLOAD = packages.HERE.parent / "projection" / "payload"
RELEASE_ROOT = packages.HERE / ROOT_NAME  # the keys that `ways update` trusts (docs/releasing.md)
# What a bundle may ask for at most. Linux: the glibc of Debian 12; the release job asks for less.
# Windows and macOS: the oldest that the Python inside supports.
GLIBC_MOST = "2.36"
WINDOWS_LEAST = "10"
MACOS_LEAST = "11.0"
_ARCHITECTURES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Facts:
    """What `release.json` says: the version, the commit ("" outside a checkout; `-modified` behind it when
    files differ from it), the time of the build in seconds since 1970, the machine that it is for, and the
    https address where its releases are served ("": the program asks where it was installed from)."""

    version: str
    commit: str
    built: int
    system: str
    architecture: str
    base: str = ""

    @property
    def name(self) -> str:
        """`ways-0.1.0-linux-x86_64`: the archive's name without its extension."""
        return f"ways-{self.version}-{self.system}-{self.architecture}"

    @property
    def archive_name(self) -> str:
        """The archive's file name."""
        return self.name + (".zip" if self.system == "windows" else ".tar.gz")

    @property
    def top(self) -> str:
        """The one folder that the archive holds."""
        return f"ways-{self.version}"


def facts(version: str, base: str = "") -> Facts:
    """The facts of a build made here and now. Raises UserError for a processor that is not supported, and for
    a base that is no https address or holds credentials."""
    parts = urlsplit(base)
    if base and (parts.scheme != "https" or not parts.hostname or parts.username or parts.query):
        raise UserError(
            "the release base in a build must be a plain https address", "build/freeze.py --help", USAGE
        )
    machine = platform.machine().lower()
    if machine not in _ARCHITECTURES:
        raise UserError(f"there are no builds for the processor {machine}")
    return Facts(version, commit(), build_time(), platform_name(), _ARCHITECTURES[machine], base)


def commit() -> str:
    """The checkout's commit, `-modified` behind it when the shipped sources differ; "" when there is none."""
    head = _git("rev-parse", "HEAD")
    if not head:
        return ""
    changed = _git("status", "--porcelain", "--", "ways", "projection", "installer", "windows", "build")
    return f"{head}-modified" if changed else head


def _git(*arguments: str) -> str:
    git = shutil.which("git")
    if not git:
        return ""
    done = subprocess.run(
        [git, *arguments], cwd=packages.HERE.parent, capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout.strip() if done.returncode == 0 else ""


def build_time() -> int:
    """SOURCE_DATE_EPOCH when it is set (reproducible builds), else now. Raises UserError for no number."""
    named = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not named:
        return int(time.time())
    if not named.isdigit():
        raise UserError(f"SOURCE_DATE_EPOCH is {named!r}, not a number of seconds since 1970")
    return int(named)


def assemble(
    folder: Path,
    facts: Facts,
    program: Path,
    library: Path,
    model: Path,
    most_glibc: str = GLIBC_MOST,
    bundled: licences.Bundled | None = None,
) -> dict[str, Any]:
    """Fill `folder` (made here) with everything that a version holds; what `release.json` says.

    `program` is PyInstaller's folder, `library` and `model` are files in folders of their own with their
    licences beside them, `bundled` is what PyInstaller took from others. Raises UserError when the bundle
    would need a newer glibc than `most_glibc`, or a licence is missing.
    """
    shutil.copytree(program, folder / "bin")
    _copy_files(library.parent, folder / "lib", library.name)
    _copy_files(model.parent, folder / "models", model.name)
    licences.write(folder / "licenses", bundled or licences.Bundled())
    for file in payload_manifest.compute(str(PAYLOAD)).files:
        target = folder / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PAYLOAD / file.path, target)
        target.chmod(file.mode)
    if RELEASE_ROOT.is_file():
        shutil.copyfile(RELEASE_ROOT, folder / ROOT_NAME)
    _settle_modes(folder)
    _refuse_carriage_returns(folder)
    release = _release(folder, facts, most_glibc)
    _write(folder / RELEASE, json.dumps(release, indent=2) + "\n")
    manifest = payload_manifest.compute(str(folder))
    _write(folder / payload_manifest.NAME, payload_manifest.to_json(manifest).decode("utf-8"))
    return release


def _copy_files(source: Path, target: Path, needed: str) -> None:
    """A file and the licences beside it."""
    target.mkdir()
    shutil.copyfile(source / needed, target / needed)
    stem = needed.partition(".")[0]
    for path in sorted(source.glob("*LICENSE.txt")):
        if path.name.startswith(stem) or target.name == "lib":
            shutil.copyfile(path, target / path.name)


def _settle_modes(folder: Path) -> None:
    """0755 for what is run by its path, 0644 for the rest, whatever the building machine's umask was."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise UserError(f"{path} is a link; a bundle holds plain files, so that it unpacks everywhere")
        if path.is_dir():
            path.chmod(0o755)
        else:
            run = path.parent == folder / "bin" or (
                bool(path.stat().st_mode & stat.S_IXUSR) and is_script(path)
            )
            path.chmod(0o755 if run else 0o644)


def is_script(path: Path) -> bool:
    """True for a file that a shell or another interpreter reads."""
    if path.suffix in {".sh", ".ps1", ".py"}:
        return True
    with path.open("rb") as stream:
        return stream.read(2) == b"#!"


def _refuse_carriage_returns(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and is_script(path) and path.suffix != ".ps1" and b"\r" in path.read_bytes():
            raise UserError(f"{path} has Windows line endings, which a POSIX shell cannot run")


def _release(folder: Path, facts: Facts, most_glibc: str) -> dict[str, Any]:
    from ways.embedding.native import ENGINE_VERSION

    return {
        "version": facts.version,
        "commit": facts.commit,
        "build": "frozen",
        "built": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts.built)),
        "platform": f"{facts.system}-{facts.architecture}",
        "minimum": dict(_minimum(folder, facts.system, most_glibc)),
        "python": platform.python_version(),
        "engine": ENGINE_VERSION,
        **({"base": facts.base} if facts.base else {}),
    }


def _minimum(folder: Path, system: str, most_glibc: str) -> Mapping[str, str]:
    if system == "windows":
        return {"windows": WINDOWS_LEAST}
    if system == "macos":
        import sysconfig

        return {"macos": str(sysconfig.get_config_var("MACOSX_DEPLOYMENT_TARGET") or MACOS_LEAST)}
    from build.elf import glibc_needs

    version, path = glibc_needs(folder)[0]
    found = ".".join(map(str, version))
    if version > tuple(int(part) for part in most_glibc.split(".")):
        raise UserError(
            f"{path} needs glibc {found}, and at most {most_glibc} is allowed",
            "build in an image with an older glibc (docs/building.md)",
        )
    print(f"the newest glibc symbol is GLIBC_{found}, in {path}; up to {most_glibc} is allowed", flush=True)
    return {"glibc": found}


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
    path.chmod(0o644)


def main_program(folder: Path) -> Path:
    """The program of an assembled bundle."""
    return folder / "bin" / ("ways.exe" if sys.platform == "win32" else "ways")
