"""What is true of every shipped file, whatever it is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from benchmarks import goals
from tests.unit.payload import shipped

TEXT = {".md", ".py", ".sh", ".json", ".jsonl", ".yaml"}
# A path of one person's machine. `/etc`, `/usr` and `/tmp` in a body are examples.
MACHINE = re.compile(r"(?<![\w~$.])/(home|Users|root|work)/[A-Za-z0-9._-]+")
PLACEHOLDER = re.compile(r"\b(TODO: |FIXME|XXX|lorem ipsum)\b", re.IGNORECASE)


@pytest.mark.parametrize(
    "path", shipped.files(), ids=lambda path: path.relative_to(shipped.PAYLOAD).as_posix()
)
def test_a_shipped_file_is_clean_text(path: Path) -> None:
    data = path.read_bytes()
    assert path.suffix in TEXT, "an unknown kind of file is not shipped by accident"
    assert b"\r" not in data
    assert not data.startswith(b"\xef\xbb\xbf")
    assert data.endswith(b"\n")
    text = data.decode("utf-8")
    assert MACHINE.search(text) is None
    assert PLACEHOLDER.search(text) is None
    assert not path.is_symlink()


def test_names_are_portable() -> None:
    names = {path.relative_to(shipped.PAYLOAD).as_posix() for path in shipped.files()}
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", name)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no execute bit")
def test_only_adapters_are_executable() -> None:
    for path in shipped.files():
        wanted = path.suffix == ".sh" and path.name != "require-ways.sh"
        assert bool(path.stat().st_mode & 0o111) == wanted, path


def entries() -> list[Path]:
    """The skills, agents and commands, by their Markdown files."""
    kinds = (("skills", "*/SKILL.md"), ("agents", "*.md"), ("commands", "*.md"))
    return [path for folder, pattern in kinds for path in sorted((shipped.PAYLOAD / folder).glob(pattern))]


def test_there_is_a_skill_an_agent_and_a_command() -> None:
    assert {path.relative_to(shipped.PAYLOAD).parts[0] for path in entries()} == {
        "skills",
        "agents",
        "commands",
    }


@pytest.mark.parametrize("path", entries(), ids=lambda path: path.relative_to(shipped.PAYLOAD).as_posix())
def test_a_skill_agent_or_command_says_when_to_use_it(path: Path) -> None:
    _, frontmatter, body = path.read_text(encoding="utf-8").split("---\n", 2)
    fields = yaml.safe_load(frontmatter)
    assert len(fields["description"]) > 40
    assert len(body.strip().splitlines()) > 5
    expected = path.parent.name if path.name == "SKILL.md" else path.stem
    assert fields.get("name", expected) == expected


def test_enough_is_shipped() -> None:
    assert [goal for goal in goals.inventory() if not goal.met] == []
