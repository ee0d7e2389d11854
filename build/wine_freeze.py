"""Build the frozen program for Windows under Wine, for tests on a machine that is not Windows.

    python build/wine_freeze.py [--output DIR] [--version X] [--no-engine]

PyInstaller runs on Windows' Python (`build/wine_python.py`); the engine is compiled with MinGW-w64 and left
out where that is missing. The rest is what `build/freeze.py` does. A release is never made here: the release
job builds on Windows. What was tried with it: docs/decisions/windows.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import archive, bundle, engine, freeze, model, packages, wine_python
from build.wine_python import WinePython
from ways import __version__
from ways.core.errors import UserError
from ways.embedding.paths import EN, library_name

TARGET = "windows"
NO_ENGINE = b"no engine: this stands in for it where no compiler for Windows was found\n"


def build(output: Path, version: str = __version__, with_engine: bool = True) -> Path:
    """Build the Windows archive in `output`; its path. Raises UserError that says what is missing."""
    wine, why = wine_python.found()
    if wine is None:
        raise UserError(why, "python build/wine_python.py")
    facts = bundle.Facts(version, bundle.commit(), bundle.build_time(), TARGET, "x86_64")
    with tempfile.TemporaryDirectory(prefix="ways-wine-freeze-") as work:
        folder = Path(work)
        source = freeze.copy_sources(folder / "source", version)
        program = _run_pyinstaller(wine, source, folder)
        library = engine.build(folder / "lib", target=TARGET) if with_engine else _stand_in(folder / "lib")
        content = folder / facts.top
        bundle.assemble(content, facts, program, library, model.cached(EN))
        target = output / facts.archive_name
        archive.pack(content, target, facts.top, facts.built)
    return target


def cached(version: str = __version__, with_engine: bool = True) -> Path:
    """The archive out of the build cache, built when anything in it has changed. Raises as build."""
    root = packages.cache_folder() / "frozen"
    folder = root / f"wine-{key(version, with_engine)}"
    name = bundle.Facts(version, "", 0, TARGET, "x86_64").archive_name
    with packages.locked(root, folder.name):
        if not (folder / name).is_file():
            build(folder, version, with_engine)
    os.utime(folder)
    return folder / name


def key(version: str, with_engine: bool) -> str:
    """Names everything that the archive's content depends on."""
    digest = hashlib.sha256()
    parts = [version, TARGET, wine_python.recipe(), str(with_engine), str(model.recorded(EN)["sha256"])]
    parts.append(engine.key(TARGET) if with_engine else "")
    digest.update("\0".join(parts).encode())
    for path in [*freeze.source_files(), Path(__file__)]:
        digest.update(path.relative_to(freeze.ROOT).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def has_compiler() -> bool:
    """True when the engine for Windows can be compiled here, or was."""
    library = packages.cache_folder() / "engine" / engine.key(TARGET) / library_name("win32")
    return library.is_file() or engine.can_compile(TARGET)


def _run_pyinstaller(wine: WinePython, source: Path, work: Path) -> Path:
    """As freeze.run_pyinstaller, with Windows' Python."""
    command = ["wine", str(wine.executable), "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    for option, folder in (("--distpath", "dist"), ("--workpath", "work")):
        command += [option, wine_python.shown(work / folder)]
    command.append(wine_python.shown(freeze.SPEC))
    environment = wine.environment | {
        "WAYS_FREEZE_SOURCE": wine_python.shown(source),
        "PYTHONHASHSEED": "1",
        "PYINSTALLER_CONFIG_DIR": wine_python.shown(work / "config"),
    }
    print("freezing the program under Wine; two to five minutes", file=sys.stderr, flush=True)
    try:
        # Through a pipe: programs under Wine fail on streams that are regular files.
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=freeze.FREEZE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError("PyInstaller did not finish under Wine in half an hour") from error
    program = work / "dist" / "ways"
    if done.returncode != 0 or not (program / "ways.exe").is_file():
        raise UserError(f"PyInstaller failed under Wine:\n{done.stdout[-3000:]}")
    return program


def _stand_in(folder: Path) -> Path:
    folder.mkdir()
    path = folder / library_name("win32")
    path.write_bytes(NO_ENGINE)
    return path


def main(argv: list[str] | None = None) -> int:
    """The command `python build/wine_freeze.py`."""
    parser = argparse.ArgumentParser(description="Build the frozen Windows program under Wine, for tests.")
    parser.add_argument("--output", type=Path, default=freeze.DEFAULT_OUTPUT, help="folder for the archive")
    parser.add_argument("--version", default=__version__, help="the version to build as")
    parser.add_argument("--no-engine", action="store_true", help="leave the native engine out")
    options = parser.parse_args(argv)
    try:
        path = build(options.output, options.version, not options.no_engine)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{path}  {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
