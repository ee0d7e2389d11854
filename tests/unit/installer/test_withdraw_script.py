"""`withdraw.sh`: out of every target although the app is gone, with nothing but a shell and awk.

Its result is compared with that of the program's own withdrawal.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from installer import safety_net
from projection.system import RealSystem
from tests.unit.projection.world import World, tree

AWKS = [name for name in ("mawk", "gawk", "original-awk", "busybox") if shutil.which(name)]
SHELLS = [name for name in ("sh", "dash", "bash", "busybox") if shutil.which(name)]

pytestmark = pytest.mark.skipif(
    os.name == "nt" or not shutil.which("awk"), reason="needs a POSIX shell and awk"
)

SETTINGS = {
    "none": None,
    "empty object": "{}",
    "small": '{\n  "model": "opus"\n}\n',
    "tabs, no final newline": '{\n\t"model": "opus",\n\t"hooks": {}\n}',
    "carriage returns": '{\r\n  "model": "opus"\r\n}\r\n',
    "a byte order mark": '\ufeff{"model": "opus"}\n',
    "hooks of the user's": json.dumps(
        {
            "hooks": {
                "UserPromptSubmit": [{"hooks": [{"type": "command", "command": 'echo "mine" \\ é'}]}],
                "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "true"}]}],
            },
            "n": [1.0, 1e3, -0.5, 12345678901234567890, True, None, "é \u2028 \\u00e9"],
        },
        ensure_ascii=False,
        indent=4,
    ),
    "empty containers": '{"hooks": {"UserPromptSubmit": [ ], "Stop": []}, "permissions": {"allow": []}}',
    "escaped": '{"a": "\\u00e9\\ud83d\\ude00\\/\\n", "permissions": {"allow": ["Bash(ls)", "Read(~/x)"]}}',
}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w", home="A B&(c)' é $x")


def withdraw(
    world: World, shell: str = "sh", awk: str = "", *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Delete the app, then run the script."""
    shutil.rmtree(world.roots.app, ignore_errors=True)
    safety_net.place(RealSystem(), world.roots)
    shutil.rmtree(world.roots.app, ignore_errors=True)
    path = os.environ["PATH"]
    if awk:
        tools = world.base / f"tools-{awk}"
        tools.mkdir(exist_ok=True)
        link = tools / "awk"
        link.unlink(missing_ok=True)
        link.symlink_to(str(shutil.which(awk)))
        path = f"{tools}:{path}"
    environ = {"HOME": str(world.home), "PATH": path}
    command = [shell, "sh"] if shell == "busybox" else [shell]
    script = Path(world.roots.state, safety_net.WITHDRAW)
    return subprocess.run(
        [*command, script, *arguments], env=environ, capture_output=True, text=True, check=False
    )


def setup(world: World, text: str | None) -> dict[str, Any]:
    world.write(".claude/CLAUDE.md", "user: notes")
    if text is not None:
        (world.target() / "settings.json").write_bytes(text.encode())
    before = tree(world.target())
    world.reconcile()
    assert b"check-prompt" in (world.target() / "settings.json").read_bytes()
    return before


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("awk", AWKS)
def test_the_target_is_as_it_was(world: World, name: str, awk: str) -> None:
    before = setup(world, SETTINGS[name])
    done = withdraw(world, awk=awk)
    assert (done.returncode, done.stderr) == (0, "")
    after = tree(world.target())
    for found in (before, after):
        if "settings.json" in found:
            data = found["settings.json"][2].decode("utf-8-sig")
            found["settings.json"] = (*found["settings.json"][:2], json.loads(data))
    assert after == before


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell(world: World, shell: str) -> None:
    before = setup(world, SETTINGS["small"])
    done = withdraw(world, shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert "is free of ways" in done.stdout
    assert tree(world.target()) == before
    assert not list(Path(world.roots.state, "projection").glob("*/record.json"))
    assert withdraw(world, shell).stdout == "ways is out of every target.\n"


def test_what_came_in_since_stays(world: World) -> None:
    setup(world, SETTINGS["small"])
    path = world.target() / "settings.json"
    live = json.loads(path.read_text())
    live["hooks"]["UserPromptSubmit"][0]["hooks"].insert(0, {"type": "command", "command": "theirs"})
    live["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "also theirs"}]}]
    path.write_text(json.dumps(live))
    world.write(".claude/skills/mine/SKILL.md", "mine")
    assert withdraw(world).returncode == 0
    left = json.loads(path.read_text())
    assert left == {
        "model": "opus",
        "hooks": {
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "theirs"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "also theirs"}]}],
        },
    }
    assert (world.target() / "skills/mine/SKILL.md").read_text() == "mine"


