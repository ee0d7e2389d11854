"""Attacks on the signed metadata (case u09): every one refused, the kept metadata still good."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tuf.api.metadata import Metadata

from build import release
from installer import tuf_client
from tests.unit.installer.release_world import Releases, World, serving
from ways.core.errors import UNVERIFIED, UserError


@pytest.fixture
def home(base: Path, fresh: Releases) -> World:
    return World(base, fresh)


def names(home: World, base: str = "", **options: bool) -> list[str]:
    found = tuf_client.releases(home.roots, base or home.releases.served, home.releases.root, **options)
    return sorted(one.version for one in found)


def copied(home: World, name: str) -> Path:
    """The repository as it is now, for an attacker to serve later."""
    place = home.base / name
    shutil.copytree(home.releases.repository, place)
    return place


def refused(home: World, repository: Path, match: str) -> None:
    with pytest.raises(UserError, match=match) as caught:
        names(home, repository.as_uri() + "/")
    assert caught.value.exit_code == UNVERIFIED
    assert "Traceback" not in str(caught.value)


def role(repository: Path, name: str) -> Path:
    if name == "timestamp":
        return repository / "metadata/timestamp.json"
    return max(
        (repository / "metadata").glob(f"*.{name}.json"), key=lambda path: int(path.name.split(".")[0])
    )


def rewrite(path: Path, change: Callable[[Any], None], *signers: Any) -> None:
    """Change what is signed, and sign it anew with these keys (none: the old signatures stay)."""
    metadata: Any = Metadata.from_file(str(path))
    change(metadata.signed)
    if signers:
        metadata.signatures.clear()
    for signer in signers:
        metadata.sign(signer, append=True)
    metadata.to_file(str(path))


def test_the_releases_are_listed_with_what_an_update_needs(home: World) -> None:
    found = {
        one.version: one for one in tuf_client.releases(home.roots, home.releases.served, home.releases.root)
    }
    assert sorted(found) == ["1.0.0", "1.1.0"]
    one = found["1.1.0"]
    archive = next((home.releases.folder / "archives").glob("ways-1.1.0-*"))
    assert one.length == archive.stat().st_size
    assert one.url == f"{home.releases.served}targets/{one.sha256}.{archive.name}"
    assert one.unpacked == sum(
        path.stat().st_size for path in (home.releases.folder / "build/1.1.0").rglob("*") if path.is_file()
    )


def test_nothing_but_metadata_is_asked_for(home: World) -> None:
    with serving(home.releases.repository) as server:
        names(home, server.base)
        assert server.asked and all(name.startswith("metadata/") for name in server.asked)


def test_a_dry_look_leaves_no_trace(home: World) -> None:
    assert names(home, keep=False) == ["1.0.0", "1.1.0"]
    assert not os.path.exists(home.roots.state)


def test_case_u09_another_key(home: World, tmp_path: Path) -> None:
    other = Releases(tmp_path / "other", tmp_path / "asked")
    other.add("9.0.0")
    refused(home, other.repository, "not signed by the keys")
    assert names(home) == ["1.0.0", "1.1.0"]


@pytest.mark.parametrize("name", ["timestamp", "snapshot", "targets"])
def test_case_u09_changed_without_a_key(home: World, name: str) -> None:
    bad = copied(home, "bad")

    def change(signed: Any) -> None:
        signed.expires += timedelta(days=1)

    rewrite(role(bad, name), change)
    refused(home, bad, "not signed|mixture")
    assert names(home) == ["1.0.0", "1.1.0"]


def test_case_u09_one_of_two_signatures_is_not_enough(home: World) -> None:
    bad = copied(home, "bad")
    rewrite(role(bad, "targets"), lambda signed: None, home.releases.keys["targets"][0])
    refused(home, bad, "not signed by the keys")
    bad2 = copied(home, "bad2")
    twice = home.releases.keys["targets"][0]
    rewrite(role(bad2, "targets"), lambda signed: None, twice, twice)
    refused(home, bad2, "not signed by the keys")
    # The online key signs snapshot and time stamp, and nothing else.
    bad3 = copied(home, "bad3")
    rewrite(role(bad3, "targets"), lambda signed: None, home.releases.online, home.releases.keys["root"][0])
    refused(home, bad3, "not signed by the keys")


@pytest.mark.parametrize("name", ["timestamp", "snapshot", "targets"])
def test_case_u09_expired(home: World, name: str) -> None:
    bad = copied(home, "bad")

    def expire(signed: Any) -> None:
        signed.expires = home.releases.now - timedelta(days=400)

    signers = home.releases.keys["targets"][:2] if name == "targets" else [home.releases.online]
    rewrite(role(bad, name), expire, *signers)
    refused(home, bad, "has expired")


def test_case_u09_frozen_a_repository_that_stands_still(home: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """An attacker who serves the same state for ever: its time stamp runs out, also where it is kept."""
    monkeypatch.setitem(release.LIFETIME, "timestamp", 4 / 86_400)
    home.releases.now = datetime.now(UTC)
    home.releases.add("1.2.0")
    assert names(home) == ["1.0.0", "1.1.0", "1.2.0"]
    while datetime.now(UTC) < home.releases.now + timedelta(seconds=5):
        time.sleep(0.1)
    refused(home, home.releases.repository, "the server shows an old state, or this machine's clock is wrong")


def test_case_u09_rolled_back(home: World) -> None:
    before = copied(home, "before")
    home.releases.add("1.2.0")
    assert names(home) == ["1.0.0", "1.1.0", "1.2.0"]
    refused(home, before, "older than one that was seen before")
    assert names(home) == ["1.0.0", "1.1.0", "1.2.0"]


@pytest.mark.parametrize("name", ["snapshot", "targets"])
def test_case_u09_mixed_versions(home: World, name: str) -> None:
    """A new time stamp with an old snapshot, or a new snapshot with old targets, under the new name."""
    before = role(home.releases.repository, name).read_bytes()
    home.releases.add("1.2.0")
    bad = copied(home, "bad")
    role(bad, name).write_bytes(before)
    refused(home, bad, "older than|cannot be verified|mixture")
    assert names(home) == ["1.0.0", "1.1.0", "1.2.0"]


def test_case_u09_endless_metadata(home: World) -> None:
    with serving(home.releases.repository) as server:
        server.change["timestamp.json"] = b" " * (1 << 20)
        with pytest.raises(UserError) as caught:
            names(home, server.base)
    assert caught.value.exit_code == UNVERIFIED


@pytest.mark.parametrize("text", [b"", b"{", b"<html>portal</html>", b'{"signed": 1}', b"[]", b"\xff"])
def test_what_is_no_metadata_at_all(home: World, text: bytes) -> None:
    bad = copied(home, "bad")
    role(bad, "timestamp").write_bytes(text)
    refused(home, bad, "release list")


def test_nobody_there_is_a_network_fault(home: World) -> None:
    with pytest.raises(UserError, match="cannot be had") as caught:
        names(home, "http://127.0.0.1:9/")
    assert caught.value.exit_code == UNVERIFIED


def test_damaged_kept_metadata_is_fetched_again(home: World) -> None:
    assert names(home) == ["1.0.0", "1.1.0"]
    for path in Path(tuf_client.metadata_folder(home.roots)).glob("*.json"):
        if not path.is_symlink():
            path.write_bytes(b"{")
    assert names(home) == ["1.0.0", "1.1.0"]


def test_the_root_keys_can_be_changed(home: World) -> None:
    """A rotation signed by the old keys and the new ones reaches a program that carries the first root."""
    assert names(home) == ["1.0.0", "1.1.0"]
    old = home.releases.keys["root"]
    home.releases.keys = {
        "root": [release.new_key() for _ in range(3)],
        "targets": home.releases.keys["targets"],
    }
    home.releases.stage_root()
    path = release.staged(home.releases.repository, "root")
    for key in [*home.releases.keys["root"][:2], *old[:2]]:
        release.sign(path, key)
    home.releases.add("1.2.0")
    assert names(home) == ["1.0.0", "1.1.0", "1.2.0"]
    assert role(home.releases.repository, "root").name == "2.root.json"


def test_targets_that_are_no_releases_are_passed_over(home: World) -> None:
    def strange(signed: Any) -> None:
        one = next(iter(signed.targets.values()))
        for name, custom in {
            "notes.txt": {},
            "../evil.tar.gz": one.custom,
            "folder/ways.tar.gz": one.custom,
            "bad-version.tar.gz": {**one.custom, "version": "../../x"},
            "no-number.tar.gz": {**one.custom, "unpacked": "many"},
        }.items():
            target = type(one).from_dict(one.to_dict(), name)
            target.unrecognized_fields["custom"] = custom
            signed.targets[name] = target

    rewrite(role(home.releases.repository, "targets"), strange, *home.releases.keys["targets"][:2])
    assert names(home) == ["1.0.0", "1.1.0"]


def test_a_build_without_keys_says_so(home: World) -> None:
    assert json.loads(tuf_client.trusted_root(home.roots))["signed"]["_type"] == "root"
    (home.app / "versions/1.0.0" / tuf_client.ROOT_NAME).unlink()
    with pytest.raises(UserError, match="carries no release keys") as caught:
        tuf_client.trusted_root(home.roots)
    assert caught.value.exit_code == UNVERIFIED
