"""The writer changes the keys that it is given and not one character more."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ways.core import files
from ways.core.errors import REFUSED, USAGE, WRITE_FAILED, UserError
from ways.core.locking import Lock
from ways.settings import editing, parsing, writer
from ways.settings.writer import set_values, unset

REPOSITORY = str(Path(__file__).parents[3])

FILE = """\
# My settings
enabled:   true      # on for now

'language': "de"   # quoted
disabled_domains:
    - ea  # the enterprise ones
    - 'fb'
    # kept apart

# presets
refire_presets: { rare: 0.5, daily: 2 }  # flow
macro:
  # slow machine
  timeout_ms: 9000
  max_chars: 0x10

targets:
- path: ~/.claude   # home
  enabled: true
note_to_self: |
  keep
  me

empty:
"""


def edited(changes: dict[tuple[str, ...], object], text: str = FILE) -> str:
    for path, value in changes.items():
        text = editing.set_value(text, path, value)
    return text


def test_a_scalar_changes_in_place() -> None:
    assert edited({("enabled",): False}) == FILE.replace("enabled:   true ", "enabled:   false ", 1)
    assert edited({("language",): "fr"}) == FILE.replace('"de"', "fr")
    assert edited({("macro", "timeout_ms"): 100}) == FILE.replace("9000", "100")
    assert edited({("refire_presets", "rare"): 0.25}) == FILE.replace("0.5", "0.25")


def test_a_new_key_goes_behind_the_last_one_of_its_group() -> None:
    assert edited({("refire_presets", "once"): 1.0}) == FILE.replace("daily: 2 }", "daily: 2, once: 1.0 }")
    assert edited({("macro", "extra"): True}) == FILE.replace(
        "max_chars: 0x10\n", "max_chars: 0x10\n  extra: true\n"
    )
    assert edited({("engine", "threads"): 2}) == FILE + "engine:\n  threads: 2\n"
    assert edited({("empty",): 5}) == FILE.replace("empty:", "empty: 5")
    assert edited({("empty", "a"): 5}) == FILE + "  a: 5\n"


def test_a_list_keeps_the_lines_of_what_stays() -> None:
    assert edited({("disabled_domains",): ["ea", "fb", "new one"]}) == FILE.replace(
        "- 'fb'", "- 'fb'\n    - \"new one\""
    )
    assert edited({("disabled_domains",): ["ea"]}) == FILE.replace("    - 'fb'\n", "")
    gone = edited({("disabled_domains",): []})
    assert "# kept apart\n\n# presets" in gone and "    []\n" in gone


def test_removing_keeps_the_comments_of_others() -> None:
    assert editing.unset_value(FILE, ("enabled",)) == FILE.replace("enabled:   true      # on for now\n", "")
    assert editing.unset_value(FILE, ("refire_presets", "rare")) == FILE.replace("rare: 0.5, ", "")
    assert editing.unset_value(FILE, ("refire_presets", "daily")) == FILE.replace(", daily: 2", "")
    once = editing.unset_value(FILE, ("macro", "timeout_ms"))
    assert once == FILE.replace("  timeout_ms: 9000\n", "")
    twice = editing.unset_value(once, ("macro", "max_chars"))
    assert "macro" not in twice and "targets:\n- path: ~/.claude   # home" in twice
    without = editing.unset_value(FILE, ("disabled_domains",))
    assert "# presets\nrefire_presets" in without and "- ea" not in without
    assert editing.unset_value(FILE, ("nothing",)) == FILE == editing.unset_value(FILE, ("enabled", "x"))


def test_what_is_so_already_changes_nothing() -> None:
    same = {
        ("enabled",): True,
        ("language",): "de",
        ("disabled_domains",): ("ea", "fb"),
        ("refire_presets", "daily"): 2,
    }
    assert edited(same) == FILE


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "# only\n\n", "---\n", "--- # start\n"])
def test_an_empty_file_gets_its_first_key_behind_its_comments(text: str) -> None:
    new = editing.set_value(text, ("macro", "timeout_ms"), 100)
    assert new.startswith(text.rstrip("\n")) and new.endswith("macro:\n  timeout_ms: 100\n")
    assert parsing.read_tree(new.encode()).root == {"macro": {"timeout_ms": 100}}


@pytest.mark.parametrize(
    "text",
    [
        "{enabled: true}",
        "{\n  enabled: true,\n}\n",
        "{}",
        "enabled: &x true\nsubagents: *x\n",
        "a: {}\n",
        "a: [1,\n 2]\n",
    ],
)
def test_other_styles_are_edited_too(text: str) -> None:
    for path, value in ((("subagents",), False), (("a", "b"), 1), (("a",), [3])):
        before = parsing.read_tree(text.encode()).root
        assert isinstance(before, dict)
        if len(path) > 1 and isinstance(before.get("a"), list):
            with pytest.raises(editing.CannotEdit):
                editing.set_value(text, path, value)
            continue
        after = parsing.read_tree(editing.set_value(text, path, value).encode()).root
        assert isinstance(after, dict)
        assert {key: item for key, item in after.items() if key != path[0]} == {
            key: item for key, item in before.items() if key != path[0]
        }
        assert after[path[0]] == (value if len(path) == 1 else {**(before.get("a") or {}), "b": 1})


@pytest.mark.parametrize(
    "value",
    [
        "off",
        "no",
        "Y",
        "null",
        "~",
        "1",
        "1.5",
        "0x1",
        "1e3",
        "-",
        "a b",
        "a: b",
        "# x",
        "é—🎉",
        "*x",
        "&x",
        "'",
        '"',
        "[",
        "a#b",
    ],
)
def test_a_word_is_read_back_as_a_word_by_every_reader(value: str) -> None:
    import yaml
    from ruamel.yaml import YAML

    text = f"a: {editing.inline(value)}\nb: {editing.inline([value])}\nc: {editing.inline({value: 1e-7})}\n"
    for read in (yaml.safe_load, YAML(typ="safe").load):
        assert read(text) == {"a": value, "b": [value], "c": {value: 1e-7}}
    assert parsing.read_tree(text.encode()).root == {"a": value, "b": [value], "c": {value: 1e-7}}


# Files


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.yaml"


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def test_a_file_is_made_and_changed(path: Path, state: str) -> None:
    assert set_values(str(path), {"ways.enabled": False, "macro.timeout_ms": 100}, state_root=state)
    assert path.read_text() == "enabled: false\nmacro:\n  timeout_ms: 100\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not set_values(str(path), {"ways.enabled": False}, state_root=state)
    assert unset(str(path), ["macro.timeout_ms", "ways.subagents"], state_root=state)
    assert path.read_text() == "enabled: false\n"
    assert not unset(str(path), ["macro.timeout_ms"], state_root=state)
    assert os.listdir(path.parent) == ["config.yaml"]


def test_a_project_file(tmp_path: Path, state: str) -> None:
    path = tmp_path / "p" / ".claude" / "ways.yaml"
    changes = {"ways.project.a/b": False, "ways.project.c/*": False, "refire_presets.rare": 0.5}
    assert set_values(str(path), changes, state_root=state, scope="project")
    assert path.read_text() == "ways:\n  a/b: false\n  c/*: false\nrefire_presets:\n  rare: 0.5\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    with pytest.raises(UserError, match="user and target") as caught:
        set_values(str(path), {"macro.timeout_ms": 100}, state_root=state, scope="project")
    assert caught.value.exit_code == USAGE


def test_bytes_around_the_text_stay(path: Path, state: str) -> None:
    path.parent.mkdir()
    path.write_bytes(b"\xef\xbb\xbf# caf\xc3\xa9\r\nenabled: true\r\nlanguage: de")
    path.chmod(0o640)
    set_values(str(path), {"ways.enabled": False, "engine.threads": 2}, state_root=state)
    assert (
        path.read_bytes()
        == b"\xef\xbb\xbf# caf\xc3\xa9\r\nenabled: false\r\nlanguage: de\r\nengine:\r\n  threads: 2"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(path: Path, state: str, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "ways.yaml"
    real.parent.mkdir()
    real.write_text("enabled: true\n")
    path.parent.mkdir()
    path.symlink_to(real)
    set_values(str(path), {"ways.enabled": False}, state_root=state)
    assert path.is_symlink() and real.read_text() == "enabled: false\n"


BROKEN = {
    "syntax": (b"enabled: [1\nx: 2\n", 2),
    "tab": (b"enabled: true\n\tx: 1\n", 2),
    "list": (b"- a\n", 1),
    "twice": (b"enabled: true\nenabled: false\n", 2),
    "latin-1": (b"# a\n# caf\xe9\n", 2),
    "two documents": (b"a: 1\n---\nb: 2\n", 2),
    "large": (b"# " + b"x" * 70_000, 0),
    "wrong group": (b"macro: 5\n", 0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_does_not_parse_is_refused_and_named(path: Path, state: str, name: str) -> None:
    data, line = BROKEN[name]
    path.parent.mkdir()
    path.write_bytes(data)
    for act in (
        lambda: set_values(str(path), {"macro.timeout_ms": 100}, state_root=state),
        lambda: unset(str(path), ["macro.timeout_ms"], state_root=state),
    ):
        if name == "wrong group" and act.__code__.co_names[0] == "unset":
            continue
        with pytest.raises(UserError) as caught:
            act()
        assert (
            caught.value.exit_code == REFUSED
            and str(path) in caught.value.message
            and caught.value.next_command
        )
        assert not line or f"{path}:{line}: " in caught.value.message
    assert path.read_bytes() == data and os.listdir(path.parent) == ["config.yaml"]


@pytest.mark.parametrize(
    ("key", "value"), [("nonsense", 1), ("ways.enabled", "perhaps"), ("engine.threads", 0)]
)
def test_wrong_keys_and_values_touch_nothing(path: Path, state: str, key: str, value: object) -> None:
    with pytest.raises(UserError) as caught:
        set_values(str(path), {"ways.subagents": False, key: value}, state_root=state)
    assert caught.value.exit_code == USAGE and key in caught.value.message
    assert not path.parent.exists()


def test_a_failed_write_changes_nothing(path: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values(str(path), {"ways.enabled": False}, state_root=state)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "write_all", full)
    with pytest.raises(UserError, match="No space left") as caught:
        set_values(str(path), {"ways.enabled": True}, state_root=state)
    assert caught.value.exit_code == WRITE_FAILED
    assert path.read_text() == "enabled: false\n" and os.listdir(path.parent) == ["config.yaml"]


def test_a_folder_and_a_read_only_file_are_left_alone(
    path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.mkdir(parents=True)
    with pytest.raises(UserError, match="not a file"):
        set_values(str(path), {"ways.enabled": False}, state_root=state)
    path.rmdir()
    path.write_text("enabled: true\n")
    path.chmod(0o400)
    monkeypatch.setattr(os, "access", lambda *_: False)  # the super-user may write everything
    with pytest.raises(UserError, match="read-only") as caught:
        set_values(str(path), {"ways.enabled": False}, state_root=state)
    assert caught.value.exit_code == WRITE_FAILED and path.read_text() == "enabled: true\n"


def test_case_u10_a_place_that_cannot_lock_is_written_all_the_same(path: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.write_text("no folder")
    assert set_values(str(path), {"ways.enabled": False}, state_root=str(state))
    assert path.read_text() == "enabled: false\n"


def test_a_held_lock_ends_in_an_error(path: Path, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values(str(path), {"ways.enabled": False}, state_root=state)
    (lock,) = (Path(state) / "locks").iterdir()
    monkeypatch.setattr(writer, "LOCK_SECONDS", 0.01)
    with Lock(str(lock), 0), pytest.raises(UserError, match="held by another process") as caught:
        set_values(str(path), {"ways.enabled": True}, state_root=state)
    assert caught.value.exit_code == WRITE_FAILED


def test_another_programs_change_meanwhile_is_kept(
    path: Path, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_values(str(path), {"ways.enabled": False}, state_root=state)
    real = writer._changed
    calls = []

    def meddling(name: str, data: bytes, change: object) -> bytes:
        new: bytes = real(name, data, change)  # type: ignore[arg-type]
        if not calls:
            path.write_text("enabled: false\nlanguage: de  # mine\n")
        calls.append(data)
        return new

    monkeypatch.setattr(writer, "_changed", meddling)
    assert set_values(str(path), {"ways.enabled": True}, state_root=state)
    assert path.read_text() == "enabled: true\nlanguage: de  # mine\n" and len(calls) == 2


def test_processes_that_write_at_once_lose_nothing(path: Path, state: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {REPOSITORY!r})\n"
        "from ways.settings.writer import set_values\n"
        "for n in range(8):\n"
        "    key = f'refire_presets.p{sys.argv[1]}-{n}'\n"
        f"    set_values({str(path)!r}, {{key: 1.5}}, state_root={state!r})"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code, str(number)]) for number in range(4)]
    assert [worker.wait(120) for worker in workers] == [0] * 4
    root = parsing.read_tree(path.read_bytes()).root
    assert isinstance(root, dict) and len(root["refire_presets"]) == 32
