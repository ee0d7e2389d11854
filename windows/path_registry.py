"""The user's `Path` in the registry: HKEY_CURRENT_USER, Environment (spec: installer, "First install").

It is read unexpanded, so that `%USERPROFILE%\\bin` stays as it is spelt, and written back with the type that
it had (REG_EXPAND_SZ or REG_SZ). Never `setx`: that cuts at 1,024 characters and stores what was expanded. A
value that is no string is left alone with a warning. After a change running programs are told once, so that
terminals opened from then on know it.

The decisions are plain functions over an `Environment`, which is the registry on Windows and a recording of
it in tests.
"""

from __future__ import annotations

import ntpath
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

KEY = "Environment"
VALUE = "Path"
REG_SZ, REG_EXPAND_SZ = 1, 2
# Explorer hands no longer variable on to the programs that it starts.
MOST_CHARACTERS = 32_767
_VARIABLE = re.compile(r"%([^%]+)%")


class Environment(Protocol):
    """The user's environment as it is stored."""

    def read(self, name: str) -> tuple[object, int] | None:
        """A value, unexpanded, and its registry type; None when there is none. Raises OSError."""

    def write(self, name: str, value: str, kind: int) -> None:
        """Store a value with its type. Raises OSError."""

    def delete(self, name: str) -> None:
        """Remove a value. Raises OSError."""

    def broadcast(self) -> None:
        """Tell running programs that the environment has changed. Never raises."""


@dataclass(frozen=True)
class Change:
    """What is to be done: the new text of the value (None: the value goes) and its type. `changes` is False
    when nothing is to be done; `warning` says why nothing can be done, "" otherwise."""

    changes: bool
    text: str | None = None
    kind: int = REG_EXPAND_SZ
    warning: str = ""


def plan_add(environment: Environment, folder: str, environ: Mapping[str, str]) -> Change:
    """How `folder` becomes an entry of the user's Path; no change when it is one already, as a whole entry,
    in whatever spelling. `environ` expands the variables in entries. Raises OSError."""
    found = environment.read(VALUE)
    if found is None:
        return Change(True, folder, REG_EXPAND_SZ if "%" in folder else REG_SZ)
    text, kind = found
    if not isinstance(text, str) or kind not in {REG_SZ, REG_EXPAND_SZ}:
        what = f"the user's {VALUE} in the registry (HKCU\\{KEY}) is no text, so it was left alone"
        return Change(False, warning=f"{what}; ways is in {folder}")
    if any(same_entry(entry, folder, environ) for entry in entries(text)):
        return Change(False, text, kind)
    longer = f"{text}{'' if not text or text.endswith(';') else ';'}{folder}"
    if len(longer) > MOST_CHARACTERS:
        return Change(False, warning=f"the user's {VALUE} is full, so it was left alone; ways is in {folder}")
    return Change(True, longer, kind)


def plan_remove(environment: Environment, folder: str) -> Change:
    """How the entry that was added goes: only what is spelt as we spelt it. Raises OSError."""
    found = environment.read(VALUE)
    if found is None:
        return Change(False)
    text, kind = found
    if not isinstance(text, str) or kind not in {REG_SZ, REG_EXPAND_SZ}:
        return Change(False, warning=f"the user's {VALUE} (HKCU\\{KEY}) is no text, so it was left alone")
    rest = without_entry(text, folder)
    if rest == text:
        return Change(False)
    return Change(True, rest or None, kind)


def add(environment: Environment, folder: str, environ: Mapping[str, str] | None = None) -> str:
    """Add the entry when it is missing, and tell running programs; a warning, "" when all is well.
    Raises OSError."""
    return _apply(environment, plan_add(environment, folder, environ or {}))


def remove(environment: Environment, folder: str) -> str:
    """Remove the entry, and tell running programs; a warning, "" when all is well. Raises OSError."""
    return _apply(environment, plan_remove(environment, folder))


def _apply(environment: Environment, change: Change) -> str:
    if change.changes:
        if change.text is None:
            environment.delete(VALUE)
        else:
            environment.write(VALUE, change.text, change.kind)
        environment.broadcast()
    return change.warning


def entries(text: str) -> list[str]:
    """The entries of a Path as they are spelt. A semicolon inside quotes belongs to its entry."""
    return [entry for entry in re.findall(r'(?:"[^"]*"?|[^;"])+', text) if entry.strip()]


def same_entry(entry: str, folder: str, environ: Mapping[str, str]) -> bool:
    """True when two spellings name one folder: quotes, variables, case and a last slash do not count."""
    return _plain(entry, environ) == _plain(folder, environ)


def _plain(entry: str, environ: Mapping[str, str]) -> str:
    known = {name.upper(): value for name, value in environ.items()}
    text = _VARIABLE.sub(lambda found: known.get(found[1].upper(), found[0]), entry.strip().replace('"', ""))
    return ntpath.normcase(ntpath.normpath(text))


def without_entry(text: str, folder: str) -> str:
    """`text` without the entry `folder`, everything else as it is spelt, empty entries included."""
    parts = re.findall(r'(?:"[^"]*"?|[^;"])+|;', text)
    for index, part in enumerate(parts):
        if part.lower() == folder.lower():
            before = parts[:index]
            after = parts[index + 1 :]
            if before and before[-1] == ";":
                before = before[:-1]
            elif after and after[0] == ";":
                after = after[1:]
            return "".join(before + after)
    return text


if sys.platform == "win32":
    import winreg

    class _UserEnvironment:
        """The registry itself."""

        def read(self, name: str) -> tuple[object, int] | None:
            """As Environment.read."""
            try:
                with winreg.OpenKey(winreg.HKEY_CURRENT_USER, KEY) as key:
                    value, kind = winreg.QueryValueEx(key, name)
            except FileNotFoundError:
                return None
            return value, kind

        def write(self, name: str, value: str, kind: int) -> None:
            """As Environment.write."""
            with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, KEY, 0, winreg.KEY_SET_VALUE) as key:
                winreg.SetValueEx(key, name, 0, kind, value)

        def delete(self, name: str) -> None:
            """As Environment.delete."""
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, KEY, 0, winreg.KEY_SET_VALUE) as key:
                winreg.DeleteValue(key, name)

        def broadcast(self) -> None:
            """As Environment.broadcast: WM_SETTINGCHANGE to every window, 2 seconds for one that hangs."""
            import ctypes

            every_window, setting_change, abort_if_hung, milliseconds = 0xFFFF, 0x001A, 0x0002, 2_000
            user32 = ctypes.WinDLL("user32")
            user32.SendMessageTimeoutW.argtypes = [
                ctypes.c_void_p,
                ctypes.c_uint,
                ctypes.c_size_t,
                ctypes.c_wchar_p,
                ctypes.c_uint,
                ctypes.c_uint,
                ctypes.c_void_p,
            ]
            user32.SendMessageTimeoutW(
                every_window, setting_change, 0, KEY, abort_if_hung, milliseconds, None
            )


def user_environment() -> Environment:
    """The user's environment in the registry. Raises NotImplementedError off Windows."""
    if sys.platform == "win32":
        return _UserEnvironment()
    raise NotImplementedError("the registry exists on Windows only")
