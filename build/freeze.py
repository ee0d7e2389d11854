"""Build the frozen program for the machine that this runs on, and try it out.

    python build/freeze.py [--output DIR] [--version X] [--base URL] [--no-selftest]

Makes `ways-<version>-<system>-<architecture>.tar.gz` (`.zip` on Windows) from the sources of the checkout:
PyInstaller's program, the native engine, the English model, the payload, and the files that describe them.
Engine and model come out of the build cache. At the end the archive is unpacked into an empty home and the
program in it is tried with no Python on the PATH (build/selftest.py). docs/building.md says more.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import archive, bundle, engine, licences, macos_sign, model, packages, sizes
from build.pyinstaller.contents import PACKAGES
from build.pyinstaller.shaping import LISTING
from ways import __version__
from ways.core.errors import UserError
from ways.embedding.paths import EN

ROOT = packages.HERE.parent
DEFAULT_OUTPUT = packages.HERE / "out" / "release"
SPEC = packages.HERE / "pyinstaller" / "ways.spec"
FREEZE_SECONDS = 1800.0
KEPT_BUILDS = 3
TRIES = 3  # builds during which a source is edited
# What decides about a build's content, besides the packages and the recipe in `pyinstaller/`.
RECIPE = ("archive", "bundle", "elf", "freeze", "licences", "macos_sign", "packages", "system_libraries")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-.+]?[0-9A-Za-z.]+)?")


def freeze(
    output: Path, version: str = __version__, most_glibc: str = bundle.GLIBC_MOST, base: str = ""
) -> Path:
    """Build the archive for this machine in `output`; its path. `base` is where its releases are served.

    Raises UserError that says what is missing or went wrong.
    """
    if not _VERSION.fullmatch(version):
        raise UserError(f"{version!r} is not a version like 1.2.3")
    facts = bundle.facts(version, base)
    with tempfile.TemporaryDirectory(prefix="ways-freeze-") as work:
        folder = Path(work)
        source = copy_sources(folder / "source", version)
        program = run_pyinstaller(source, folder)
        library = engine.build(folder / "lib")
        macos_sign.sign(library)
        content = folder / facts.top
        bundled = licences.read(folder / "work" / SPEC.stem / LISTING)
        bundle.assemble(content, facts, program, library, model.cached(EN), most_glibc, bundled)
        target = output / facts.archive_name
        archive.pack(content, target, facts.top, facts.built)
    return target


def copy_sources(folder: Path, version: str) -> Path:
    """The product's packages as they will be frozen, with this version in them."""
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc", "payload")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=skipped)
    init = folder / "ways" / "__init__.py"
    text = init.read_text("utf-8")
    if f'"{__version__}"' not in text:
        raise UserError(f"{init.name} of ways does not hold the version {__version__}")
    init.write_text(text.replace(f'"{__version__}"', f'"{version}"'), "utf-8")
    return folder


def run_pyinstaller(source: Path, work: Path, spec: Path = SPEC) -> Path:
    """PyInstaller's folder with the program. Raises UserError with what PyInstaller said when it failed."""
    try:
        importlib.metadata.version("pyinstaller")
    except importlib.metadata.PackageNotFoundError:
        raise UserError("PyInstaller is not installed", 'python -m pip install -e ".[release]"') from None
    print("freezing the program; one to three minutes", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "WARN"]
    command += ["--distpath", str(work / "dist"), "--workpath", str(work / "work"), str(spec)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    # Sets are written in an order that depends on the hash seed; the log of what is found is not shown.
    environment |= {"WAYS_FREEZE_SOURCE": str(source), "PYTHONHASHSEED": "1"}
    environment["PYINSTALLER_CONFIG_DIR"] = str(work / "config")
    # The archive of the whole packs modules better than each can be packed alone, and no command has to
    # unpack them. Without the sources, tracebacks cannot show columns: they would be a fifth of the modules.
    environment |= {"PYINSTALLER_ZLIB_COMPRESSION_LEVEL": "0", "PYTHONNODEBUGRANGES": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=FREEZE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise UserError("PyInstaller did not finish in half an hour") from error
    program = work / "dist" / "ways"
    if done.returncode != 0 or not program.is_dir():
        raise UserError(f"PyInstaller failed:\n{done.stdout[-3000:]}")
    return program


def cached(version: str = __version__, cache: Path | None = None) -> Path:
    """The archive for this machine out of the build cache, built when anything in it has changed.

    The commit and the time in its `release.json` are those of the build. Raises as freeze.
    """
    root = (cache or packages.cache_folder()) / "frozen"
    name = bundle.facts(version).archive_name
    for _ in range(TRIES):
        folder = root / key(version)
        with packages.locked(root, folder.name):
            if not (folder / name).is_file():
                freeze(folder, version)
                if key(version) != folder.name:
                    # Somebody edited while it was built: it may hold files of before and of after.
                    shutil.rmtree(folder)
                    continue
                _sweep(root, folder)
        os.utime(folder)
        return folder / name
    raise UserError("the sources changed during each build", "python build/freeze.py, when they are at rest")


def key(version: str) -> str:
    """Names everything that a build's content depends on: sources, payload, recipe, libraries, machine."""
    digest = hashlib.sha256()
    installed = sorted(
        f"{found.metadata['Name']}=={found.version}" for found in importlib.metadata.distributions()
    )
    machine = [sys.version, sys.platform, platform.machine(), *platform.libc_ver()]
    parts = [version, *machine, engine.key(), *installed]
    parts += [str(model.recorded(EN)["sha256"]), f"signed: {bool(os.environ.get(macos_sign.IDENTITY))}"]
    digest.update("\0".join(parts).encode())
    for path in source_files():
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:20]


def source_files() -> list[Path]:
    """Every file that a build is made from, sorted."""
    recipe = [packages.HERE / f"{name}.py" for name in RECIPE]
    folders = [ROOT / name for name in PACKAGES] + [packages.HERE / "pyinstaller", packages.HERE / "licenses"]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    if bundle.RELEASE_ROOT.is_file():
        recipe.append(bundle.RELEASE_ROOT)
    return sorted(
        path for path in recipe + found if "__pycache__" not in path.parts and path.suffix != ".pyc"
    )


def _sweep(root: Path, newest: Path) -> None:
    """Keep the builds that were used last: each is some 40 MB."""
    others = [path for path in root.iterdir() if path.is_dir() and path != newest]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[KEPT_BUILDS - 1 :]:
        shutil.rmtree(path)


def main(argv: list[str] | None = None) -> int:
    """The command `python build/freeze.py`."""
    parser = argparse.ArgumentParser(description="Build the frozen program for this machine.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder for the archive")
    parser.add_argument("--version", default=__version__, help="the version to build as")
    parser.add_argument(
        "--glibc", default=bundle.GLIBC_MOST, help="fail when a newer glibc than this is needed"
    )
    parser.add_argument(
        "--base", default="", help="https address of the releases, for `ways update` after an offline install"
    )
    parser.add_argument("--no-selftest", action="store_true", help="do not try the program out")
    options = parser.parse_args(argv)
    try:
        path = freeze(options.output, options.version, options.glibc, options.base)
        print(f"{path}  {path.stat().st_size} bytes  {packages.sha256_of(path)}", flush=True)
        print("\n".join(sizes.lines(sizes.parts(path), path.stat().st_size)), flush=True)
        if not options.no_selftest:
            from build import selftest

            selftest.run(path)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
