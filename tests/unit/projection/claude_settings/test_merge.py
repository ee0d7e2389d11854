"""The merge itself, sentence by sentence of the specification's section on settings.json."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from projection.claude_settings import base as bases
from projection.claude_settings import slices
from projection.claude_settings.base import Base
from projection.claude_settings.slices import EMPTY
from tests.unit.projection.claude_settings.helpers import TARGET, block, hook, loads, ours, recogniser, run

PROMPT = hook("ways/check-prompt.sh", timeout=15)["command"]
BASH = hook("ways/check-bash-pre.sh")["command"]


def commands(document: Any, event: str) -> list[str]:
    return [entry["command"] for group in document["hooks"].get(event, []) for entry in group["hooks"]]


def one(command: str, matcher: str | None = None, **fields: Any) -> dict[str, Any]:
    group: dict[str, Any] = {} if matcher is None else {"matcher": matcher}
    return {**group, "hooks": [{"type": "command", "command": command, **fields}]}


def settings(event: str, *groups: dict[str, Any], **rest: Any) -> str:
    return json.dumps({**rest, "hooks": {event: list(groups)}}, indent=2)


def only_prompt(timeout: int = 15, **fields: Any) -> slices.Slice:
    entry = {**hook("ways/check-prompt.sh", timeout=timeout), **fields}
    return slices.from_block({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}})  # type: ignore[dict-item]


def test_theirs_come_first_and_ours_stay_where_they_are() -> None:
    merged = run(settings("UserPromptSubmit", one("mine")), only_prompt())
    document = loads(merged.after)
    assert commands(document, "UserPromptSubmit") == ["mine", PROMPT]
    document["hooks"]["UserPromptSubmit"].append(one("later"))  # type: ignore[index]
    text = json.dumps(document)
    again = run(text, only_prompt(), merged.base)
    assert again.after == text.encode()
    assert again.report.lines() == []


def test_union_of_events_keeps_unknown_ones_and_unknown_fields() -> None:
    theirs = {
        "future": {"x": [1.0]},
        "hooks": {
            "BrandNew": [{"hooks": [{"type": "http", "url": "u", "z": None}], "note": True}],
            "UserPromptSubmit": [{"hooks": [{"type": "prompt", "prompt": "p"}], "extra": {"a": 1}}],
        },
    }
    merged = run(json.dumps(theirs), ours())
    document: Any = loads(merged.after)
    assert document["future"] == theirs["future"]
    assert document["hooks"]["BrandNew"] == theirs["hooks"]["BrandNew"]  # type: ignore[index]
    assert document["hooks"]["UserPromptSubmit"][0] == theirs["hooks"]["UserPromptSubmit"][0]  # type: ignore[index]
    assert list(document["hooks"]) == ["BrandNew", "UserPromptSubmit", "PreToolUse"]


def test_what_this_release_no_longer_ships_is_removed_with_and_without_a_base() -> None:
    old = settings("Stop", one(f"{TARGET}/hooks/ways/old-adapter.sh"), one("mine"))
    for base in (None, Base("")):
        merged = run(old, only_prompt(), base)
        assert commands(loads(merged.after), "Stop") == ["mine"]
        assert len(merged.report.removed) == 1
    alone = run(settings("Stop", one(f"{TARGET}/hooks/ways/old-adapter.sh")), only_prompt())
    assert list(loads(alone.after)["hooks"]) == ["UserPromptSubmit"]  # type: ignore[index, call-overload]


def test_an_entry_that_only_the_base_knows_is_removed_when_deprecated() -> None:
    strange = slices.from_block({"hooks": {"Stop": [one("/opt/tool --ours")]}})
    first = run("{}", strange)
    second = run(first.after, only_prompt(), first.base)
    assert "Stop" not in loads(second.after)["hooks"]  # type: ignore[index]
    without = run(first.after, only_prompt())
    assert commands(loads(without.after), "Stop") == ["/opt/tool --ours"]


def test_an_entry_that_the_user_had_before_is_never_removed() -> None:
    theirs = settings("Stop", one("/opt/tool --ours", timeout=3, own=1))
    strange = slices.from_block({"hooks": {"Stop": [one("/opt/tool --ours", timeout=9)]}})
    merged = run(theirs, strange)
    assert merged.after == theirs.encode()
    again = run(theirs, strange, merged.base)
    assert (again.after, again.base) == (merged.after, merged.base)
    assert run(theirs, only_prompt(), merged.base).report.removed == []
    assert run(theirs, EMPTY, merged.base).after == theirs.encode()


def test_a_mixed_group_is_split_and_the_users_part_keeps_its_bytes() -> None:
    mine = '{"type":"command", "command" : "mine",  "n": 1.50}'
    theirs = (
        '{"hooks": {"UserPromptSubmit": [{"matcher":"x", "hooks":[' + mine + ', {"type": "command",'
        ' "command": "~/.claude/hooks/ways/check-prompt.sh", "timeout": 99, "own": [1, 2]}], "q":  1}]}}'
    )
    merged = run(theirs, only_prompt())
    text = (merged.after or b"").decode()
    assert '{"matcher":"x", "hooks":[' + mine + '], "q":  1}' in text
    groups: Any = loads(merged.after)["hooks"]["UserPromptSubmit"]  # type: ignore[index]
    assert groups[1] == {"hooks": [{"type": "command", "command": PROMPT, "timeout": 99, "own": [1, 2]}]}
    assert len(merged.report.replaced) == 1
    assert (
        run(merged.after, EMPTY, merged.base).after
        == theirs.replace(theirs[theirs.index(', {"type"') : theirs.index('], "q"')], "").encode()
    )


def test_healing_restores_ours_and_leaves_what_the_user_put_on_it() -> None:
    first = run("{}", ours(permissions=False))
    document: Any = loads(first.after)
    group = document["hooks"]["PreToolUse"][0]
    group["matcher"] = "Bash"
    group["note"] = "kept"
    entry = group["hooks"][0]
    entry.update({"timeout": 77, "async": True, "args": ["x"]})
    del entry["type"]
    healed = run(json.dumps(document, indent=2), ours(permissions=False), first.base)
    group = loads(healed.after)["hooks"]["PreToolUse"][0]  # type: ignore[index]
    assert group == {
        "matcher": "Bash|PowerShell",
        "note": "kept",
        "hooks": [{"type": "command", "command": BASH, "timeout": 77, "async": True}],
    }
    assert len(healed.report.healed) == 1
    assert healed.report.added == []


def test_a_timeout_of_ours_follows_the_release_and_a_users_does_not() -> None:
    first = run("{}", only_prompt(15))
    assert b'"timeout": 15' in (first.after or b"")
    newer = run(first.after, only_prompt(20), first.base)
    assert b'"timeout": 20' in (newer.after or b"")
    theirs = (first.after or b"").replace(b'"timeout": 15', b'"timeout": 15.5')
    assert run(theirs, only_prompt(20), first.base).after == theirs
    same = (first.after or b"").replace(b'"timeout": 15', b'"timeout": 1.5e1')
    assert run(same, only_prompt(15), first.base).after == same
    stripped = (first.after or b"").replace(b',\n            "timeout": 15', b"")
    assert stripped != first.after
    assert run(stripped, only_prompt(15), first.base).after == first.after
    assert run(first.after, only_prompt(20)).after == first.after, "without a base it may be the user's"


def test_an_optional_field_that_a_release_drops_goes_unless_the_user_changed_it() -> None:
    first = run("{}", only_prompt(statusMessage="hm"))
    dropped = run(first.after, only_prompt(), first.base)
    assert "statusMessage" not in (dropped.after or b"").decode()
    theirs = (first.after or b"").replace(b'"hm"', b'"mine"')
    assert run(theirs, only_prompt(), first.base).after == theirs


@pytest.mark.parametrize("matcher", ["", "*"])
def test_a_matcher_that_means_everything_is_no_reason_to_write(matcher: str) -> None:
    first = run("{}", only_prompt())
    document: Any = loads(first.after)
    document["hooks"]["UserPromptSubmit"][0]["matcher"] = matcher
    text = json.dumps(document)
    assert run(text, only_prompt(), first.base).after == text.encode()


def test_a_matcher_put_on_a_group_of_ours_is_taken_off_again() -> None:
    first = run("{}", only_prompt())
    document: Any = loads(first.after)
    document["hooks"]["UserPromptSubmit"][0]["matcher"] = "x"
    healed = run(json.dumps(document, indent=2) + "\n", only_prompt(), first.base)
    assert loads(healed.after) == loads(first.after)
    document["hooks"]["UserPromptSubmit"][0].pop("matcher")
    wanted = slices.from_block(
        {"hooks": {"UserPromptSubmit": [{"matcher": "m", **block()["hooks"]["UserPromptSubmit"][0]}]}}
    )  # type: ignore[index, dict-item, arg-type]
    assert (
        loads(run(json.dumps(document), wanted, first.base).after)["hooks"]["UserPromptSubmit"][0]["matcher"]
        == "m"
    )  # type: ignore[index]


def test_disjoint_hooks_of_one_group_of_ours_are_completed_in_place() -> None:
    text = settings("UserPromptSubmit", one("~/.claude/hooks/ways/check-state.sh"), one("mine"))
    merged = run(text, ours(permissions=False))
    groups: Any = loads(merged.after)["hooks"]["UserPromptSubmit"]  # type: ignore[index]
    assert [len(group["hooks"]) for group in groups] == [2, 1]
    assert set(commands(loads(merged.after), "UserPromptSubmit")[:2]) == {
        PROMPT,
        hook("ways/check-state.sh")["command"],
    }


def test_a_shell_entry_that_became_an_exec_entry_is_one_entry() -> None:
    exe = {"type": "command", "command": f"{TARGET}/bin/ways", "args": ["hook", "prompt"], "timeout": 5}
    wanted = slices.from_block({"hooks": {"UserPromptSubmit": [{"hooks": [exe]}]}})  # type: ignore[dict-item]
    theirs = settings("UserPromptSubmit", one("~/.claude/bin/ways hook prompt", timeout=5))
    merged = run(theirs, wanted)
    assert loads(merged.after)["hooks"]["UserPromptSubmit"] == [{"hooks": [exe]}]  # type: ignore[index]
    back = run(
        merged.after,
        slices.from_block({"hooks": {"UserPromptSubmit": [one(f"{TARGET}/bin/ways hook prompt")]}}),
        merged.base,
    )
    assert loads(back.after)["hooks"]["UserPromptSubmit"] == [one(f"{TARGET}/bin/ways hook prompt")]  # type: ignore[index]


# Permissions


def allow(*entries: str, **rest: Any) -> str:
    return json.dumps({"permissions": {"allow": list(entries), **rest}})


def test_the_list_law_keeps_order_and_duplicates_of_what_is_not_ours() -> None:
    wanted = slices.from_block({"permissions": {"allow": ["Bash(ways:*)", "New"], "deny": ["Read(.env)"]}})
    base = Base("", permissions={"allow": bases.Permissions(("Old", "Bash(ways:*)"), ())})
    merged = run(allow("a", "Bash(ways:*)", "b", "Old", "a", "Bash(ways:*)", ask=["q"]), wanted, base)
    assert loads(merged.after) == {
        "permissions": {
            "allow": ["a", "Bash(ways:*)", "b", "a", "New"],
            "ask": ["q"],
            "deny": ["Read(.env)"],
        }
    }
    assert (len(merged.report.removed), len(merged.report.collapsed)) == (1, 1)


def test_a_permission_that_the_user_had_stays_for_good() -> None:
    wanted = slices.from_block(
        {"permissions": {"allow": ["Bash(ways:*)"], "deny": ["Read(.env)", "Read(k)"]}}
    )
    theirs = allow("Bash(ways:*)", "x", deny=["Read(.env)"])
    merged = run(theirs, wanted)
    document: Any = loads(merged.after)
    assert document["permissions"]["deny"] == ["Read(.env)", "Read(k)"]
    assert run(merged.after, EMPTY, merged.base).after == theirs.encode()
    narrower = slices.from_block({"permissions": {"deny": ["Read(k)"]}})
    assert loads(run(merged.after, narrower, merged.base).after) == document


def test_without_a_base_only_entries_that_name_our_program_are_ours() -> None:
    """And only where our hooks show that it was us who wrote them."""
    hooks = {"hooks": {"UserPromptSubmit": [one("~/.claude/hooks/ways/check-prompt.sh")]}}
    entries = ["Bash(ways:*)", f"Bash({TARGET}/bin/ways:*)", "Bash(ways context:*)", "Read(.env)"]
    left = run(json.dumps({**hooks, "permissions": {"allow": entries, "deny": ["Read(.env)"]}}), EMPTY)
    assert loads(left.after) == {
        "permissions": {"allow": ["Bash(ways context:*)", "Read(.env)"], "deny": ["Read(.env)"]}
    }
    untouched = allow(*entries)
    assert run(untouched, EMPTY).after == untouched.encode()


def test_a_permission_of_another_machine_is_replaced() -> None:
    merged = run(allow("Bash(/Users/x/.claude/bin/ways:*)", "z"), ours())
    assert loads(merged.after)["permissions"]["allow"] == ["z", f"Bash({TARGET}/bin/ways:*)", "Bash(ways:*)"]  # type: ignore[index]


# Containers and files


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{ }",
        "{\n}",
        "{\n\n\t}\n",
        '{"a":1}',
        '{"a":1 }\n\n',
        '{ "a" : 1 , "b":[ ] }',
        '{\n  "hooks": {}\n}',
        '{\n  "hooks": { \n }, "permissions": {"allow": [ ], "deny":[\n]}\n}\n',
        '{"hooks":{"UserPromptSubmit":[ ],"PreToolUse":[\t]}}',
        '{"permissions":{}}',
        '{"permissions": {"ask": []}, "hooks": {"Stop": []}}',
        '\ufeff{\r\n    "a": [\r\n        1\r\n    ]\r\n}\r\n',
        '{\n\t"hooks": {\n\t\t"UserPromptSubmit": [\n\t\t\t{"hooks": []}\n\t\t]\n\t}\n}',
        '\n\n  {"deep": {"x": [[1,\n2]]}}  \n',
        '{"a": 1,\n"b": 2}',
        '{\r"a": 1\r}',
        json.dumps({"hooks": {"UserPromptSubmit": [one("mine")]}}, indent=4),
        json.dumps({"hooks": {"UserPromptSubmit": [one("mine")]}}),
        json.dumps({"permissions": {"allow": ["x"], "deny": ["y", "z"]}}, indent=1),
    ],
)
def test_withdrawing_gives_the_original_bytes(text: str) -> None:
    wanted = slices.from_block(
        {**block(), "permissions": {"allow": ["Bash(ways:*)"], "deny": ["Read(.env)"]}}
    )  # type: ignore[dict-item]
    merged = run(text, wanted)
    assert merged.after != text.encode()
    second = run(merged.after, wanted, merged.base)
    assert (second.after, second.base) == (merged.after, merged.base)
    assert run(merged.after, EMPTY, merged.base).after == text.encode()
    # A release in between that wants something else changes nothing about that.
    other = run(merged.after, only_prompt(), merged.base)
    assert run(other.after, EMPTY, other.base).after == text.encode()


def test_a_list_that_the_user_had_empty_stays_when_ours_leave_it_for_good() -> None:
    text = '{"hooks": {"PreToolUse": [ ]}}'
    merged = run(text, ours(permissions=False))
    moved = run(merged.after, only_prompt(), merged.base)
    assert loads(moved.after)["hooks"]["PreToolUse"] == []  # type: ignore[index]
    assert run(moved.after, only_prompt(), moved.base).base == moved.base


def test_a_file_that_we_made_goes_when_nothing_else_is_in_it() -> None:
    made = run(None, ours())
    assert (made.after or b"").endswith(b"}\n")
    assert made.base and made.base.created
    assert run(made.after, EMPTY, made.base).after is None
    theirs: Any = loads(made.after)
    theirs["model"] = "opus"
    kept = run(json.dumps(theirs), EMPTY, made.base)
    assert loads(kept.after) == {"model": "opus"}
    assert loads(run(made.after, EMPTY).after) == {}, "without a base it may be the user's"
    assert run(None, EMPTY).after is None
    assert run(None, EMPTY, made.base).after is None


def test_an_empty_file_of_the_users_stays() -> None:
    merged = run("{}", ours())
    assert run(merged.after, EMPTY, merged.base).after == b"{}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1}', '{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c","timeout":3}]}]}}'),
        (
            '{"a": 1, "b": 2}',
            '{"a": 1, "b": 2, "hooks": {"Stop": [{"hooks":'
            ' [{"type": "command", "command": "c", "timeout": 3}]}]}}',
        ),
        (
            '{\n\t"a":1\n}',
            '{\n\t"a":1,\n\t"hooks":{\n\t\t"Stop":[\n\t\t\t{\n\t\t\t\t"hooks":[\n\t\t\t\t\t{\n\t\t\t\t\t\t"type":"command",'
            '\n\t\t\t\t\t\t"command":"c",\n\t\t\t\t\t\t"timeout":3\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}',
        ),
    ],
)
def test_new_values_are_written_in_the_style_of_the_file(text: str, expected: str) -> None:
    wanted = slices.from_block({"hooks": {"Stop": [one("c", timeout=3)]}})
    assert (run(text, wanted).after or b"").decode() == expected


def test_letters_are_not_escaped_and_lone_surrogates_are() -> None:
    wanted = slices.from_block({"hooks": {"Stop": [one("/héme/\udc80")]}})
    merged = run("{}", wanted)
    assert "/héme/\\udc80" in (merged.after or b"").decode()
    assert run(merged.after, wanted, merged.base).after == merged.after


# The base


def test_the_base_survives_its_file_and_a_damaged_one_does_not_count() -> None:
    merged = run('{"hooks": {"PreToolUse": [ ]}}', ours())
    assert merged.base
    data = bases.to_bytes(merged.base)
    assert bases.from_bytes(data, "") == merged.base
    assert bases.from_bytes(data, "another-target") is None
    assert bases.from_bytes(data.replace(b"check-prompt", b"check-prompf"), "") is None
    for wrong in (
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"null",
        data[:-9],
        data.replace(b'"schema": 1', b'"schema": 9'),
    ):
        assert bases.from_bytes(wrong, "") is None


# What may not be written


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": "x"},
        {"hooks": []},
        {"hooks": {"Stop": {}}},
        {"hooks": {"Stop": [{"hooks": []}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": ""}]}]}},
        {"hooks": {"Stop": [{"hooks": [{"type": "prompt", "command": "x"}]}]}},
        {"hooks": {"Stop": [one("x", timeout="3")]}},
        {"hooks": {"Stop": [one("x", timeout=True)]}},
        {"hooks": {"Stop": [one("x", args=[1])]}},
        {"hooks": {"Stop": [{**one("x"), "mark": "ways"}]}},
        {"hooks": {"Stop": [{**one("x"), "matcher": 1}]}},
        {"hooks": {"Stop": [one("x"), one("x", "*")]}},
        {"permissions": {"ask": ["x"]}},
        {"permissions": {"allow": [1]}},
        {"permissions": {"allow": "x"}},
    ],
)
def test_a_block_that_claude_code_would_not_take_is_an_error(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="settings block"):
        slices.from_block(copy.deepcopy(wrong))


def test_a_block_goes_in_and_out() -> None:
    assert slices.from_block(block()).to_block() == block()  # type: ignore[arg-type]


def test_two_targets_in_one_file_leave_each_other_alone() -> None:
    """A file that two targets link to."""
    work = "/home/y/.claude-work"
    here = recogniser(others=(work,))
    there = recogniser(target=work, others=(TARGET,))
    first = run("{}", ours(permissions=False), using=here)
    both = run(first.after, ours(work, permissions=False), using=there)
    assert run(both.after, ours(permissions=False), first.base, here).after == both.after
    assert run(both.after, ours(work, permissions=False), both.base, there).after == both.after
    left = run(both.after, EMPTY, first.base, here)
    assert loads(left.after) == loads(run("{}", ours(work, permissions=False), using=there).after)
