"""Key files: who may read them, what is a key, what is shown."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ways.agent import keycheck, keys
from ways.agent.keys import KeyProblem, NoKey
from ways.core import roots
from ways.core.errors import UserError
from ways.core.roots import Roots

KEY = "sk-ant-0123456789abcdefghij"


@pytest.fixture
def home(tmp_path: Path) -> Roots:
    names = {f"WAYS_{name.upper()}_ROOT": str(tmp_path / name) for name in ("config", "state")}
    return roots.resolve({**names, "HOME": str(tmp_path)})


def path_of(home: Roots) -> Path:
    return Path(home.config, "keys", "anthropic")


def test_stored_and_read(home: Roots) -> None:
    with pytest.raises(NoKey):
        keys.read(home, "anthropic")
    former = os.umask(0)
    try:
        keys.store(home, "anthropic", KEY)
    finally:
        os.umask(former)
    assert keys.read(home, "anthropic").value == KEY
    assert path_of(home).stat().st_mode & 0o777 == 0o600
    assert path_of(home).parent.stat().st_mode & 0o777 == 0o700
    assert [entry.name for entry in path_of(home).parent.iterdir()] == ["anthropic"]
    assert keys.stored_providers(home, ("anthropic", "openrouter")) == ("anthropic",)


def test_a_folder_that_was_open_is_closed(home: Roots) -> None:
    path_of(home).parent.mkdir(parents=True, mode=0o755)
    keys.store(home, "anthropic", KEY)
    assert path_of(home).parent.stat().st_mode & 0o777 == 0o700


def test_replacing_a_key_changes_its_identity(home: Roots) -> None:
    keys.store(home, "anthropic", KEY)
    before = keys.identity(home, "anthropic")
    keys.store(home, "anthropic", KEY[::-1])
    assert keys.identity(home, "anthropic") not in {None, before}
    assert keys.read(home, "anthropic").identity == keys.identity(home, "anthropic")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o620])
def test_a_file_that_others_may_touch_is_not_read(home: Roots, mode: int) -> None:
    keys.store(home, "anthropic", KEY)
    path_of(home).chmod(mode)
    with pytest.raises(KeyProblem, match=f"mode {mode:04o}"):
        keys.read(home, "anthropic")


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o777])
def test_a_folder_that_others_may_enter_is_not_used(home: Roots, mode: int) -> None:
    keys.store(home, "anthropic", KEY)
    path_of(home).parent.chmod(mode)
    with pytest.raises(KeyProblem, match=f"mode {mode:04o}"):
        keys.read(home, "anthropic")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_read(home: Roots) -> None:
    keys.store(home, "anthropic", KEY)
    os.chown(path_of(home), 12345, 12345)
    with pytest.raises(KeyProblem, match="belongs to user 12345"):
        keys.read(home, "anthropic")
    os.chown(path_of(home), 0, 0)
    os.chown(path_of(home).parent, 12345, 12345)
    with pytest.raises(UserError, match="belongs to user 12345"):
        keys.store(home, "anthropic", KEY)


def test_links_folders_and_pipes_are_not_keys(home: Roots) -> None:
    keys.store(home, "openrouter", KEY)
    path_of(home).symlink_to("openrouter")
    with pytest.raises(KeyProblem, match="symbolic link"):
        keys.read(home, "anthropic")
    with pytest.raises(UserError, match="not a plain file"):
        keys.store(home, "anthropic", KEY)
    path_of(home).unlink()
    os.mkfifo(path_of(home), 0o600)
    with pytest.raises(KeyProblem, match="not a plain file"):
        keys.read(home, "anthropic")
    path_of(home).unlink()
    path_of(home).mkdir(mode=0o700)
    with pytest.raises(KeyProblem):
        keys.read(home, "anthropic")


def test_remove(home: Roots) -> None:
    assert keys.remove(home, "anthropic") is False
    keys.store(home, "anthropic", KEY)
    keys.store(home, "openrouter", KEY)
    assert keys.remove(home, "anthropic") is True
    assert path_of(home).parent.is_dir()
    assert keys.remove(home, "openrouter") is True
    assert not path_of(home).parent.exists()


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: data.decode("latin-1")))
def test_what_is_a_key(text: str) -> None:
    try:
        value = keys.parse(text)
    except KeyProblem as error:
        assert len(text.strip()) < keys.MIN_KEY or text not in str(error)
        return
    assert value == text.strip()
    assert all(33 <= ord(character) <= 126 for character in value)


@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126), min_size=8, max_size=80))
def test_at_most_four_characters_are_shown(value: str) -> None:
    shown = keys.masked(value)
    assert shown in {"…", "…" + value[-4:]}
    assert shown == "…" or len(value) >= 20
    assert value not in repr(keys.Key(value, (1,)))


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"{}", b"[]", b'{"state": 1}', b'{"state": "valid"}', b"[" * 9000]
)
def test_a_damaged_record_is_no_record(home: Roots, data: bytes) -> None:
    Path(home.state, "agent").mkdir(parents=True)
    Path(keycheck.record_file(home, "anthropic")).write_bytes(data)
    assert keycheck.load(home, "anthropic") is None


def test_a_record_is_kept_and_forgotten(home: Roots) -> None:
    record = keycheck.Record("no_credit", "HTTP 402", 12.5, (1, 2, 3, 4), "m", "u")
    keycheck.store(home, "anthropic", record)
    assert keycheck.load(home, "anthropic") == record
    keycheck.forget(home, "anthropic")
    assert keycheck.load(home, "anthropic") is None
    keycheck.forget(home, "anthropic")


def test_a_state_root_that_cannot_be_written_is_noted_not_raised(home: Roots) -> None:
    Path(home.state).mkdir()
    Path(home.state, "agent").write_text("a file where the folder belongs")
    keycheck.store(home, "anthropic", keycheck.Record("valid", "", 1.0, (1,), "m", "u"))
    assert "cannot be recorded" in Path(home.state, "debug.log").read_text()
