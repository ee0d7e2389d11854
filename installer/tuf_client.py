"""Which releases there are, from signed metadata (spec: installer, "ways update"; case u09).

The Update Framework through python-tuf's own client: enough signatures by keys that the program carries,
not expired, never older than what was seen before, and no mixture of two states of the repository. The
metadata that was seen is kept in the state root. There is no way around it and no flag that skips it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from installer import download, versions
from ways.core import active
from ways.core.errors import UNVERIFIED, UserError
from ways.core.files import make_private
from ways.core.roots import Roots

if TYPE_CHECKING:
    from tuf.api.metadata import TargetFile
    from tuf.ngclient import FetcherInterface

ROOT_NAME = "release-root.json"
_UNCHANGED = "the installed version stays as it is"


@dataclass(frozen=True)
class Release:
    """One archive in the signed list: for which machine, its address, length in bytes and SHA-256 in hex.
    `unpacked` is the size of its files in bytes."""

    version: str
    platform: str
    architecture: str
    name: str
    url: str
    length: int
    sha256: str
    unpacked: int


def metadata_folder(roots: Roots) -> str:
    """Where the metadata that was seen last is kept."""
    return os.path.join(roots.state, "tuf")


def trusted_root(roots: Roots) -> bytes:
    """The root keys that the installed program carries. Raises UserError when it has none."""
    path = os.path.join(active.folder(roots.app), ROOT_NAME)
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        what = (
            "this build carries no release keys, so ways update can verify nothing that it fetches. A newer "
            "version goes over this one with the install script from where this one came; settings and hooks "
            "stay"
        )
        raise UserError(what, "sh install.sh --base URL, or --archive FILE", UNVERIFIED) from error


def releases(roots: Roots, base: str, root: bytes, *, keep: bool = True) -> list[Release]:
    """Every release in the repository at `base` (a URL), after all checks of TUF.

    `keep` off leaves the kept metadata as it was (a dry run). Raises UserError, exit 6.
    """
    if keep:
        try:
            make_private(metadata_folder(roots))
        except OSError as error:
            raise UserError(f"{metadata_folder(roots)}: {error.strerror}", "", UNVERIFIED) from error
        return verified(metadata_folder(roots), base, root)
    with tempfile.TemporaryDirectory(prefix="ways-metadata-") as folder:
        seen = os.path.join(folder, "tuf")
        if os.path.isdir(metadata_folder(roots)):
            shutil.copytree(metadata_folder(roots), seen, symlinks=True)
        else:
            os.mkdir(seen)
        return verified(seen, base, root)


def verified(folder: str, base: str, root: bytes) -> list[Release]:
    """Every release in the repository at `base`, with the metadata seen before in `folder`, which is
    brought up to date. Raises UserError, exit 6."""
    from tuf.api.metadata import Metadata, Targets
    from tuf.ngclient import Updater

    try:
        updater = Updater(folder, base + "metadata/", fetcher=_fetcher(), bootstrap=root)
        updater.refresh()
        # What refresh() has just verified and written; the client has no call that lists it.
        signed = Metadata[Targets].from_file(os.path.join(folder, "targets.json")).signed
    except UserError:
        raise
    except Exception as error:
        raise _explained(error, base) from error
    found = (_release(target, base) for target in signed.targets.values())
    return [release for release in found if release is not None]


def _fetcher() -> FetcherInterface:
    from tuf.api.exceptions import DownloadError, DownloadHTTPError
    from tuf.ngclient import FetcherInterface as Interface

    class Fetcher(Interface):
        """TUF's downloads over our own transport."""

        def _fetch(self, url: str) -> Iterator[bytes]:
            try:
                with download.opened(url) as answer:
                    yield from answer.parts
            except download.Unreachable as error:
                if error.status:
                    raise DownloadHTTPError(str(error), error.status) from error
                raise DownloadError(str(error)) from error

    return Fetcher()


def _release(target: TargetFile, base: str) -> Release | None:
    """A target as a release, None for one that is none or is not described as ours are."""
    custom = target.custom or {}
    sha256 = target.hashes.get("sha256", "")
    try:
        version = versions.checked_name(str(custom["version"]))
        platform, architecture = str(custom["platform"]), str(custom["architecture"])
        unpacked = int(custom["unpacked"])
    except (KeyError, TypeError, ValueError, UserError):
        return None
    plain = "/" not in target.path and target.path.endswith((".tar.gz", ".zip"))
    if not plain or not sha256 or versions.order(version) is None:
        return None
    url = f"{base}targets/{sha256}.{target.path}"
    return Release(version, platform, architecture, target.path, url, target.length, sha256, unpacked)


def _explained(error: Exception, base: str) -> Exception:
    """A fault of verification or of the network as a UserError; anything else as it was."""
    from tuf.api import exceptions

    where = download.shown(base)
    if isinstance(error, exceptions.ExpiredMetadataError):
        what = (
            f"the release list at {where} has expired: the server shows an old state, or this machine's "
            f"clock is wrong ({error})"
        )
    elif isinstance(error, exceptions.BadVersionNumberError):
        what = f"the release list at {where} is older than one that was seen before ({error})"
    elif isinstance(error, exceptions.UnsignedMetadataError):
        what = f"the release list at {where} is not signed by the keys that this program trusts ({error})"
    elif isinstance(error, exceptions.LengthOrHashMismatchError):
        what = f"the release list at {where} is a mixture of different states ({error})"
    elif isinstance(error, exceptions.DownloadError):
        return UserError(f"the release list cannot be had: {error}", "ways update, later", UNVERIFIED)
    elif isinstance(error, exceptions.RepositoryError):
        what = f"the release list at {where} cannot be verified ({error})"
    elif isinstance(error, OSError):
        what = f"the release list cannot be kept: {error}"
    else:
        return error
    return UserError(f"{what}; {_UNCHANGED}", "ways update, later", UNVERIFIED)
