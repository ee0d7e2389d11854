"""The roots against platformdirs' own rules, and the folders that must not be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from platformdirs.unix import Unix

from ways.core import roots

pytestmark = pytest.mark.skipif(os.name == "nt", reason="POSIX roots")

XDG = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    (tmp_path / "run").mkdir(mode=0o700)
    return {"HOME": str(tmp_path / "home"), "XDG_RUNTIME_DIR": str(tmp_path / "run")}


@pytest.mark.parametrize("custom", [False, True])
def test_they_follow_platformdirs(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, custom: bool
) -> None:
    if custom:
        environ.update({name: str(tmp_path / name.lower()) for name in XDG[:4]})
    for name in (*XDG, "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    peer = Unix(roots.NAME)
    found = roots.resolve(environ)
    assert found.app == peer.user_data_dir
    assert found.config == peer.user_config_dir
    assert found.state == peer.user_state_dir
    assert found.cache == os.path.join(peer.user_cache_dir, "user")
    assert found.sessions == os.path.join(environ["XDG_RUNTIME_DIR"], "claude-sessions")
    assert found.sessions_note == ""


def test_empty_and_relative_variables_are_ignored(environ: dict[str, str]) -> None:
    plain = roots.resolve(environ)
    for value in ("", "relative/dir", "."):
        assert roots.resolve({**environ, **{name: value for name in XDG[:4]}}) == plain
    found = roots.resolve({**environ, "XDG_RUNTIME_DIR": "relative"})
    assert found.sessions == f"/tmp/.claude-sessions-{os.getuid()}" or found.sessions_note


def test_each_root_can_be_overridden(environ: dict[str, str], tmp_path: Path) -> None:
    names = ("app", "config", "state", "cache", "sessions")
    given = {f"WAYS_{name.upper()}_ROOT": str(tmp_path / "x" / name) for name in names}
    found = roots.resolve({**environ, **given, "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")})
    assert [getattr(found, name) for name in names] == [str(tmp_path / "x" / name) for name in names]
    assert found.projection == str(tmp_path / "claude")
    assert found.sessions_note == ""
    assert not (tmp_path / "x").exists()


def test_case_s17_the_config_dir_variable_is_read_as_claude_code_reads_it(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = environ["HOME"]
    monkeypatch.chdir(tmp_path)
    for value, expected in {
        "": f"{home}/.claude",
        "   ": f"{home}/.claude",
        "~": home,
        "~/my claude": f"{home}/my claude",
        "/a b/c/": "/a b/c",
        "rel/x": str(tmp_path / "rel" / "x"),
    }.items():
        assert roots.config_directory({**environ, "CLAUDE_CONFIG_DIR": value}) == expected


def test_case_h24_a_deleted_current_directory_stops_nothing(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = roots.resolve({**environ, "CLAUDE_CONFIG_DIR": "rel", "WAYS_STATE_ROOT": "state"})
    assert found.projection == os.path.join(environ["HOME"], "rel")
    assert found.state == os.path.join(environ["HOME"], "state")


@pytest.mark.parametrize("home", ["", "relative", None])
def test_a_home_is_always_absolute(home: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if home is None:
        monkeypatch.delenv("HOME", raising=False)
    else:
        monkeypatch.setenv("HOME", home)
    assert os.path.isabs(roots.home_directory({} if home is None else {"HOME": home}))


def test_an_account_that_the_system_does_not_know_gets_the_root_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999_999)
    assert roots.home_directory({}) == os.path.abspath(os.sep)


def sessions_of(environ: dict[str, str], folder: Path) -> roots.Roots:
    return roots.resolve({**environ, "WAYS_SESSIONS_ROOT": str(folder)})


def test_an_unsafe_sessions_root_falls_back_and_says_why(environ: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "s"
    fallback = os.path.join(environ["HOME"], ".local", "state", "agent-ways", "sessions")
    assert sessions_of(environ, folder).sessions == str(folder)
    for bits in (0o720, 0o702, 0o777):
        folder.mkdir()
        folder.chmod(bits)
        found = sessions_of(environ, folder)
        assert found.sessions == fallback
        assert "writable" in found.sessions_note and str(folder) in found.sessions_note
        folder.rmdir()
    (tmp_path / "real").mkdir()
    folder.symlink_to(tmp_path / "real")
    assert "symbolic link" in sessions_of(environ, folder).sessions_note
    folder.unlink()
    folder.write_text("x")
    assert "not a folder" in sessions_of(environ, folder).sessions_note


def test_a_sessions_root_that_cannot_be_written_falls_back(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a sandbox that shows the runtime folder read-only; without state nothing is ever shown."""
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    assert sessions_of(environ, folder).sessions == str(folder)
    # The super-user may write everything, so the system's answer is imitated.
    monkeypatch.setattr(os, "access", lambda path, bits: str(path) != str(folder))
    found = sessions_of(environ, folder)
    assert found.sessions == os.path.join(environ["HOME"], ".local", "state", "agent-ways", "sessions")
    assert found.sessions_note == f"{folder}: cannot be written to"


def test_another_users_folder_is_refused(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert "belongs to user" in sessions_of(environ, tmp_path / "s").sessions_note
    assert "belongs to user" in roots.resolve(environ).sessions_note


@pytest.mark.skipif(os.getuid() == 0, reason="the super-user may write everywhere")
def test_a_runtime_folder_that_cannot_be_made_falls_back(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    found = roots.resolve({**environ, "XDG_RUNTIME_DIR": str(tmp_path / "closed" / "none")})
    assert "cannot be made" in found.sessions_note


def test_a_runtime_folder_below_a_file_falls_back(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    found = roots.resolve({**environ, "XDG_RUNTIME_DIR": str(tmp_path / "file" / "run")})
    assert found.sessions_note
    assert found.sessions.startswith(environ["HOME"])
