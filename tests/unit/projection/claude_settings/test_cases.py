"""Faults that users of this kind of tool met, each as the smallest test of the whole kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from projection.claude_settings.plan import plan_settings
from projection.claude_settings.slices import from_block
from projection.system import DryRunSystem, RealSystem
from projection.wiring import quoted
from tests.unit.projection.claude_settings.helpers import ADAPTERS, Place, make_place, quote
from ways.core.errors import REFUSED, UserError
from ways.core.roots import config_directory

THEIRS: dict[str, Any] = {
    "model": "opus",
    "permissions": {"allow": ["Bash(git:*)"]},
    "hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}]},
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(str(tmp_path))
    made.write(json.dumps(THEIRS, indent=2) + "\n")
    return made


def entries(place: Place) -> list[tuple[str, str]]:
    document: Any = place.json()
    return [
        (event, entry["command"])
        for event, groups in document.get("hooks", {}).items()
        for group in groups
        for entry in group["hooks"]
    ]


def count(place: Place, adapter: str) -> int:
    return sum(adapter in command for _, command in entries(place))


def test_case_s01_entries_that_another_program_dropped_come_back_and_are_reported(place: Place) -> None:
    place.apply()
    whole = place.json()
    stale = {key: value for key, value in THEIRS.items() if key != "hooks"} | {"fresh": 1}
    place.write(json.dumps(stale))
    plan = place.plan()
    assert len(plan.report.vanished) == 6
    assert "entries we wrote were removed: 6" in plan.report.lines()
    place.apply()
    document: Any = place.json()
    assert {key: document[key] for key in ("model", "fresh")} == {"model": "opus", "fresh": 1}
    assert document["permissions"] == whole["permissions"]
    assert count(place, "check-prompt") == 1
    assert place.plan().report.vanished == []


def test_case_s02_stripped_optional_fields_heal_without_doubling(place: Place) -> None:
    place.apply()
    whole = place.json()
    for _ in range(3):
        document: Any = place.json()
        for groups in document["hooks"].values():
            for group in groups:
                group["hooks"] = [
                    {key: entry[key] for key in ("command",) if key in entry} | {"type": "command"}
                    for entry in group["hooks"]
                ]
        place.write(json.dumps(document, indent=2) + "\n")
        place.apply()
        assert place.json() == whole
        assert [count(place, adapter) for adapter in ("check-prompt", "check-bash-pre")] == [1, 1]


def test_case_s03_an_exec_form_entry_is_seen_and_not_added_again(place: Place) -> None:
    program = f"{place.context.target}/bin/ways"
    entry = {"type": "command", "command": program, "args": ["hook", "prompt"], "timeout": 15}
    wanted = from_block({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}})  # type: ignore[dict-item]
    place.apply(wanted)
    written = place.read()
    assert place.apply(wanted).action == "unchanged"
    place.forget_base()
    place.apply(wanted)
    assert place.read() == written
    # Another program drops `args`, which it takes for optional: one entry, healed.
    place.write(written.replace(b'"args"', b'"argz"'))
    document: Any = place.json()
    stripped = document["hooks"]["UserPromptSubmit"][1]["hooks"][0]
    del stripped["argz"]
    place.write(json.dumps(document))
    place.apply(wanted)
    document = place.json()
    assert document["hooks"]["UserPromptSubmit"][1]["hooks"] == [entry]
    assert len(document["hooks"]["UserPromptSubmit"]) == 2


def test_case_s04_eight_copies_in_old_spellings_become_one_and_are_counted(tmp_path: Path) -> None:
    place = make_place(str(tmp_path))
    target, name = place.context.target, "hooks/ways/check-prompt.sh"
    spellings = [
        f"{target}/{name}",
        f'"{target}/{name}"',
        f"'{target}/{name}' --old-flag",
        f"~/.claude/{name}",
        f'"$HOME/.claude/{name}"',
        f"${{HOME}}/.claude/{name}",
        f"{place.context.app_root}/{name}",
        f"{place.context.app_root}/versions/0.9.0/{name} || true",
    ]
    listed = [{"type": "command", "command": spelling} for spelling in spellings]
    groups = [{"hooks": [entry]} for entry in listed[:4]]
    groups += [
        {"hooks": listed[4:6]},
        {"matcher": "*", "hooks": [{"type": "command", "command": "mine"}, *listed[6:]]},
    ]
    place.write(json.dumps({"hooks": {"UserPromptSubmit": groups}}))
    plan = place.plan(place.ours(permissions=False))
    assert len(plan.report.collapsed) == 7
    place.apply(place.ours(permissions=False))
    assert count(place, "check-prompt") == 1
    assert count(place, "mine") == 1
    assert place.plan(place.ours(permissions=False)).action == "unchanged"
    place.withdraw()
    assert entries(place) == [("UserPromptSubmit", "mine")]


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'{\n  "a": 1 // why\n}', 2, 10),
        (b'{\n  "a": 1,\n}', 2, 9),
        (b"", 1, 1),
        (b"[]", 1, 1),
        (b'{"a": ', 1, 7),
        (b'{"hooks": {"Stop": "x"}}', 1, 20),
        (b'{"a": 1, "\\u0061": 2}', 1, 10),
        (b'{"a": "\xff"}', 1, 8),
    ],
)
def test_case_s05_a_malformed_file_is_refused_by_line_and_left_as_it_is(
    place: Place, content: bytes, line: int, column: int
) -> None:
    place.write(content)
    before = place.tree()
    plan = place.plan()
    assert plan.action == "refused"
    assert plan.refusal
    assert (plan.refusal.line, plan.refusal.column) == (line, column)
    assert plan.refusal.message.startswith(f"{place.settings}:{line}:{column}: ")
    assert plan.to_json()["exit_code"] == REFUSED
    for attempt in (place.apply, place.withdraw):
        with pytest.raises(UserError) as found:
            attempt()
        assert found.value.exit_code == REFUSED
    after = {path: about for path, about in place.tree().items() if not path.endswith(".lock")}
    assert after == before


def test_case_s07_withdrawing_from_one_target_leaves_another_in_the_same_file(tmp_path: Path) -> None:
    one = make_place(str(tmp_path))
    other_path = os.path.join(one.home, ".claude-work")
    os.mkdir(other_path)
    os.symlink(one.settings, os.path.join(other_path, "settings.json"))
    one = replace(one, context=replace(one.context, others=(other_path,)))
    context = replace(
        one.context,
        target=other_path,
        key="work",
        others=(one.context.target,),
        store=one.context.store + "-work",
    )
    work = Place(one.home, context)
    one.write(json.dumps(THEIRS, indent=2))
    one.apply()
    alone = one.read()
    work.apply(work.ours(permissions=False))
    assert (one.apply().action, work.apply(work.ours(permissions=False)).action) == ("unchanged", "unchanged")
    assert count(one, "check-prompt") == 2
    work.withdraw()
    assert one.read() == alone


def test_case_s09_apply_change_apply_withdraw_is_the_original_to_the_byte(place: Place) -> None:
    original = place.read()
    place.apply()
    place.apply(place.ours(permissions=False))
    place.apply(from_block({"hooks": {"Stop": place.ours().to_block()["hooks"]["UserPromptSubmit"]}}))  # type: ignore[index, call-overload, dict-item]
    place.withdraw()
    assert place.read() == original
    assert Path(place.backups, "original.json").read_bytes() == original


_WRITER = """
import json, sys
from projection.claude_settings.apply import apply_settings
from projection.claude_settings.context import SettingsContext
from projection.claude_settings.plan import plan_settings
from projection.claude_settings.slices import EMPTY, from_block
from projection.system import RealSystem

