"""Make and keep a signed release repository (The Update Framework) out of archives.

    python build/release.py keygen FILE                      a new key: FILE (private) and FILE.pub
    python build/release.py root REPO --keys KEYS.json       begin root metadata, or its next version
    python build/release.py sign REPO/staged/root.json --key FILE
    python build/release.py add REPO ARCHIVE...              stage a list with these archives added
    python build/release.py withdraw REPO VERSION            stage a list without a version
    python build/release.py finish REPO --key FILE           publish what is staged and signed
    python build/release.py refresh REPO --key FILE          sign the time stamp anew, nothing else
    python build/release.py check REPO                       verify the repository as a client does

A repository is a folder of plain files: `metadata/`, `targets/` and, until they are signed by enough keys,
`staged/`. Any web server that serves files can serve it. docs/releasing.md has the key ceremony.
"""

from __future__ import annotations

import argparse
import getpass
import hashlib
import json
import os
import re
import shutil
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.exceptions import Error as KeyFault
from securesystemslib.signer import CryptoSigner, Key, SSlibKey
from tuf.api.exceptions import RepositoryError
from tuf.api.metadata import Metadata, MetaFile, Root, Snapshot, TargetFile, Targets, Timestamp
from tuf.api.serialization import DeserializationError
from tuf.api.serialization.json import JSONSerializer

from ways.core.errors import UNVERIFIED, USAGE, WRONG, UserError

ROLES = ("root", "targets", "snapshot", "timestamp")
# Days until the metadata of a role expires. Root and targets are signed by people, the others by a job.
LIFETIME = {"root": 365, "targets": 365, "snapshot": 30, "timestamp": 10}
PASSPHRASE = "WAYS_KEY_PASSPHRASE"
ARCHIVE = re.compile(
    r"ways-(?P<version>[0-9][0-9A-Za-z.+_-]*)-(?P<platform>linux|macos|windows)-"
    r"(?P<architecture>x86_64|arm64)\.(?:tar\.gz|zip)"
)
INSTALLERS = {"install.sh": "installer/install.sh", "install.ps1": "windows/install.ps1"}
_CHECKOUT = Path(__file__).resolve().parent.parent


# Keys


def new_key() -> CryptoSigner:
    """A new Ed25519 key pair. (The program checks Ed25519 without a compiled library.)"""
    return CryptoSigner(Ed25519PrivateKey.generate())


def write_key(signer: CryptoSigner, path: Path, passphrase: str) -> None:
    """Write the private key, readable by its owner only, and the public one beside it as `<path>.pub`.

    "" leaves the private key unencrypted. Raises UserError when the file is there already.
    """
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode())
    private: Any = signer._private_key
    data = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UserError(f"{path} is there already, and a key is never overwritten", "", USAGE) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    public = {"keyid": signer.public_key.keyid, **signer.public_key.to_dict()}
    path.with_name(path.name + ".pub").write_text(json.dumps(public, indent=2) + "\n", "utf-8")


def read_key(path: Path, passphrase: str | None = None) -> CryptoSigner:
    """A private key from its file. Raises UserError when it cannot be read or the passphrase is wrong."""
    try:
        data = path.read_bytes()
        secret = (passphrase or "").encode() or None
        private = serialization.load_pem_private_key(data, secret)
    except TypeError:
        if passphrase is not None:
            raise UserError(f"{path}: the passphrase does not fit", "", USAGE) from None
        return read_key(path, os.environ.get(PASSPHRASE) or getpass.getpass(f"Passphrase of {path.name}: "))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is no key that can be read: {error}", "", USAGE) from error
    if not isinstance(private, Ed25519PrivateKey):
        raise UserError(f"{path} is not an Ed25519 key", "python build/release.py keygen FILE", USAGE)
    return CryptoSigner(private)


