"""Build the native engine: one small library of llama.cpp and our few functions over it.

    python build/engine.py [--output DIR]

The source is the llama.cpp that llama-cpp-python carries on PyPI (`packages.json` pins it). The built
library is kept in the build cache under a key of everything it depends on, so a second call copies a file.
Why our own library and not llama-cpp-python: docs/decisions/engine.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

if __package__ in {None, ""}:  # run as a script: the checkout is not on the path yet
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from build import packages
from ways.core.errors import UserError
from ways.core.files import replace
from ways.embedding.paths import library_name

SOURCE_PACKAGE = "llama-cpp-python"
NATIVE = packages.HERE / "native"
WANTED = ("CMakeLists.txt", "LICENSE", "cmake/", "ggml/", "include/", "src/", "vendor/")
DEFAULT_OUTPUT = packages.HERE / "out" / "lib"
COMPILE_SECONDS = 3600.0
LICENCE_NAME = "llama.cpp.LICENSE.txt"


def build(
    output_dir: str | os.PathLike[str],
    cache_dir: str | os.PathLike[str] | None = None,
    target: str | None = None,
) -> Path:
    """Put the native library and its licence into `output_dir`; the library's path.

    `cache_dir` defaults to the build cache. `target` is `linux`, `macos` or `windows`, by default this
    machine's; `windows` on another machine compiles with the MinGW-w64 compiler. Raises UserError that
    says what is missing and how to get it.
    """
    output = Path(output_dir)
    cache = Path(cache_dir) if cache_dir is not None else packages.cache_folder()
    kept = cached(cache, target)
    output.mkdir(parents=True, exist_ok=True)
    for name in (kept.name, LICENCE_NAME):
        _copy(kept.parent / name, output / name)
    return output / kept.name


def cached(cache: Path, target: str | None = None) -> Path:
    """The library inside the cache, compiled when it is not there yet."""
    folder = cache / "engine" / key(target)
    library = folder / library_name(_platform(target))
    with packages.locked(cache, f"engine-{folder.name}"):
        if not (library.is_file() and (folder / LICENCE_NAME).is_file()):
            _compile(cache, folder, library, target)
    return library


def key(target: str | None = None) -> str:
    """Names everything that the library's bytes depend on: source, our files, flags, platform."""
    digest = hashlib.sha256()
    parts = [str(packages.pinned(SOURCE_PACKAGE)["sha256"]), _platform(target), platform.machine().lower()]
    digest.update("\0".join(parts + _configure_options(target)).encode())
    for path in sorted(NATIVE.iterdir()):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


def _platform(target: str | None) -> str:
    """The target as `sys.platform` spells it."""
    return {None: sys.platform, "linux": "linux", "macos": "darwin", "windows": "win32"}[target]


def _configure_options(target: str | None) -> list[str]:
    """What cmake is told besides the CMakeLists of `native/`."""
    if _platform(target) == "win32" and sys.platform != "win32":
        compiler = "x86_64-w64-mingw32"
        names = {"C_COMPILER": "gcc-posix", "CXX_COMPILER": "g++-posix"}
        cross = ["-DCMAKE_SYSTEM_NAME=Windows", "-DCMAKE_SYSTEM_PROCESSOR=x86_64"]
        # Newer interfaces have names that MinGW's headers lack.
        cross += [f"-DCMAKE_{language}_FLAGS=-D_WIN32_WINNT=0x0601" for language in ("C", "CXX")]
        return cross + [f"-DCMAKE_{name}={compiler}-{tool}" for name, tool in names.items()]
    return []


