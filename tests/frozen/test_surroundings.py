"""The frozen program in the surroundings that people have: links, odd paths, variables, mounts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.session_home import Session, write_way
from tests.frozen.conftest import FrozenHome

pytestmark = pytest.mark.frozen

NOT_OURS = ("_PYI", "_MEIPASS", "PYINSTALLER")


def printed(shown: str) -> dict[str, str]:
    """The environment that a macro printed into a way's text."""
    rows = [line.partition("=") for line in shown.splitlines() if "=" in line]
    return {name: value for name, _, value in rows}


@pytest.fixture
def spying(home: FrozenHome) -> Path:
    """A way of the user's own whose macro prints its environment, as `env` sees it."""
    folder = home.path / ".config/agent-ways/ways"
    way = write_way(folder, "own/spy", "pattern: \\bspyglass\\b\nmacro: append", "SPY-BODY")
    (way.parent / "macro.sh").write_text("env\n")
    return way.parent


def test_case_u06_a_macro_sees_the_users_environment(
    home: FrozenHome, project: Path, spying: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(home, project)
    session.start()
    seen = printed(session.prompt("spyglass"))
    assert seen["HOME"] == str(home.path) and seen["PATH"] == home.environment["PATH"]
    assert "LD_LIBRARY_PATH" not in seen and "LD_LIBRARY_PATH_ORIG" not in seen
    assert not [name for name in seen if name.startswith(NOT_OURS)]
    assert not [name for name, value in seen.items() if "_internal" in value]


def test_case_u06_variables_of_the_loader_stay_the_users(
    home: FrozenHome, project: Path, spying: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {
        "LD_LIBRARY_PATH": "/opt/mine",
        "VIRTUAL_ENV": "/venv",
        "PYTHONHOME": "/nowhere",
        "PYTHONPATH": "/x",
    }
    monkeypatch.setattr(home, "extra", own)
    session = Session(home, project)
    session.start()
    seen = printed(session.prompt("spyglass"))
    assert {name: seen.get(name) for name in own} == own


def test_a_macro_in_python_runs_on_the_programs_own_interpreter(home: FrozenHome, project: Path) -> None:
    folder = home.path / ".config/agent-ways/ways"
    way = write_way(folder, "own/python", "pattern: \\bserpent\\b\nmacro: append", "PYTHON-BODY")
    modules = (
        "json, re, subprocess, pathlib, datetime, urllib.request, csv, sqlite3, zoneinfo, tomllib, decimal"
    )
    (way.parent / "macro.py").write_text(
        "import importlib, sys\n"
        f"for name in {modules!r}.split(', '):\n"
        "    try:\n        importlib.import_module(name)\n"
        "    except ImportError as error:\n        print('missing', name, error)\n"
        "print('utf8', sys.flags.utf8_mode, __name__, 'é日本')\n",
        "utf-8",
    )
    session = Session(home, project)
    session.start()
    lines = session.prompt("serpent").splitlines()
    assert lines[0] == "PYTHON-BODY" and lines[-1] == "utf8 1 __main__ é日本"
    assert [line.split()[1] for line in lines if line.startswith("missing")] == ["sqlite3"], lines


def test_case_u05_a_temporary_folder_without_execution(home: FrozenHome, tmp_path: Path) -> None:
    place = tmp_path / "noexec"
    place.mkdir()
    script = 'mount -t tmpfs -o noexec,size=8m none "$TMPDIR" && exec "$0" "$@"'
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, str(home.program)]
    trial = subprocess.run(
        ["unshare", "--mount", "--map-root-user", "true"], capture_output=True, check=False
    )
    if shutil.which("unshare") is None or trial.returncode != 0:
        pytest.skip("this machine lets nobody mount in a namespace of their own")
    for arguments in (["--version"], ["doctor", "--offline", "--json"], ["reconcile"]):
        done = subprocess.run(
            [*command, *arguments],
            env={**home.environment, "TMPDIR": str(place), "PATH": os.environ["PATH"]},
            cwd=home.path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "denied" not in done.stdout + done.stderr, (arguments, done.stderr)
        if arguments[0] != "doctor":
            assert done.returncode == 0, (arguments, done.stderr)
        else:
            faults = [one for one in json.loads(done.stdout)["findings"] if one["state"] == "fault"]
            assert {one["subject"] for one in faults} <= {"engine", "corpus"}, "this home has no engine"


@pytest.mark.parametrize("folder", ["/nonexistent", ""])
def test_a_temporary_folder_that_is_missing_is_no_matter(
    home: FrozenHome, project: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setattr(home, "extra", {"TMPDIR": folder})
    session = Session(home, project)
    session.start()
    assert "0.1" in home.ways("--version")


def test_the_program_is_found_behind_links(home: FrozenHome, tmp_path: Path) -> None:
    wanted = json.loads(home.ways("--version", "--json"))
    assert wanted["build"] == "frozen" and wanted["commit"] == commit(home)
    link = tmp_path / "Ü n a m e" / "w"
    link.parent.mkdir()
    link.symlink_to(home.program)
    relative = tmp_path / "again"
    relative.symlink_to(Path(link.parent.name) / "w")
    for path in (link, relative, home.claude / "bin" / "ways"):
        done = subprocess.run(
            [str(path), "--version", "--json"], env=home.environment, capture_output=True, check=True
        )
        assert json.loads(done.stdout) == wanted
    found = {**home.environment, "PATH": f"{tmp_path / link.parent.name}:{home.environment['PATH']}"}
    done = subprocess.run(["sh", "-c", "w --version --json"], env=found, capture_output=True, check=True)
    assert json.loads(done.stdout) == wanted


def commit(home: FrozenHome) -> str:
    """The commit in the installed version's release.json."""
    text = (home.place.app / "current" / "release.json").read_text("utf-8")
    return str(json.loads(text)["commit"])


def test_a_bundle_that_is_not_installed_knows_its_own_version_and_engine(
    staged: Path, tmp_path: Path
) -> None:
    """A staged program is tried before it becomes the active one."""
    environment = {"HOME": str(tmp_path), "PATH": "/nonexistent"}
    done = subprocess.run(
        [str(staged / "bin" / "ways"), "--version", "--json"],
        env=environment,
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout)
    release = json.loads((staged / "release.json").read_text("utf-8"))
    assert (told["version"], told["commit"]) == (release["version"], release["commit"])
    done = subprocess.run(
        [str(staged / "bin" / "ways"), "doctor", "--offline", "--json"],
        env=environment,
        capture_output=True,
        check=False,
    )
    engine = [one for one in json.loads(done.stdout)["findings"] if one["subject"] == "engine"]
    assert [one["state"] for one in engine] == ["ok"], engine


def test_the_domains_of_the_shipped_ways_are_offered(staged: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [str(staged / "bin" / "ways"), "run-script", "domains.py"],
        env={"HOME": str(tmp_path), "PATH": "/nonexistent"},
        cwd=written(
            tmp_path, "domains.py", "from ways.cli.init import shipped_domains\nprint(shipped_domains())\n"
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'softwaredev'" in done.stdout


def written(folder: Path, name: str, text: str) -> Path:
    """The folder, with a file in it."""
    (folder / name).write_text(text)
    return folder


def test_every_module_of_the_product_can_be_imported(staged: Path, tmp_path: Path) -> None:
    """Commands are imported by name when they are called: one that was left out would show only then."""
    from build.freeze import ROOT
    from build.pyinstaller.contents import product_modules

    names = [name for name in product_modules(ROOT) if name not in {"ways.__main__", "ways.agent.__main__"}]
    script = (
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    try:\n        importlib.import_module(name)\n"
        "    except ImportError as error:\n        print(name, error)\n"
    )
    done = subprocess.run(
        [str(staged / "bin" / "ways"), "run-script", "modules.py"],
        env={"HOME": str(tmp_path), "PATH": "/nonexistent"},
        cwd=written(tmp_path, "modules.py", script),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == ""


def test_a_damaged_pack_of_modules_is_told_and_no_hook_fails(staged: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(staged, copy)
    (copy / "bin/_internal/hooks.pack").write_bytes(b"nothing")
    program = str(copy / "bin" / "ways")
    environment = {"HOME": str(tmp_path), "PATH": "/nonexistent"}
    hook = subprocess.run(
        [program, "hook", "prompt"], env=environment, input=b"{}", capture_output=True, check=False
    )
    assert (hook.returncode, hook.stdout) == (0, b"")
    done = subprocess.run([program, "--version"], env=environment, capture_output=True, check=False)
    assert done.returncode == 1 and b"run the ways installer again" in done.stderr
    assert b"Traceback" not in done.stderr + hook.stderr
