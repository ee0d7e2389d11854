"""Which modules and files go into the bundle.

Commands and lanes are imported by name at run time, so static analysis does not find them: every module of
the product's packages is listed instead. Every file beside them that is not Python (tables, scripts) goes
along at the same relative place, because modules find theirs through `__file__`.
"""

from __future__ import annotations

import sys
from pathlib import Path

PACKAGES = ("ways", "projection", "installer", "windows")
PAYLOAD = "projection/payload"  # shipped as files of the version, not inside the program

# A way's macro or postcheck may be a Python file, run by `ways run-script` on the interpreter inside the
# program. It may use the standard library but for these: development tools, graphical and terminal
# interfaces, and databases whose libraries would be bundled for nothing else.
NOT_FOR_SCRIPTS = frozenset(
    {
        *("antigravity", "cProfile", "compileall", "doctest", "ensurepip", "idlelib", "lib2to3", "pdb"),
        *(
            "profile",
            "pstats",
            "py_compile",
            "pyclbr",
            "pydoc",
            "pydoc_data",
            "test",
            "this",
            "trace",
            "venv",
        ),
        *("curses", "readline", "rlcompleter", "tkinter", "turtle", "turtledemo", "_tkinter"),
        *("dbm", "sqlite3", "_sqlite3", "_dbm", "_gdbm", "_curses", "_curses_panel"),
        *("distutils", "imp", "asynchat", "asyncore", "smtpd", "cgi", "cgitb", "msilib", "nntplib"),
        *("aifc", "audioop", "chunk", "crypt", "_crypt", "imghdr", "ossaudiodev", "pipes", "sndhdr"),
        *("spwd", "sunau", "telnetlib", "uu", "xdrlib", "nis", "mailcap", "wsgiref", "xmlrpc"),
    }
)
_DEEP = ("concurrent", "email", "encodings", "html", "http", "importlib", "json", "logging", "urllib", "xml")

# Packages of others that load their own modules by name.
_BY_NAME = ("rich._unicode_data", "textual.widgets")

# Never wanted, though something that is wanted mentions it.
EXCLUDED = (
    *("IPython", "PIL", "_pytest", "cffi", "gguf", "hypothesis", "matplotlib", "mypy", "pip"),
    *("_pydecimal", "_pyio", "numpy", "pytest", "safetensors", "setuptools", "tokenizers", "tqdm", "typer"),
    *("charset_normalizer", "pkg_resources", "requests", "tree_sitter"),  # optional to libraries of ours
    # Of the libraries that are wanted, what nothing of ours uses. Without cryptography the update client
    # checks Ed25519 signatures with the Python that securesystemslib brings: releases are signed with these.
    # wcwidth has the same in Python; pydantic.v1 is for programs written for its old version.
    *("_cffi_backend", "cryptography", "jwt", "wcwidth._wcwidth_c"),
    *("mcp.cli", "pydantic.mypy", "pydantic.v1", "prompt_toolkit.contrib"),
    *sorted(NOT_FOR_SCRIPTS - {"imp"}),
)
# Pygments colours what rich and textual show as source code. Nothing of ours shows any; what those two import
# themselves stays, and so does the lexer of plain text.
_PYGMENTS = ("pygments.formatters", "pygments.lexers", "pygments.styles")
_PYGMENTS_KEPT = frozenset(
    {
        *("pygments.lexers._mapping", "pygments.lexers.special", "pygments.formatters._mapping"),
        *("pygments.styles._mapping", "pygments.styles.default"),
    }
)


def product_modules(source: Path) -> list[str]:
    """The dotted names of every module of the product's packages below `source`."""
    found = []
    for path in _files(source):
        if path.suffix == ".py":
            parts = list(path.relative_to(source).with_suffix("").parts)
            if parts[-1] == "__init__":
                parts.pop()
            found.append(".".join(parts))
    return found


def product_data(source: Path) -> list[tuple[str, str]]:
    """(file, folder inside the bundle) of every file of the packages that is not Python."""
    return [
        (str(path), str(path.parent.relative_to(source)))
        for path in _files(source)
        if path.suffix not in {".py", ".pyc", ".pyi"}
    ]


def script_modules() -> list[str]:
    """The standard library's modules that a way's script may import."""
    from PyInstaller.utils.hooks import collect_submodules

    found = [name for name in sorted(sys.stdlib_module_names - NOT_FOR_SCRIPTS) if _importable(name)]
    for name in _DEEP:
        found += collect_submodules(name)
    return found


def modules_by_name() -> list[str]:
    """The modules of libraries that no import statement mentions."""
    from PyInstaller.utils.hooks import collect_submodules

    return [name for package in _BY_NAME for name in collect_submodules(package)]


def excluded() -> list[str]:
    """The modules that are left out."""
    from PyInstaller.utils.hooks import collect_submodules

    found = [name for package in _PYGMENTS for name in collect_submodules(package)]
    return [*EXCLUDED, *(name for name in found if name not in {*_PYGMENTS, *_PYGMENTS_KEPT})]


def _importable(name: str) -> bool:
    """True for a module that this platform's standard library really has (the list is of all platforms)."""
    import importlib.util

    return importlib.util.find_spec(name) is not None


def _files(source: Path) -> list[Path]:
    skipped = source / PAYLOAD
    return [
        path
        for package in PACKAGES
        for path in sorted((source / package).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and skipped not in path.parents
    ]