def read_public(path: Path) -> Key:
    """A public key from its `.pub` file. Raises UserError."""
    try:
        found = json.loads(path.read_text("utf-8"))
        key = SSlibKey.from_dict(found.pop("keyid"), found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no public key: {error}", "", USAGE) from error
    if key.scheme != "ed25519":
        # The frozen program has no library for any other.
        raise UserError(f"{path} is not an Ed25519 key", "python build/release.py keygen FILE", USAGE)
    return key


# Metadata


def new_root(
    keys: Mapping[str, list[Key]], thresholds: Mapping[str, int], version: int, now: datetime
) -> Root:
    """Root metadata that names the keys of every role and how many of them must sign.

    Raises UserError when a role has fewer keys than must sign.
    """
    root = Root(version=version, expires=_expiry("root", now), consistent_snapshot=True)
    for role in ROLES:
        wanted = thresholds.get(role, 1)
        if not 1 <= wanted <= len(keys.get(role, [])):
            what = f"{role}: {wanted} of {len(keys.get(role, []))} keys cannot sign"
            raise UserError(what, "name enough keys for every role", USAGE)
        for key in keys[role]:
            root.add_key(key, role)
        root.roles[role].threshold = wanted
    return root


def _expiry(role: str, now: datetime) -> datetime:
    return (now + timedelta(days=LIFETIME[role])).replace(microsecond=0)


def _path(repository: Path, role: str, version: int | None = None) -> Path:
    name = f"{role}.json" if version is None else f"{version}.{role}.json"
    return repository / "metadata" / name


def _write(path: Path, metadata: Metadata[Any]) -> None:
    """Replace the file in one step, with a new line at its end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_bytes(metadata.to_bytes(JSONSerializer(compact=False)))
    part.replace(path)


def _read(path: Path) -> Metadata[Any]:
    try:
        return Metadata.from_file(str(path))
    except (OSError, DeserializationError) as error:
        raise UserError(f"{path} is no metadata: {error}", "", UNVERIFIED) from error
    except Exception as error:
        if type(error).__module__.startswith(("tuf.", "securesystemslib.")):
            raise UserError(f"{path} is no metadata: {error}", "", UNVERIFIED) from error
        raise


def latest(repository: Path, role: str) -> Metadata[Any] | None:
    """The newest published metadata of a role, None when there is none."""
    if role == "timestamp":
        path = _path(repository, role)
        return _read(path) if path.is_file() else None
    found = [
        int(path.name.split(".", 1)[0])
        for path in (repository / "metadata").glob(f"*.{role}.json")
        if path.name.split(".", 1)[0].isdigit()
    ]
    return _read(_path(repository, role, max(found))) if found else None


def trusted_root(repository: Path) -> Metadata[Root]:
    """The newest published root. Raises UserError when the repository has none."""
    found = latest(repository, "root")
    if found is None:
        raise UserError(f"{repository} has no root metadata", "python build/release.py root REPO", USAGE)
    return found


def staged(repository: Path, role: str) -> Path:
    """Where metadata of a role waits for its signatures."""
    return repository / "staged" / f"{role}.json"


def sign(path: Path, signer: CryptoSigner) -> None:
    """Add (or renew) one signature. Raises UserError."""
    metadata = _read(path)
    metadata.sign(signer, append=True)
    _write(path, metadata)


def stage_root(
    repository: Path, keys: Mapping[str, list[Key]], thresholds: Mapping[str, int], now: datetime
) -> Path:
    """Stage the first root, or the next one (a rotation): it needs the old keys' signatures too."""
    before = latest(repository, "root")
    version = before.signed.version + 1 if before is not None else 1
    path = staged(repository, "root")
    _write(path, Metadata(new_root(keys, thresholds, version, now)))
    return path


def stage_archives(repository: Path, archives: Iterable[Path], now: datetime) -> Path:
    """Copy archives into `targets/` and stage a list that has them too. Raises UserError."""
    targets = _next_targets(repository, now)
    for archive in archives:
        target = described(archive)
        there = targets.targets.get(target.path)
        if there is not None and there.hashes != target.hashes:
            raise UserError(
                f"{target.path} is published already with other content; a release never changes",
                "build it with another version",
                WRONG,
            )
        place = repository / "targets" / f"{target.hashes['sha256']}.{target.path}"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(archive, place)
        targets.targets[target.path] = target
    return _stage(repository, targets)


def stage_withdrawal(repository: Path, version: str, now: datetime) -> Path:
    """Stage a list without the archives of a version (a bad release). Raises UserError."""
    targets = _next_targets(repository, now)
    gone = [
        name for name, target in targets.targets.items() if (target.custom or {}).get("version") == version
    ]
    if not gone:
        raise UserError(f"{repository} lists no version {version}", "", USAGE)
    for name in gone:
        del targets.targets[name]
    return _stage(repository, targets)


def _stage(repository: Path, targets: Targets) -> Path:
    path = staged(repository, "targets")
    _write(path, Metadata(targets))
    return path


def _next_targets(repository: Path, now: datetime) -> Targets:
    """The next list: what is staged already, else the published one, without signatures."""
    published = latest(repository, "targets")
    waiting = staged(repository, "targets")
    source = _read(waiting) if waiting.is_file() else published
    targets: Targets = source.signed if source is not None else Targets()
    targets.version = published.signed.version + 1 if published is not None else 1
    targets.expires = _expiry("targets", now)
    return targets


def described(archive: Path) -> TargetFile:
    """An archive as the list names it: length, hashes, and for which machine. Raises UserError."""
    found = ARCHIVE.fullmatch(archive.name)
    if found is None:
        raise UserError(f"{archive.name} is not called like an archive of ours", "", USAGE)
    if not archive.is_file():
        raise UserError(f"{archive} is missing", "python build/freeze.py", USAGE)
    target = TargetFile.from_file(archive.name, str(archive), ["sha256", "sha512"])
    target.unrecognized_fields["custom"] = {**found.groupdict(), "unpacked": unpacked_bytes(archive)}
    return target


def unpacked_bytes(archive: Path) -> int:
    """The size of all files in an archive."""
    try:
        if archive.suffix == ".zip":
            with zipfile.ZipFile(archive) as opened:
                return sum(info.file_size for info in opened.infolist())
        with tarfile.open(archive) as tar:
            return sum(info.size for info in tar if info.isreg())
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise UserError(f"{archive} is no archive that can be read: {error}", "", USAGE) from error


# Publishing


def finish(repository: Path, signers: list[CryptoSigner], now: datetime) -> None:
    """Publish what is staged, once enough keys have signed it, with a new snapshot and time stamp.

    `signers` sign snapshot and time stamp. Raises UserError, with nothing published, when signatures miss.
    """
    root = _root_to_publish(repository)
    waiting = staged(repository, "targets")
    targets = _read(waiting) if waiting.is_file() else latest(repository, "targets")
    if targets is None:
        raise UserError(
            f"{repository} has no list of releases", "python build/release.py add REPO ARCHIVE", USAGE
        )
    _need_signatures(root, "targets", targets)
    snapshot = _next_snapshot(repository, targets.signed.version, now)
    timestamp = _next_timestamp(repository, snapshot.signed.version, now)
    for role, metadata in (("snapshot", snapshot), ("timestamp", timestamp)):
        _sign_with(root, role, metadata, signers)
    # A client reads the time stamp first: it comes last, and everything that it leads to is there.
    _write(_path(repository, "root", root.signed.version), root)
    _write(_path(repository, "targets", targets.signed.version), targets)
    _write(_path(repository, "snapshot", snapshot.signed.version), snapshot)
    _write(_path(repository, "timestamp"), timestamp)
    for role in ("root", "targets"):
        staged(repository, role).unlink(missing_ok=True)


def _root_to_publish(repository: Path) -> Metadata[Root]:
    """The staged root when it is signed by enough of the old keys and of its own, else the published one."""
    waiting = staged(repository, "root")
    if not waiting.is_file():
        return trusted_root(repository)
    new = _read(waiting)
    _need_signatures(new, "root", new)
    before = latest(repository, "root")
    if before is not None:
        _need_signatures(before, "root", new)
    return new


def _need_signatures(root: Metadata[Root], role: str, metadata: Metadata[Any]) -> None:
    result = root.signed.get_verification_result(role, metadata.signed_bytes, metadata.signatures)
    if not result.verified:
        what = f"{role}: {len(result.signed)} of the {result.threshold} signatures that root version "
        raise UserError(
            f"{what}{root.signed.version} asks for",
            f"python build/release.py sign staged/{role}.json",
            UNVERIFIED,
        )


def _next_snapshot(repository: Path, targets_version: int, now: datetime) -> Metadata[Any]:
    before = latest(repository, "snapshot")
    version = before.signed.version + 1 if before is not None else 1
    meta = {"targets.json": MetaFile(version=targets_version)}
    return Metadata(Snapshot(version=version, expires=_expiry("snapshot", now), meta=meta))


def _next_timestamp(repository: Path, snapshot_version: int, now: datetime) -> Metadata[Any]:
    before = latest(repository, "timestamp")
    version = before.signed.version + 1 if before is not None else 1
    meta = MetaFile(version=snapshot_version)
    return Metadata(Timestamp(version=version, expires=_expiry("timestamp", now), snapshot_meta=meta))


def _sign_with(root: Metadata[Root], role: str, metadata: Metadata[Any], signers: list[CryptoSigner]) -> None:
    allowed = root.signed.roles[role].keyids
    for signer in signers:
        if signer.public_key.keyid in allowed:
            metadata.sign(signer, append=True)
    _need_signatures(root, role, metadata)


def refresh(repository: Path, signers: list[CryptoSigner], now: datetime) -> None:
    """Sign the time stamp anew, and the snapshot when it is past half its life. Raises UserError."""
    root, snapshot = trusted_root(repository), latest(repository, "snapshot")
    if snapshot is None:
        raise UserError(f"{repository} has nothing published", "python build/release.py finish REPO", USAGE)
    if snapshot.signed.expires - now < timedelta(days=LIFETIME["snapshot"] / 2):
        finish(repository, signers, now)
        return
    stamped = _next_timestamp(repository, snapshot.signed.version, now)
    _sign_with(root, "timestamp", stamped, signers)
    _write(_path(repository, "timestamp"), stamped)


def place_installers(repository: Path, base: str) -> list[Path]:
    """Put the install scripts beside the repository's folders, with its address in them; those placed."""
    found = []
    for name, source in INSTALLERS.items():
        if not (_CHECKOUT / source).is_file():
            continue
        text = (_CHECKOUT / source).read_text("utf-8")
        if base:
            text, count = re.subn(
                r"(?m)^(\$?release_?base\s*=\s*)''", lambda m: f"{m[1]}'{base}'", text, flags=re.I
            )
            if count != 1:
                raise UserError(f"{source} has no empty release base to fill in", "", WRONG)
        (repository / name).write_text(text, "utf-8", newline="\n")
        found.append(repository / name)
    return found


def check(repository: Path, root: Path | None = None) -> list[str]:
    """Verify the repository as the program does, and every archive in it; the names of the archives.

    Raises UserError (exit 6).
    """
    from installer.tuf_client import verified

    bootstrap = root or _path(repository, "root", 1)
    base = repository.resolve().as_uri() + "/"
    with tempfile.TemporaryDirectory(prefix="ways-check-") as folder:
        releases = verified(folder, base, bootstrap.read_bytes())
    for release in releases:
        place = repository / "targets" / f"{release.sha256}.{release.name}"
        if not place.is_file():
            raise UserError(f"{place} is missing", "", UNVERIFIED)
        digest = hashlib.sha256(place.read_bytes()).hexdigest()
        if (digest, place.stat().st_size) != (release.sha256, release.length):
            raise UserError(f"{place} is not what was signed", "", UNVERIFIED)
    return sorted(release.name for release in releases)


# The command line


def _keys_file(path: Path) -> tuple[dict[str, list[Key]], dict[str, int]]:
    """`{"root": {"threshold": 2, "keys": ["root-1.pub", …]}, …}`; paths are relative to the file."""
    try:
        found = json.loads(path.read_text("utf-8"))
        keys = {role: [read_public(path.parent / name) for name in found[role]["keys"]] for role in ROLES}
        return keys, {role: int(found[role].get("threshold", 1)) for role in ROLES}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} does not name the keys of every role: {error}", "see docs/releasing.md", USAGE
        ) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Make and keep a signed release repository.")
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("keygen", help="a new key pair")
    one.add_argument("file", type=Path)
    one.add_argument("--no-passphrase", action="store_true", help="for a key that a job's secret store keeps")
    one = commands.add_parser("root", help="stage root metadata")
    one.add_argument("repository", type=Path)
    one.add_argument("--keys", type=Path, required=True, help="which keys sign for which role")
    one = commands.add_parser("sign", help="sign staged metadata")
    one.add_argument("file", type=Path)
    one.add_argument("--key", type=Path, action="append", required=True)
    one = commands.add_parser("add", help="stage a list with more archives")
    one.add_argument("repository", type=Path)
    one.add_argument("archives", type=Path, nargs="+")
    one = commands.add_parser("withdraw", help="stage a list without a version")
    one.add_argument("repository", type=Path)
    one.add_argument("version")
    for name, text in (("finish", "publish what is staged and signed"), ("refresh", "renew the time stamp")):
        one = commands.add_parser(name, help=text)
        one.add_argument("repository", type=Path)
        one.add_argument("--key", type=Path, action="append", required=True)
        if name == "finish":
            one.add_argument(
                "--base", default="", help="the address where it is served, for the install scripts"
            )
    one = commands.add_parser("check", help="verify as a client does")
    one.add_argument("repository", type=Path)
    one.add_argument("--root", type=Path, help="the root metadata that the programs carry")
    return parser


