"""Skills, agents and commands: frontmatter as Claude Code reads it; every `ways` command in them exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from tests.unit.payload import shipped
from ways.cli.main import program
from ways.settings import registry

FIELDS = {
    "skills": {"name", "description", "allowed-tools", "model"},
    "agents": {"name", "description", "tools", "model"},
    "commands": {"description", "argument-hint", "allowed-tools", "model"},
}
TOOLS = {"Read", "Grep", "Glob", "Bash", "AskUserQuestion"}
RULE = re.compile(r"(\w+)(?:\((.*?)\))?(?:,\s*|\Z)")
# What a skill or command may do without a question: look. Everything else asks the user first.
READING = {
    "agent status",
    "author graph",
    "author lint",
    "author match",
    "author siblings",
    "author suggest",
    "author tree",
    "context",
    "corpus",
    "corpus --if-stale",
    "doctor",
    "explain",
    "reconcile --check",
    "reconcile --dry-run",
    "rollback --dry-run",
    "session fires",
    "session list",
    "session ways",
    "settings apply --dry-run",
    "settings emit",
    "settings get",
    "settings help",
    "settings lint",
    "settings list",
    "status",
    "tune language",
    "tune locale",
    "tune precision",
    "tune stats",
    "update --check",
    "update --dry-run",
}
MOST_LINES = 75


@dataclass(frozen=True)
class Entry:
    """A skill, an agent or a command."""

    kind: str
    path: Path
    fields: dict[str, Any]
    body: str


def entries() -> list[Entry]:
    found = []
    for kind, pattern in (("skills", "*/SKILL.md"), ("agents", "*.md"), ("commands", "*.md")):
        for path in sorted((shipped.PAYLOAD / kind).glob(pattern)):
            _, frontmatter, body = path.read_text(encoding="utf-8").split("---\n", 2)
            found.append(Entry(kind, path, yaml.safe_load(frontmatter), body))
    return found


each_entry = pytest.mark.parametrize(
    "entry", entries(), ids=lambda entry: entry.path.relative_to(shipped.PAYLOAD).as_posix()
)


def test_what_there_is() -> None:
    def names(kind: str) -> set[str]:
        paths = [entry.path for entry in entries() if entry.kind == kind]
        return {path.parent.name if path.name == "SKILL.md" else path.stem for path in paths}

    assert names("skills") == {
        f"ways-{name}" for name in ("authoring", "context", "localise", "settings", "testing", "update")
    }
    assert names("agents") == {"ways-architect", "ways-planner", "ways-reviewer"}
    assert names("commands") == {"ways", "ways-tests"}


@each_entry
def test_the_frontmatter_is_what_claude_code_reads(entry: Entry) -> None:
    assert set(entry.fields) <= FIELDS[entry.kind]
    assert 40 < len(entry.fields["description"]) <= 1024
    assert "<" not in entry.fields["description"], "it would be read as markup"
    if entry.kind != "commands":
        name = entry.path.parent.name if entry.kind == "skills" else entry.path.stem
        assert entry.fields["name"] == name
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 64
        assert re.search(r"\b[Uu]se (when|before|after)\b", entry.fields["description"]), "when is it for?"
    assert entry.fields.get("model", "inherit") in {"inherit", "haiku", "sonnet", "opus"}
    assert len(entry.body.strip().splitlines()) <= MOST_LINES


@each_entry
def test_only_looking_is_allowed_without_a_question(entry: Entry) -> None:
    rules = entry.fields.get("allowed-tools") or entry.fields.get("tools") or ""
    found = RULE.findall(rules)
    assert ", ".join(f"{tool}({inside})" if inside else tool for tool, inside in found) == rules
    for tool, inside in found:
        assert tool in TOOLS
        if tool == "Bash" and entry.kind != "agents":
            assert inside.startswith("ways ") and inside.endswith(":*")
            assert inside.removeprefix("ways ").removesuffix(":*") in READING


def spoken(entry: Entry) -> Iterator[str]:
    """Every `ways …` command line in the body and in the rules: in code spans, and in indented blocks."""
    for span in re.findall(r"`(ways [^`]+)`", entry.body):
        yield " ".join(span.split())
    yield from re.findall(r"^    (ways .+)$", entry.body, re.MULTILINE)
    rules = str(entry.fields.get("allowed-tools") or entry.fields.get("tools") or "")
    for _tool, inside in RULE.findall(rules):
        if inside:
            yield inside.removesuffix(":*")


def problem(line: str) -> str:
    """Why the program would not understand a command line, "" when it would. A missing argument is fine."""
    words = shlex.split(line.replace("…", ""))[1:]
    command: click.Command = program
    context = click.Context(program, info_name="ways")
    while isinstance(command, click.Group) and words:
        below = command.get_command(context, words[0])
        if below is None:
            return f"{words[0]} is no command of {context.command_path}"
        context = click.Context(below, parent=context, info_name=words.pop(0))
        command = below
    try:
        values, left, _order = command.make_parser(context).parse_args(words)
    except click.UsageError as error:
        return error.format_message()
    if left:
        return f"too many arguments: {left}"
    for parameter in command.params:
        value = values.get(str(parameter.name))
        known = parameter.type.choices if isinstance(parameter.type, click.Choice) else [value]
        if isinstance(value, str) and value not in known:
            return f"{value} is no value of {parameter.name}"
    return ""


@each_entry
def test_every_command_that_is_named_exists_with_its_options(entry: Entry) -> None:
    lines = list(spoken(entry))
    assert lines, "it is about this program"
    assert {line: problem(line) for line in lines if problem(line)} == {}


def test_a_wrong_command_is_noticed() -> None:
    assert problem("ways author lint --golden <id>") == ""
    assert "no command" in problem("ways author check")
    assert "No such option" in problem("ways author lint --everything")
    assert "too many" in problem("ways author match a b")
    assert "no value" in problem("ways author match --surface mail x")


@each_entry
def test_every_setting_that_is_named_exists(entry: Entry) -> None:
    known = {setting.key for setting in registry.SETTINGS}
    groups = {key.partition(".")[0] for key in known if "." in key}
    for key in re.findall(r"`([a-z_]+\.[a-z_.<>]+)`", entry.body):
        if key.partition(".")[0] in groups and not key.endswith(".yaml"):
            assert key in known, key