def test_copies_go_and_an_edited_copy_stays(world: World) -> None:
    setup(world, None)
    world.reconcile(mode="copy")
    edited = world.target() / "skills/ways/SKILL.md"
    edited.write_text("user: edited")
    done = withdraw(world)
    assert done.returncode == 3
    assert f"{edited} is not as ways wrote it" in done.stderr
    assert edited.read_text() == "user: edited"
    assert not (world.target() / "hooks").exists()
    assert not (world.target() / "settings.json").exists()


BAD = [
    "{ // comment\n}",
    '{"a": 1,}',
    '{"a": 1, "a": 2}',
    "[]",
    "{}{}",
    '{"a": "\n"}',
    "",
    '{"a": tru}',
    '{"a": 01x}',
]


@pytest.mark.parametrize("text", BAD)
def test_a_file_that_cannot_be_read_is_left_and_named(world: World, text: str) -> None:
    setup(world, None)
    path = world.target() / "settings.json"
    path.write_text(text)
    done = withdraw(world)
    assert done.returncode == 3
    assert str(path) in done.stderr and "check-prompt.sh" in done.stderr
    assert path.read_text() == text
    assert list(Path(world.roots.state, "projection").glob("*/record.json"))


def test_a_settings_file_that_is_a_link_stays_one(world: World) -> None:
    real = world.write("dotfiles/settings.json", SETTINGS["small"] or "")
    real.chmod(0o600)
    world.target().mkdir()
    (world.target() / "settings.json").symlink_to("../dotfiles/settings.json")
    world.reconcile()
    assert "check-prompt" in real.read_text()
    assert withdraw(world).returncode == 0
    assert (world.target() / "settings.json").is_symlink()
    assert real.read_text() == SETTINGS["small"]
    assert real.stat().st_mode & 0o777 == 0o600


def test_while_the_program_works_it_refers_to_it(world: World) -> None:
    setup(world, SETTINGS["small"])
    safety_net.place(RealSystem(), world.roots)
    program = Path(world.roots.app, "bin/ways")
    program.write_text("#!/bin/sh\nexit 0\n")
    before = tree(world.target())
    environ = {"HOME": str(world.home), "PATH": os.environ["PATH"]}
    script = Path(world.roots.state, safety_net.WITHDRAW)
    done = subprocess.run(["sh", script], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 3 and "ways uninstall" in done.stderr
    assert tree(world.target()) == before


def a_value(chance: random.Random, depth: int) -> Any:
    """Any JSON value."""
    kind = chance.randrange(8 if depth else 5)
    if kind == 0:
        return chance.choice([True, False, None])
    if kind == 1:
        return chance.choice([0, -1, 1.5, 1e30, 10**20])
    if kind < 5:
        return "".join(chance.choice('aé"\\/\n\t\u2028😀{}[],: ') for _ in range(chance.randrange(8)))
    if kind == 5:
        return [a_value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {f"{a_value(chance, 0)}{n}": a_value(chance, depth - 1) for n in range(chance.randrange(4))}


@pytest.mark.parametrize("seed", range(12))
def test_any_settings_come_back_as_they_were(world: World, seed: int) -> None:
    chance = random.Random(seed)
    document = {f"k{n}": a_value(chance, 3) for n in range(4)}
    if chance.random() < 0.7:
        document["permissions"] = {"allow": ["Bash(ls)"], "deny": []}
    text = json.dumps(document, ensure_ascii=chance.random() < 0.5, indent=chance.choice([None, 2, "\t"]))
    setup(world, text)
    done = withdraw(world, awk=chance.choice(AWKS))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((world.target() / "settings.json").read_bytes()) == document
