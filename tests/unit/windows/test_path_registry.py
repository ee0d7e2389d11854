"""The user's Path: the decisions against recorded registries, and on Windows the registry itself."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.windows.machine import off_windows, on_windows
from windows import path_registry
from windows.path_registry import REG_EXPAND_SZ, REG_SZ

FOLDER = r"C:\Users\A B\AppData\Local\agent-ways\app\bin"
ENVIRON = {"USERPROFILE": r"C:\Users\A B", "LocalAppData": r"C:\Users\A B\AppData\Local"}


class Recording:
    """A registry key as it was recorded, and what was done to it."""

    def __init__(self, value: object = None, kind: int = REG_EXPAND_SZ) -> None:
        self.stored = None if value is None else (value, kind)
        self.broadcasts = 0

    def read(self, name: str) -> tuple[object, int] | None:
        assert name == "Path"
        return self.stored

    def write(self, name: str, value: str, kind: int) -> None:
        assert name == "Path"
        self.stored = (value, kind)

    def delete(self, name: str) -> None:
        assert name == "Path"
        self.stored = None

    def broadcast(self) -> None:
        self.broadcasts += 1


@pytest.mark.parametrize(
    ("before", "kind", "after"),
    [
        (None, REG_SZ, FOLDER),
        ("", REG_SZ, FOLDER),
        (r"%USERPROFILE%\bin", REG_EXPAND_SZ, rf"%USERPROFILE%\bin;{FOLDER}"),
        (r"C:\x;", REG_EXPAND_SZ, rf"C:\x;{FOLDER}"),
        (r"C:\x;;C:\y", REG_SZ, rf"C:\x;;C:\y;{FOLDER}"),
        (r'"C:\a;b";C:\x', REG_SZ, rf'"C:\a;b";C:\x;{FOLDER}'),
        (rf"{FOLDER}2;C:\x{FOLDER[2:]}", REG_SZ, rf"{FOLDER}2;C:\x{FOLDER[2:]};{FOLDER}"),
    ],
)
def test_an_entry_goes_behind_all_and_the_type_stays(before: str | None, kind: int, after: str) -> None:
    registry = Recording(before, kind)
    assert path_registry.add(registry, FOLDER, ENVIRON) == ""
    assert registry.stored == (after, kind)
    assert registry.broadcasts == 1
    assert path_registry.add(registry, FOLDER, ENVIRON) == ""
    assert registry.stored == (after, kind)
    assert registry.broadcasts == 1
    path_registry.remove(registry, FOLDER)
    assert registry.stored == ((before.removesuffix(";"), kind) if before else None)


@pytest.mark.parametrize(
    "entry",
    [
        FOLDER,
        FOLDER + "\\",
        FOLDER.upper(),
        f'"{FOLDER}"',
        r"%LOCALAPPDATA%\agent-ways\app\bin",
        r"%userprofile%\AppData\Local\agent-ways\app\bin",
        FOLDER.replace("\\", "/"),
        r"C:\Users\A B\AppData\Local\x\..\agent-ways\app\bin",
    ],
)
def test_an_entry_that_is_there_in_another_spelling_is_not_added_again(entry: str) -> None:
    registry = Recording(rf"C:\x;{entry};C:\y")
    assert path_registry.add(registry, FOLDER, ENVIRON) == ""
    assert registry.broadcasts == 0


@pytest.mark.parametrize(("value", "kind"), [(7, 4), (b"\0", 3), (["a"], 7), (None, 0)])
def test_a_value_that_is_no_text_is_left_alone_with_a_warning(value: object, kind: int) -> None:
    registry = Recording()
    registry.stored = (value, kind)
    assert "left alone" in path_registry.add(registry, FOLDER, ENVIRON)
    assert "left alone" in path_registry.remove(registry, FOLDER)
    assert registry.stored == (value, kind)
    assert registry.broadcasts == 0


def test_a_full_path_is_left_alone() -> None:
    registry = Recording("C:\\x;" * 6550)
    assert "is full" in path_registry.add(registry, FOLDER, ENVIRON)
    assert registry.broadcasts == 0


@given(st.lists(st.sampled_from(["C:\\a", "", '"C:\\b;c"', "%X%", FOLDER + "2", " "]), max_size=6))
def test_adding_and_removing_gives_back_what_was_there(entries: list[str]) -> None:
    before = ";".join(entries)
    registry = Recording(before or None)
    path_registry.add(registry, FOLDER, ENVIRON)
    path_registry.remove(registry, FOLDER)
    # An empty entry at the very end is the one thing that cannot be told from the separator.
    expected = before.removesuffix(";")
    assert registry.stored == ((expected, REG_EXPAND_SZ) if expected else None)


def test_removing_takes_only_what_we_spelt() -> None:
    registry = Recording(rf"%LOCALAPPDATA%\agent-ways\app\bin;C:\x;{FOLDER}2")
    before = registry.stored
    assert path_registry.remove(registry, FOLDER) == ""
    assert registry.stored == before
    assert path_registry.remove(Recording(), FOLDER) == ""


@off_windows
def test_off_windows_there_is_no_registry() -> None:
    with pytest.raises(NotImplementedError):
        path_registry.user_environment()


@pytest.fixture
def real() -> Iterator[path_registry.Environment]:
    environment = path_registry.user_environment()
    before = environment.read("Path")
    yield environment
    if before is None:
        if environment.read("Path") is not None:
            environment.delete("Path")
    else:
        environment.write("Path", str(before[0]), before[1])


@on_windows
@pytest.mark.parametrize("kind", [REG_SZ, REG_EXPAND_SZ])
def test_the_registry_keeps_variables_unexpanded_and_the_type(
    real: path_registry.Environment, kind: int
) -> None:
    before = r"%USERPROFILE%\bin é;C:\x"
    real.write("Path", before, kind)
    assert path_registry.add(real, FOLDER, os.environ) == ""
    assert real.read("Path") == (f"{before};{FOLDER}", kind)
    assert path_registry.add(real, FOLDER, os.environ) == ""
    assert real.read("Path") == (f"{before};{FOLDER}", kind)
    assert path_registry.remove(real, FOLDER) == ""
    assert real.read("Path") == (before, kind)


@on_windows
def test_a_path_that_was_not_there_goes_again(real: path_registry.Environment) -> None:
    if real.read("Path") is not None:
        real.delete("Path")
    path_registry.add(real, FOLDER, os.environ)
    assert real.read("Path") == (FOLDER, REG_SZ)
    path_registry.remove(real, FOLDER)
    assert real.read("Path") is None


@on_windows
def test_a_number_in_the_registry_stays_a_number(real: path_registry.Environment) -> None:
    import winreg  # exists on Windows only

    with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, "Environment", 0, winreg.KEY_SET_VALUE) as key:  # type: ignore[attr-defined,unused-ignore]
        winreg.SetValueEx(key, "Path", 0, winreg.REG_DWORD, 5)  # type: ignore[attr-defined,unused-ignore]
    assert "no text" in path_registry.add(real, FOLDER, os.environ)
    assert real.read("Path") == (5, 4)
    real.delete("Path")