def _compile(cache: Path, folder: Path, library: Path, target: str | None) -> None:
    cmake, generator = _tools(target)
    archive = packages.fetch(SOURCE_PACKAGE, cache)
    version = f"llama-cpp-python {packages.pinned(SOURCE_PACKAGE)['version']}"
    folder.mkdir(parents=True, exist_ok=True)
    print(
        f"compiling the native engine ({version}); about three minutes of processor time",
        file=sys.stderr,
        flush=True,
    )
    with tempfile.TemporaryDirectory(prefix="ways-engine-", dir=cache) as work:
        source = _unpack(archive, Path(work) / "source")
        binary = Path(work) / "binary"
        configure = [
            *cmake,
            "-G",
            generator,
            "-S",
            str(NATIVE),
            "-B",
            str(binary),
            f"-DLLAMA_SOURCE={source}",
        ]
        configure += [
            f"-DWAYS_ENGINE_VERSION={version}",
            "-DCMAKE_BUILD_TYPE=Release",
            *_configure_options(target),
        ]
        _run(configure, "configure")
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(os.cpu_count() or 2)
        _run(
            [*cmake, "--build", str(binary), "--target", "ways_native", "--config", "Release", "-j", jobs],
            "compile",
        )
        _copy(source / "LICENSE", folder / LICENCE_NAME)
        _copy(_built(binary, library.name), library)


def can_compile(target: str | None = None) -> bool:
    """True when everything that compiling needs is installed."""
    try:
        _tools(target)
    except UserError:
        return False
    return True


def _tools(target: str | None) -> tuple[list[str], str]:
    """The cmake command and the generator. Raises UserError naming every tool that is missing."""
    missing = []
    cmake = _tool("cmake")
    if not cmake:
        missing.append("cmake (python -m pip install cmake)")
    compilers = (
        ["x86_64-w64-mingw32-g++-posix"] if _configure_options(target) else ["c++", "g++", "clang++", "cl"]
    )
    if not any(shutil.which(name) for name in compilers) and not os.environ.get("CXX"):
        missing.append(f"a C++ compiler ({_compiler_hint(target)})")
    ninja = _tool("ninja")
    if not ninja and not shutil.which("make"):
        missing.append("ninja (python -m pip install ninja) or make")
    if missing:
        again = f"{sys.executable} build/engine.py"
        raise UserError(f"the native engine cannot be compiled here: missing {', '.join(missing)}", again)
    if ninja:
        os.environ["PATH"] = os.pathsep.join([str(Path(ninja).parent), os.environ.get("PATH", "")])
    return [cmake], "Ninja" if ninja else "Unix Makefiles"


def _tool(name: str) -> str:
    """A build tool on PATH, else the one that a PyPI package put beside this interpreter; "" for none."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent)) or ""


def _compiler_hint(target: str | None) -> str:
    if _configure_options(target):
        return "Debian: apt-get install g++-mingw-w64-x86-64-posix"
    if sys.platform == "darwin":
        return "xcode-select --install"
    if sys.platform == "win32":
        return "Visual Studio Build Tools, or MinGW-w64"
    return "Debian and Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++"


def _unpack(archive: Path, folder: Path) -> Path:
    """The parts of llama.cpp that a library needs, out of the source distribution."""
    with tarfile.open(archive) as source:
        members = []
        for member in source:
            name = member.name.partition("/vendor/llama.cpp/")[2]
            if name.startswith(WANTED) and (member.isfile() or member.isdir()):
                member.name = name
                members.append(member)
        source.extractall(folder, members, filter="data")
    if not (folder / "include" / "llama.h").is_file():
        raise UserError(f"{archive.name} holds no llama.cpp source")
    return folder


def _run(command: list[str], step: str) -> None:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=COMPILE_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-3000:]
        raise UserError(f"cmake failed to {step} the native engine:\n{said}")


def _built(binary: Path, name: str) -> Path:
    for path in (binary / name, binary / "Release" / name):
        if path.is_file():
            return path
    raise UserError(f"cmake finished but left no {name} in {binary}")


def _copy(source: Path, target: Path) -> None:
    """Copy by way of a temporary name: a library in use is never written over (macOS kills its users)."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    shutil.copyfile(source, temporary)
    replace(str(temporary), str(target))


def main(argv: list[str] | None = None) -> int:
    """The command `python build/engine.py`."""
    parser = argparse.ArgumentParser(description="Build the native engine.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder for the library")
    parser.add_argument("--cache", type=Path, default=None, help="build cache (default: the user's)")
    parser.add_argument("--target", choices=["linux", "macos", "windows"], default=None)
    options = parser.parse_args(argv)
    try:
        path = build(options.output, options.cache, options.target)
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(f"{path}  {path.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