given = json.loads(sys.stdin.read())
number, runs = given["number"], given["runs"]
others = tuple(target for n, target in enumerate(given["targets"]) if n != number)
target = given["targets"][number]
context = SettingsContext(
    target=target, key=f"t{number}", store=f"{given['state']}/{number}", locks=given["state"] + "/locks",
    app_root=given["home"] + "/app", home=given["home"], others=others,
    adapters=frozenset(["ways/check-prompt.sh"]),
)
entry = {"type": "command", "command": f'"{target}/hooks/ways/check-prompt.sh"', "timeout": 10}
ours = from_block({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}})
for run in range(runs):
    last = run == runs - 1
    wanted = EMPTY if run % 2 and not last else ours
    system = RealSystem()
    apply_settings(system, plan_settings(system, given["settings"], wanted, context), lock_seconds=60)
    json.load(open(given["settings"], encoding="utf-8"))
"""


def test_case_s11_eight_processes_write_fifty_times_each_and_nothing_is_lost(place: Place) -> None:
    """Each process is a target of its own that shares the file, and comes and goes all the time."""
    state = os.path.join(place.home, "state")
    targets = [os.path.join(place.home, f".claude-{number}") for number in range(8)]
    running = []
    root = str(Path(__file__).parents[4])
    for number in range(8):
        given = {
            "number": number,
            "runs": 50,
            "targets": targets,
            "state": state,
            "home": place.home,
            "settings": place.settings,
        }
        process = subprocess.Popen(
            [sys.executable, "-c", _WRITER], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root
        )
        assert process.stdin
        process.stdin.write(json.dumps(given).encode())
        process.stdin.close()
        running.append(process)
    for process in running:
        assert process.stderr
        message = process.stderr.read().decode()
        assert process.wait() == 0, message
        process.stderr.close()
    document: Any = place.json()
    assert {key: document[key] for key in ("model", "permissions")} == {
        key: THEIRS[key] for key in ("model", "permissions")
    }
    commands = [command for _, command in entries(place)]
    assert commands[0] == "mine"
    assert sorted(commands[1:]) == sorted(f'"{target}/hooks/ways/check-prompt.sh"' for target in targets)
    assert [name for name in os.listdir(place.context.target) if name != "settings.json"] == []


@pytest.mark.parametrize("elsewhere", ["/Users/x", "/home/other", "C:/Users/x", "/c/Users/x", "/Users/A B"])
def test_case_s14_entries_of_another_machine_are_adopted_not_doubled(place: Place, elsewhere: str) -> None:
    place.apply()
    here = place.read()
    synced = here.decode().replace(place.home, elsewhere)
    assert synced != here.decode()
    place.write(synced.replace('"timeout": 15', '"timeout": 44'))
    for forget in (False, True):
        if forget and os.path.exists(os.path.join(place.context.store, "settings-base.json")):
            place.forget_base()
        plan = place.plan()
        if not forget:
            assert len(plan.report.replaced) == 4
        place.apply()
        assert elsewhere not in place.read().decode()
        assert [count(place, name) for name in ("check-prompt", "check-state", "check-bash-pre")] == [1, 1, 1]
        assert b'"timeout": 44' in place.read()
    place.write(synced)
    place.withdraw()
    assert entries(place) == [("UserPromptSubmit", "mine")]


def test_case_s15_apply_then_withdraw_is_the_original_to_the_byte(place: Place) -> None:
    original = place.read()
    place.apply()
    assert place.read() != original
    assert place.withdraw().action == "write"
    assert place.read() == original
    assert not os.path.exists(os.path.join(place.context.store, "settings-base.json"))
    assert place.withdraw().action == "unchanged"


HOMES = ["A B&(c)' é", 'quote"d', "do$llar `tick`", "back\\slash", "semi;colon#hash", "日本語", "tab\there"]


@pytest.mark.parametrize("name", HOMES)
def test_case_s16_a_home_with_any_letters_is_recognised_and_its_commands_run(
    tmp_path: Path, name: str
) -> None:
    place = make_place(str(tmp_path), name)
    folder = os.path.join(place.context.target, "hooks", "ways")
    os.makedirs(folder)
    for adapter in ADAPTERS:
        path = os.path.join(place.context.target, "hooks", *adapter.split("/"))
        Path(path).write_text(f"#!/bin/sh\necho ran {adapter}\n")
        os.chmod(path, 0o755)
        assert quote(path) == quoted(path), "the tests quote as the projection does"
    place.apply()
    found = entries(place)
    assert len(found) == 4
    for shell in ("sh", "bash"):
        for _, command in found:
            ran = subprocess.run([shell, "-c", command], capture_output=True, text=True, check=False)
            assert (ran.returncode, ran.stderr) == (0, ""), command
            assert ran.stdout.startswith("ran ")
    place.forget_base()
    assert place.apply(place.ours(permissions=False)).action in {"unchanged", "write"}
    assert len(entries(place)) == 4
    place.withdraw()
    assert "hooks" not in place.json()


@pytest.mark.parametrize("spelling", ["absolute with spaces", "~", "relative", "empty"])
def test_case_s17_the_settings_follow_the_config_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    home = str(tmp_path / "home")
    value, folder = {
        "absolute with spaces": (f"{home}/my config", "my config"),
        "~": ("~/own", "own"),
        "relative": ("rel/dir", "rel/dir"),
        "empty": ("", ".claude"),
    }[spelling]
    place = make_place(str(tmp_path), "home", folder)
    monkeypatch.chdir(home)
    found = config_directory({"CLAUDE_CONFIG_DIR": value, "HOME": home}, home)
    assert found == place.context.target
    place.apply()
    for _, command in entries(place):
        assert command.startswith(f'"{place.context.target}/hooks/')
    # The same entry in the spelling of a home belongs to this target wherever it lies.
    text = place.read().decode().replace(place.home, "$HOME")
    place.write(text)
    place.apply()
    assert place.context.target in place.read().decode()
    assert len(entries(place)) == 4


def test_case_s19_a_plan_and_a_dry_run_touch_nothing(place: Place) -> None:
    before = place.tree()
    for system in (RealSystem(), DryRunSystem()):
        plan_settings(system, place.settings, place.ours(), place.context)
    place.apply(system=DryRunSystem())
    place.withdraw(system=DryRunSystem())
    assert place.tree() == before


def test_case_s20_a_lost_base_neither_doubles_nor_reverts(place: Place) -> None:
    original = place.read()
    place.apply()
    written = place.read()
    for _ in range(2):
        place.forget_base()
        assert place.apply().action == "unchanged"
        assert place.read() == written
    place.forget_base()
    older = from_block(
        {
            "hooks": {
                "Stop": [
                    {
                        "hooks": [
                            {
                                "type": "command",
                                "command": quote(f"{place.context.target}/hooks/ways/old-adapter.sh"),
                            }
                        ]
                    }
                ]
            }
        }
    )
    place.apply(older)
    place.forget_base()
    place.apply()
    assert sorted(entries(place)) == sorted(
        (event, entry)
        for event, entry in [
            ("UserPromptSubmit", "mine"),
            *((event, hook.command) for event, _, hook in place.ours().entries()),
        ]
    )
    place.forget_base()
    place.withdraw()
    assert json.loads(place.read()) == json.loads(original)
