"""The shipped payload as the tests see it: files, ways and checks, parsed by the program's own parser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import projection
from ways.catalogue.frontmatter import parse_check, parse_way
from ways.catalogue.way import CORE, Broken, Check, Way

PAYLOAD = Path(projection.__file__).parent / "payload"
HOOKS = PAYLOAD / "hooks"
WAYS = HOOKS / "ways"
PROMPTS = Path(__file__).parents[2] / "fixtures" / "prompts"


def files() -> list[Path]:
    """Every shipped file."""
    return sorted(path for path in PAYLOAD.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def way_files() -> list[Path]:
    """Every Markdown file that is a way by its name."""
    return [path for path in files() if path.suffix == ".md" and path.stem == path.parent.name]


def check_files() -> list[Path]:
    """Every check file."""
    return [path for path in files() if path.name.endswith(".check.md")]


def way_id(path: Path) -> str:
    """The id of the way in whose folder a file lies."""
    return path.parent.relative_to(WAYS).as_posix()


def parsed_way(path: Path) -> Way | Broken:
    """The way in a file."""
    return parse_way(path.read_bytes(), way_id(path), str(path), CORE, siblings=os.listdir(path.parent))


def parsed_check(path: Path) -> Check | Broken:
    """The check in a file."""
    return parse_check(path.read_bytes(), way_id(path), str(path), CORE)


def ways() -> list[Way]:
    """All shipped ways; one that cannot be used is an AssertionError."""
    found = [parsed_way(path) for path in way_files()]
    broken = [way for way in found if isinstance(way, Broken)]
    assert not broken, broken
    return [way for way in found if isinstance(way, Way)]


def scripts(name: str) -> list[Path]:
    """Every `macro.py` or `postcheck.py`."""
    return [path for path in files() if path.name == name]


def python() -> list[str]:
    """How the program runs a Python script of a way when it is not frozen."""
    return [sys.executable, "-I", "-X", "utf8"]
