"""The entry among "Installed apps" in Windows' settings, below HKEY_CURRENT_USER: no privilege needed."""

from __future__ import annotations

import ntpath
import sys
from collections.abc import Mapping

KEY = r"Software\Microsoft\Windows\CurrentVersion\Uninstall\agent-ways"


def values(app: str, version: str, kilobytes: int) -> dict[str, str | int]:
    """The values of the entry: text, or numbers for flags and for the size in KiB. `app` is the app root."""
    program = ntpath.join(app, "bin", "ways.exe")
    return {
        "DisplayName": "ways",
        "DisplayVersion": version,
        "DisplayIcon": program,
        "Comments": "Puts short pieces of team guidance in front of a coding agent",
        "InstallLocation": app,
        # The settings page runs this in a console of its own; the plan is what `ways uninstall` shows there.
        "UninstallString": f'"{program}" uninstall --yes',
        "QuietUninstallString": f'"{program}" uninstall --yes',
        "EstimatedSize": kilobytes,
        "NoModify": 1,
        "NoRepair": 1,
    }


def write(entry: Mapping[str, str | int]) -> None:
    """Write the entry, or bring it up to date. Raises OSError; NotImplementedError off Windows."""
    if sys.platform != "win32":
        raise NotImplementedError("the registry exists on Windows only")
    import winreg

    with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, KEY, 0, winreg.KEY_SET_VALUE) as key:
        for name, value in entry.items():
            kind = winreg.REG_DWORD if isinstance(value, int) else winreg.REG_SZ
            winreg.SetValueEx(key, name, 0, kind, value)


def read() -> dict[str, object]:
    """The entry as it stands, empty when there is none. Raises OSError; NotImplementedError off Windows."""
    if sys.platform != "win32":
        raise NotImplementedError("the registry exists on Windows only")
    import winreg

    found: dict[str, object] = {}
    try:
        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, KEY) as key:
            for index in range(winreg.QueryInfoKey(key)[1]):
                name, value, _kind = winreg.EnumValue(key, index)
                found[name] = value
    except FileNotFoundError:
        return {}
    return found


def remove(app: str) -> None:
    """Remove the entry when it is that of this app root. Raises OSError; NotImplementedError off Windows."""
    if not is_of(read(), app):
        return
    if sys.platform == "win32":
        import winreg

        winreg.DeleteKey(winreg.HKEY_CURRENT_USER, KEY)


def is_of(entry: Mapping[str, object], app: str) -> bool:
    """True for the entry of this app root: another installation keeps its own."""
    location = entry.get("InstallLocation")
    if not isinstance(location, str):
        return False
    return ntpath.normcase(ntpath.normpath(location)) == ntpath.normcase(ntpath.normpath(app))
