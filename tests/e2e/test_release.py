"""The key ceremony and a release, by the commands of docs/releasing.md, and what they refuse."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from build import release
from tests.unit.installer.release_world import Releases
from ways.core.errors import UserError

CHECKOUT = Path(__file__).resolve().parents[2]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def call(*arguments: str | Path, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, CHECKOUT / "build/release.py", *arguments],
            cwd=tmp_path,
            env={**os.environ, release.PASSPHRASE: "correct horse", **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def archives(tmp_path: Path) -> list[Path]:
    made = Releases(tmp_path / "builds", tmp_path / "asked")
    return [made.build("1.0.0"), made.build("1.1.0")]


def ceremony(run: Run, folder: Path) -> None:
    """Three root keys, three targets keys, one online key; two of three sign."""
    for name in ("root-1", "root-2", "root-3", "targets-1", "targets-2", "targets-3"):
        run("keygen", name)
    run("keygen", "online", "--no-passphrase")
    document = {
        role: {"threshold": 2, "keys": [f"{role}-{n}.pub" for n in (1, 2, 3)]} for role in ("root", "targets")
    }
    document |= {role: {"threshold": 1, "keys": ["online.pub"]} for role in ("snapshot", "timestamp")}
    (folder / "keys.json").write_text(json.dumps(document))
    run("root", "repo", "--keys", "keys.json")


def test_the_ceremony_a_release_and_the_next(run: Run, tmp_path: Path, archives: list[Path]) -> None:
    ceremony(run, tmp_path)
    assert stat.S_IMODE((tmp_path / "root-1").stat().st_mode) == 0o600
    assert b"ENCRYPTED" in (tmp_path / "root-1").read_bytes()
    assert b"ENCRYPTED" not in (tmp_path / "online").read_bytes()
    run("sign", "repo/staged/root.json", "--key", "root-1")
    run("add", "repo", archives[0])
    run("sign", "repo/staged/targets.json", "--key", "targets-3")
    refused = run("finish", "repo", "--key", "online", code=6)
    assert refused.stderr.startswith("root: 1 of the 2 signatures that root version 1 asks for")
    run("sign", "repo/staged/root.json", "--key", "root-3")
    refused = run("finish", "repo", "--key", "online", code=6)
    assert refused.stderr.startswith("targets: 1 of the 2 signatures")
    assert not (tmp_path / "repo/metadata/timestamp.json").exists()
    run("sign", "repo/staged/targets.json", "--key", "targets-1", "--key", "targets-1")
    run("finish", "repo", "--key", "online", "--base", "https://releases.example/ways")
    assert run("check", "repo").stdout.split() == [archives[0].name]
    assert "release_base='https://releases.example/ways'" in (tmp_path / "repo/install.sh").read_text()
    assert not list((tmp_path / "repo/staged").iterdir())
    # The next release, and the online job's daily work.
    run("add", "repo", archives[1])
    for key in ("targets-1", "targets-2"):
        run("sign", "repo/staged/targets.json", "--key", key)
    run("finish", "repo", "--key", "online")
    assert len(run("check", "repo").stdout.split()) == 2
    before = json.loads((tmp_path / "repo/metadata/timestamp.json").read_text())["signed"]["version"]
    run("refresh", "repo", "--key", "online")
    after = json.loads((tmp_path / "repo/metadata/timestamp.json").read_text())["signed"]["version"]
    assert after == before + 1
    # A bad release is taken off the list.
    run("withdraw", "repo", "1.1.0")
    for key in ("targets-1", "targets-2"):
        run("sign", "repo/staged/targets.json", "--key", key)
    run("finish", "repo", "--key", "online")
    assert run("check", "repo").stdout.split() == [archives[0].name]


def test_the_keys_are_changed_and_old_programs_follow(run: Run, tmp_path: Path, archives: list[Path]) -> None:
    ceremony(run, tmp_path)
    run("add", "repo", archives[0])
    run("sign", "repo/staged/root.json", "--key", "root-1", "--key", "root-2")
    run("sign", "repo/staged/targets.json", "--key", "targets-1", "--key", "targets-2")
    run("finish", "repo", "--key", "online")
    document = json.loads((tmp_path / "keys.json").read_text())
    for name in ("new-1", "new-2"):
        run("keygen", name)
    document["root"]["keys"] = ["root-1.pub", "new-1.pub", "new-2.pub"]
    (tmp_path / "keys.json").write_text(json.dumps(document))
    run("root", "repo", "--keys", "keys.json")
    run("sign", "repo/staged/root.json", "--key", "new-1", "--key", "new-2")
    refused = run("finish", "repo", "--key", "online", code=6)
    assert "root: 0 of the 2 signatures that root version 1 asks for" in refused.stderr
    run("sign", "repo/staged/root.json", "--key", "root-1", "--key", "root-2")
    run("finish", "repo", "--key", "online")
    assert run("check", "repo", "--root", "repo/metadata/1.root.json").stdout.split() == [archives[0].name]
    assert (tmp_path / "repo/metadata/2.root.json").exists()


def test_what_is_refused(run: Run, tmp_path: Path, archives: list[Path]) -> None:
    ceremony(run, tmp_path)
    assert "never overwritten" in run("keygen", "root-1", code=2).stderr
    wrong = run("sign", "repo/staged/root.json", "--key", "root-1", code=2, WAYS_KEY_PASSPHRASE="wrong")
    assert "password" in wrong.stderr
    strange = tmp_path / "program.tar.gz"
    strange.write_bytes(archives[0].read_bytes())
    assert "not called like an archive" in run("add", "repo", strange, code=2).stderr
    broken = tmp_path / archives[0].name
    broken.write_bytes(b"no archive")
    assert "no archive that can be read" in run("add", "repo", broken, code=2).stderr
    assert run("withdraw", "repo", "9.9.9", code=2).stderr.startswith("repo lists no version")
    assert run("check", "repo", code=1).stderr
    (tmp_path / "keys.json").write_text("{}")
    assert "does not name the keys" in run("root", "other", "--keys", "keys.json", code=2).stderr


def test_a_published_archive_never_changes(run: Run, tmp_path: Path, archives: list[Path]) -> None:
    ceremony(run, tmp_path)
    run("add", "repo", archives[0])
    other = tmp_path / "other" / archives[0].name
    other.parent.mkdir()
    other.write_bytes(archives[1].read_bytes())
    assert "a release never changes" in run("add", "repo", other, code=1).stderr
    run("add", "repo", archives[0])


def test_check_finds_a_changed_and_a_missing_archive(tmp_path: Path) -> None:
    made = Releases(tmp_path / "r", tmp_path / "asked")
    made.add("1.0.0")
    assert len(release.check(made.repository)) == 1
    place = next((made.repository / "targets").iterdir())
    data = place.read_bytes()
    place.write_bytes(data[:-1] + b"x")
    with pytest.raises(UserError, match="is not what was signed"):
        release.check(made.repository)
    place.unlink()
    with pytest.raises(UserError, match="is missing"):
        release.check(made.repository)
