"""Properties of the settings merge (spec: projection, "Property tests")."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from projection.claude_settings import shape, slices, text
from projection.claude_settings.base import Base
from projection.claude_settings.merge import Merged, merge
from projection.claude_settings.ownership import Ownership
from projection.claude_settings.recognise import Recogniser
from projection.claude_settings.slices import EMPTY, Slice
from projection.claude_settings.view import users_view
from tests.property import settings_files as files
from tests.unit.projection.claude_settings.helpers import TARGET, recogniser

HERE = recogniser()
PEER = "/home/y/.claude-peer"
BLOCKS = files.our_blocks.map(slices.from_block)


def run(data: bytes | None, ours: Slice, base: Base | None = None, using: Recogniser = HERE) -> Merged:
    document = None if data is None else text.parse(data)
    return merge(document, ours, base, using.knowing(ours))


def view(data: bytes | None, base: Base | None, using: Recogniser = HERE) -> Any:
    plain = {} if data is None else text.plain(text.parse(data).root)
    return users_view(Ownership(plain, base, using))


def plain(data: bytes | None) -> Any:
    return {} if data is None else text.plain(text.parse(data).root)


@settings(max_examples=120, deadline=None)
@given(files.files(), BLOCKS, BLOCKS)
def test_idempotent_and_the_users_view_never_changes(data: bytes, first: Slice, second: Slice) -> None:
    """From any file, through two releases and a withdrawal, with the base and with the base lost."""
    base: Base | None = None
    before = data
    for ours in (first, second, EMPTY):
        using = HERE.knowing(ours)
        merged = run(before, ours, base)
        assert merged.after is not None
        shape.check(text.parse(merged.after))
        assert view(merged.after, merged.base, using) == view(before, base, using)
        again = run(merged.after, ours, merged.base)
        assert (again.after, again.base) == (merged.after, merged.base)
        lost = run(merged.after, ours, None)
        assert run(lost.after, ours, lost.base).after == lost.after
        assert _but_program_permissions(lost.after) == _but_program_permissions(merged.after)
        before, base = merged.after, merged.base


def _but_program_permissions(data: bytes | None) -> Any:
    """Without a base, a permission for our program beside hooks of ours counts as ours."""
    found = _without_empty(plain(data))
    if "permissions" in found:
        allow = [e for e in found["permissions"].pop("allow", []) if e not in files.OUR_PERMISSIONS]
        found["permissions"]["allow"] = allow
    return _without_empty(found)


@settings(max_examples=120, deadline=None)
@given(files.files(with_ours=False), BLOCKS, BLOCKS)
def test_apply_then_withdraw_is_the_original_to_the_byte(data: bytes, first: Slice, second: Slice) -> None:
    one = run(data, first)
    two = run(one.after, second, one.base)
    back = run(two.after, EMPTY, two.base)
    assert back.after == data
    assert back.base is None


@settings(max_examples=120, deadline=None)
@given(files.files(with_ours=False), files.documents(with_ours=False), BLOCKS)
def test_what_the_user_changes_in_between_is_kept(data: bytes, change: Any, ours: Slice) -> None:
    """A program writes the file anew with members of its own; withdrawing leaves just those."""
    merged = run(data, ours)
    rewritten = json.loads((merged.after or b"").decode("utf-8-sig"))
    added = {key: value for key, value in change.items() if key not in {"hooks", "permissions"}}
    rewritten.update(added)
    spelt = json.dumps(rewritten, indent=3).encode()
    withdrawn = run(spelt, EMPTY, merged.base)
    original = json.loads(data.decode("utf-8-sig"))
    original.update(added)
    assert json.loads((withdrawn.after or b"").decode()) == original


@settings(max_examples=120, deadline=None)
@given(files.files(with_ours=False), BLOCKS, BLOCKS)
def test_two_writers_commute(data: bytes, mine: Slice, theirs: Slice) -> None:
    """A peer with a slice of its own: whatever the order, the same entries, and nobody writes again."""
    peer_ours = _for_target(theirs, PEER)
    here, there = recogniser(others=(PEER,)), recogniser(target=PEER, others=(TARGET,))
    first = run(data, mine, None, here)
    first_both = run(first.after, peer_ours, None, there)
    second = run(data, peer_ours, None, there)
    second_both = run(second.after, mine, None, here)
    assert _unordered(plain(first_both.after)) == _unordered(plain(second_both.after))
    for both, ours_base, peer_base in (
        (first_both.after, first.base, first_both.base),
        (second_both.after, second_both.base, second.base),
    ):
        assert run(both, mine, ours_base, here).after == both
        assert run(both, peer_ours, peer_base, there).after == both
        left = run(both, EMPTY, ours_base, here)
        nobody = run(left.after, EMPTY, peer_base, there)
        assert _without_empty(plain(nobody.after)) == _without_empty(plain(data))


def _for_target(ours: Slice, target: str) -> Slice:
    """The slice of a peer: other commands, and permissions of its own."""
    block = json.loads(json.dumps(ours.to_block()).replace(TARGET + "/", target + "/"))
    if "permissions" in block:
        block["permissions"] = {
            name: [f"Peer({entry})" for entry in entries] for name, entries in block["permissions"].items()
        }
    return slices.from_block(block)


def _unordered(value: Any) -> Any:
    """Lists as bags and objects as sets of members: writers append behind one another."""
    if isinstance(value, dict):
        return frozenset((key, _unordered(item)) for key, item in value.items())
    if isinstance(value, list):
        return frozenset(Counter(_unordered(item) for item in value).items())
    return value


def _without_empty(document: Any) -> Any:
    """A peer cannot know which containers were empty before another one filled them."""
    found = dict(document)
    for name in ("hooks", "permissions"):
        if isinstance(found.get(name), dict):
            found[name] = {key: value for key, value in found[name].items() if value != []}
            if not found[name]:
                del found[name]
    return found


@settings(max_examples=120, deadline=None)
@given(files.files(), BLOCKS, BLOCKS, st.sampled_from(["none", "stale", "right"]))
def test_no_input_loses_an_entry_that_we_did_not_write(
    data: bytes, ours: Slice, earlier: Slice, which: str
) -> None:
    """Counted by hand, without the code that decides whose an entry is."""
    before = data
    base = None
    if which != "none":
        merged = run(data, earlier)
        before = (merged.after or b"") if which == "right" else data
        base = merged.base
    after = run(before, ours, base)
    assert _users(after.after) == _users(before)


def _users(data: bytes | None) -> Counter[str]:
    """What is certainly the user's: commands and permissions from their pool, and all other members."""
    document = json.loads((data or b"{}").decode("utf-8-sig"))
    found: Counter[str] = Counter()
    for event, groups in document.get("hooks", {}).items():
        for group in groups:
            for hook in group["hooks"]:
                if hook["command"] in files.USER_COMMANDS:
                    found[f"{event} {group.get('matcher')} {json.dumps(hook)}"] += 1
    for name, entries in document.get("permissions", {}).items():
        if name == "x":
            found[json.dumps(entries)] += 1
        elif name == "allow":
            found.update(f"{name} {entry}" for entry in entries if entry in files.USER_PERMISSIONS)
    for key, value in document.items():
        if key not in {"hooks", "permissions"}:
            found[f"{key} {json.dumps(value)}"] += 1
    return found


