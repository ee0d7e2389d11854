"""Known folders, the uninstall entry, the console, long paths, jobs, the manifest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import windows
from tests.unit.windows.machine import off_windows, on_windows
from windows import console, jobs, known_folders, long_paths, uninstall_entry

APP = r"C:\Users\A B\AppData\Local\agent-ways\app"


def test_a_guid_lies_in_memory_as_windows_has_it() -> None:
    # FOLDERID_LocalAppData as the header knownfolders.h spells its bytes.
    expected = bytes.fromhex("8527b3f1ba6fcf4f9d557b8e7f157091")
    assert known_folders.identifier(known_folders.FOLDERS["LOCALAPPDATA"]) == expected


def test_variables_that_lead_elsewhere_are_named() -> None:
    folders = {"LOCALAPPDATA": r"C:\Users\y\AppData\Local", "USERPROFILE": r"C:\Users\y"}
    assert known_folders.disagreements(folders, folders) == []
    same = {"LOCALAPPDATA": "c:/users/Y/appdata/local/", "USERPROFILE": r"C:\Users\y"}
    assert known_folders.disagreements(same, folders) == []
    [one, other] = known_folders.disagreements({"LOCALAPPDATA": r"C:\Windows\system32"}, folders)
    assert "is C:\\Windows\\system32" in one
    assert "USERPROFILE is not set" in other


def test_the_uninstall_entry_runs_the_program_by_its_quoted_path() -> None:
    values = uninstall_entry.values(APP, "1.2.3", 80_000)
    assert values["UninstallString"] == rf'"{APP}\bin\ways.exe" uninstall --yes'
    assert (values["DisplayVersion"], values["EstimatedSize"]) == ("1.2.3", 80_000)
    assert uninstall_entry.is_of(values, APP.upper() + "\\")
    assert not uninstall_entry.is_of(values, APP + "2")
    assert not uninstall_entry.is_of({}, APP)


def test_a_console_gets_the_sequences_and_keeps_its_other_modes() -> None:
    assert console.wanted_mode(0x0003) == 0x0007
    assert console.wanted_mode(0x0007) == 0x0007


def test_streams_that_are_no_console_are_left_alone() -> None:
    restore = console.understand_sequences()
    restore()


LONG = "\\".join(["folder of thirty characters 12"] * 9)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (r"C:\short", r"C:\short"),
        (rf"C:\{LONG}", rf"\\?\C:\{LONG}"),
        (f"C:/{LONG}/../x".replace("\\", "/"), None),
        (rf"\\server\share\{LONG}", rf"\\?\UNC\server\share\{LONG}"),
        (rf"\\?\C:\{LONG}", rf"\\?\C:\{LONG}"),
        (LONG, LONG),
        (rf"C:{LONG}", rf"C:{LONG}"),
    ],
)
def test_long_paths_get_the_extended_form(path: str, expected: str | None) -> None:
    if expected is None:
        expected = "\\\\?\\C:\\" + LONG.rsplit("\\", 1)[0] + "\\x"
    assert long_paths.extended(path) == expected


def test_the_manifest_says_what_the_program_needs() -> None:
    path = Path(windows.__file__).parent / "ways.exe.manifest"
    root = ElementTree.parse(path).getroot()
    told = {element.tag.rsplit("}", 1)[1]: element.text for element in root.iter()}
    assert told["longPathAware"] == "true"
    assert told["activeCodePage"] == "UTF-8"
    [level] = [element for element in root.iter() if element.tag.endswith("requestedExecutionLevel")]
    assert level.attrib == {"level": "asInvoker", "uiAccess": "false"}


@off_windows
def test_off_windows_each_says_so() -> None:
    for call in (
        known_folders.known_folders,
        uninstall_entry.read,
        lambda: uninstall_entry.write({}),
        lambda: uninstall_entry.remove(APP),
        lambda: jobs.contain(1),
        lambda: jobs.end(1),
    ):
        with pytest.raises(NotImplementedError):
            call()
    jobs.end(0)
    assert long_paths.allowed()


def test_a_folder_whose_files_cannot_be_reached_is_told() -> None:
    folder = "C:\\" + "x" * 200
    assert long_paths.complaint(folder, 55, are_allowed=False) == ""
    told = long_paths.complaint(folder, 56, are_allowed=False)
    assert "up to 260 characters and this machine allows 259" in told
    assert long_paths.complaint(folder, 500, are_allowed=True) == ""


@on_windows
def test_windows_tells_its_folders_as_the_variables_do() -> None:
    found = known_folders.known_folders()
    assert known_folders.disagreements(os.environ, found) == []
    assert all(os.path.isdir(path) for path in found.values())


@on_windows
def test_the_entry_is_written_read_and_removed() -> None:
    values = uninstall_entry.values(APP, "1.2.3 é", 80_000)
    uninstall_entry.write(values)
    assert uninstall_entry.read() == values
    uninstall_entry.remove(APP + "2")
    assert uninstall_entry.read() == values
    uninstall_entry.remove(APP)
    assert uninstall_entry.read() == {}
    uninstall_entry.remove(APP)


@on_windows
def test_a_long_path_is_made_and_read(tmp_path: Path) -> None:
    folder = str(tmp_path) + "".join(rf"\{'x' * 60}{index}" for index in range(5))
    os.makedirs(long_paths.extended(folder))
    file = long_paths.extended(folder + r"\file.txt")
    Path(file).write_text("here", "utf-8")
    assert Path(file).read_text("utf-8") == "here"


@on_windows
def test_a_job_ends_with_all_its_processes() -> None:
    child = (
        "import subprocess, sys, time\n"
        "sleeper = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(sleeper.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job = jobs.contain(int(process._handle))  # type: ignore[attr-defined,unused-ignore]
    assert job
    assert process.stdout is not None
    grandchild = int(process.stdout.readline())
    assert _runs(grandchild)
    jobs.end(job)
    assert process.wait(20) == 1
    deadline = time.monotonic() + 20
    while _runs(grandchild) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(grandchild)


def _runs(pid: int) -> bool:
    from installer.update_lock import process_start

    return bool(process_start(pid))