def _passphrase(options: argparse.Namespace) -> str:
    if options.no_passphrase:
        return ""
    from_environment = os.environ.get(PASSPHRASE)
    if from_environment:
        return from_environment
    first = getpass.getpass(f"A passphrase for {options.file.name}: ")
    if not first or first != getpass.getpass("Once more: "):
        raise UserError("the two are not the same, or empty", "", USAGE)
    return first


def run(options: argparse.Namespace, now: datetime) -> None:
    """Do what the command line says. Raises UserError."""
    match options.command:
        case "keygen":
            signer = new_key()
            write_key(signer, options.file, _passphrase(options))
            print(f"{options.file} and {options.file}.pub: key {signer.public_key.keyid}")
        case "root":
            print(f"To be signed: {stage_root(options.repository, *_keys_file(options.keys), now)}")
        case "sign":
            for path in options.key:
                sign(options.file, read_key(path))
        case "add":
            print(f"To be signed: {stage_archives(options.repository, options.archives, now)}")
        case "withdraw":
            print(f"To be signed: {stage_withdrawal(options.repository, options.version, now)}")
        case "finish":
            finish(options.repository, [read_key(path) for path in options.key], now)
            place_installers(options.repository, options.base)
        case "refresh":
            refresh(options.repository, [read_key(path) for path in options.key], now)
        case _:
            for name in check(options.repository, options.root):
                print(name)


def main(argv: list[str] | None = None) -> int:
    """The command `python build/release.py`."""
    options = _parser().parse_args(argv)
    try:
        run(options, datetime.now(UTC))
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (RepositoryError, KeyFault, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return WRONG
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
