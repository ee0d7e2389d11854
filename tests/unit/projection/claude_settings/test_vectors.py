"""Merges written out by hand, 500 generated files, and the shape of what we write."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import projection
from projection.claude_settings import shape, slices, text
from projection.claude_settings.base import Base, Permissions, Written
from projection.claude_settings.slices import EMPTY
from tests.unit.projection.claude_settings.helpers import HOME, loads, ours, recogniser, run

VECTORS = Path(__file__).parents[3] / "vectors" / "settings"
FOLDERS = sorted(path for path in VECTORS.iterdir() if path.is_dir())
SCHEMA = json.loads((VECTORS / "claude-hooks.schema.json").read_text())
MACHINE = recogniser(others=(f"{HOME}/.claude-work",))


def content(folder: Path, name: str) -> bytes | None:
    path = folder / name
    return path.read_bytes() if path.exists() else None


def base_of(folder: Path) -> Base | None:
    stored = content(folder, "base.json")
    if stored is None:
        return None
    plain = json.loads(stored)
    return Base(
        target="",
        created=plain.get("created", False),
        hooks=tuple(
            Written(entry["event"], entry["matcher"], entry["fields"]) for entry in plain.get("hooks", [])
        ),
        permissions={
            name: Permissions(tuple(listed["written"]), tuple(listed["user_had"]))
            for name, listed in plain.get("permissions", {}).items()
        },
        had_empty=plain.get("had_empty", {}),
    )


def test_there_are_at_least_twenty_vectors() -> None:
    assert len(FOLDERS) >= 20


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_vector(folder: Path) -> None:
    wanted = slices.from_block(json.loads((folder / "ours.json").read_bytes()))
    merged = run(content(folder, "theirs.json"), wanted, base_of(folder), MACHINE)
    expected = content(folder, "expected.json")
    assert merged.after == expected
    again = run(merged.after, wanted, merged.base, MACHINE)
    assert (again.after, again.base) == (expected, merged.base)


def test_what_we_write_is_what_claude_code_accepts() -> None:
    """From nothing, so that everything in the file is ours."""
    merged = run(None, ours())
    jsonschema.validate(loads(merged.after), SCHEMA)
    exec_form = {"type": "command", "command": "C:\\ways.exe", "args": ["hook", "stop"], "timeout": 10}
    wanted = slices.from_block(
        {"hooks": {"Stop": [{"hooks": [exec_form]}]}, "permissions": {"deny": ["Read(k)"]}}
    )  # type: ignore[dict-item]
    jsonschema.validate(loads(run(None, wanted).after), SCHEMA)


def test_the_shipped_block_is_what_claude_code_accepts() -> None:
    path = Path(projection.__file__).parent / "payload" / "settings.json"
    block = json.loads(path.read_bytes())
    jsonschema.validate(block, SCHEMA)
    assert slices.from_block(block).to_block() == block


@pytest.mark.parametrize(
    "wrong",
    [
        {"hooks": {"Stop": [{"hooks": []}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 1, "mark": 1}]}]}},
        {"hooks": {"Nonsense": []}},
        {"permissions": {"allow": ["ways"]}},
    ],
)
def test_the_schema_tells_right_from_wrong(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)


# Generated files: what people's files look like, in every layout


def _value(dice: random.Random, depth: int) -> str:
    """JSON text with blanks, number spellings and escapes that a serialiser would not produce."""
    gap = lambda: dice.choice(["", "", " ", "\n", "\t", "\n    "])  # noqa: E731
    kind = dice.randrange(8 if depth else 5)
    if kind < 2:
        return dice.choice(["1.0", "1e3", "-0", "10000000000000000000000001", "2.50", "1E-7", "true", "null"])
    if kind < 5:
        return dice.choice(
            ['"é"', '"\\u00e9"', '"\\/a"', '"😀"', '"\\ud83d\\ude00"', '"\\ud800"', '""', '"x y"']
        )
    count = dice.randrange(4)
    if kind < 7:
        members = (f'{gap()}"k{n}"{gap()}:{gap()}{_value(dice, depth - 1)}{gap()}' for n in range(count))
        return "{" + ",".join(members) + (gap() if not count else "") + "}"
    items = (gap() + _value(dice, depth - 1) + gap() for _ in range(count))
    return "[" + ",".join(items) + (gap() if not count else "") + "]"


def _hooks(dice: random.Random) -> str:
    events = dice.sample(["UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"], dice.randrange(4))
    groups = [
        [
            "{"
            + dice.choice(["", " ", "\n"])
            + f'"hooks" :[{{"command":"m{n}", "x":1.0 ,"type":"command"}}]}}'
            for n in range(dice.randrange(3))
        ]
        for _ in events
    ]
    joiner = dice.choice([",", ", ", ",\n      "])
    return (
        "{"
        + ", ".join(
            f'"{event}":[{joiner.join(listed)}]' for event, listed in zip(events, groups, strict=True)
        )
        + "}"
    )


def generated(seed: int) -> bytes:
    dice = random.Random(seed)
    members = [f'"m{n}": {_value(dice, 3)}' for n in range(dice.randrange(4))]
    if dice.random() < 0.6:
        members.append(f'"hooks": {_hooks(dice)}')
    if dice.random() < 0.5:
        lists = [
            f'"{name}": [{dice.choice(["", " ", chr(34) + "Read(x)" + chr(34)])}]'
            for name in ("allow", "deny")
        ]
        members.append('"permissions": {' + ", ".join(dice.sample(lists, dice.randrange(3))) + "}")
    dice.shuffle(members)
    indent = dice.choice(["", "  ", "    ", "\t", " \t"])
    if dice.random() < 0.3:
        body = (
            "{"
            + dice.choice(["", " "])
            + dice.choice([",", ", "]).join(members)
            + dice.choice(["", " "])
            + "}"
        )
    else:
        body = "{" + ",".join(f"\n{indent}{member}" for member in members) + "\n}"
    body += dice.choice(["", "\n", "\n\n", " \n"])
    if dice.random() < 0.3:
        body = body.replace("\n", "\r\n")
    return (("\ufeff" if dice.random() < 0.2 else "") + body).encode()


def test_500_generated_files_keep_every_byte_that_is_not_ours() -> None:
    wanted = slices.from_block(
        {**ours().to_block(), "permissions": {"allow": ["Bash(ways:*)"], "deny": ["Read(k)"]}}
    )
    for seed in range(500):
        data = generated(seed)
        merged = run(data, wanted)
        assert merged.after is not None
        document = text.parse(merged.after)
        shape.check(document)
        assert _without_inserted(data, merged.after), seed
        assert run(merged.after, wanted, merged.base).after == merged.after, seed
        assert run(merged.after, EMPTY, merged.base).after == data, seed
        assert merged.after.startswith(text.BOM) == data.startswith(text.BOM)
        if b"\r\n" in data:
            assert merged.after.count(b"\n") == merged.after.count(b"\r\n"), seed


def _without_inserted(before: bytes, after: bytes) -> bool:
    """Whether every byte of `before` but blanks stands in `after`, in order."""
    rest = iter(after)
    return all(byte in rest for byte in before if byte not in b" \t\r\n")