@settings(max_examples=120, deadline=None)
@given(files.files(), files.bases(), BLOCKS)
def test_any_base_at_all_is_survived(data: bytes, base: Base, ours: Slice) -> None:
    """A base of another file, of another time, or of nothing that ever was."""
    using = HERE.knowing(ours)
    merged = run(data, ours, base)
    assert view(merged.after, merged.base, using) == view(data, base, using)
    if merged.after is not None:
        shape.check(text.parse(merged.after))
        again = run(merged.after, ours, merged.base)
        assert (again.after, again.base) == (merged.after, merged.base)
        withdrawn = run(merged.after, EMPTY, merged.base)
        assert view(withdrawn.after, None) == view(merged.after, merged.base, using)


@settings(max_examples=80, deadline=None)
@given(files.files(), BLOCKS)
def test_every_entry_of_ours_is_there_exactly_once(data: bytes, ours: Slice) -> None:
    merged = run(data, ours)
    document = json.loads((merged.after or b"{}").decode("utf-8-sig"))
    for event, group, hook in ours.entries():
        found = [
            entry
            for theirs in document["hooks"][event]
            for entry in theirs["hooks"]
            if entry["command"] == hook.command and (theirs.get("matcher") or "*") == (group.matcher or "*")
        ]
        assert len(found) == 1
    for name in slices.OWNED_PERMISSIONS:
        for entry in ours.permissions(name):
            assert entry in document["permissions"][name]
