"""What stops us when our own code or the machine is wrong."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import portalocker
import pytest

from projection.claude_settings import plan as planning
from projection.claude_settings.merge import Merged, merge
from projection.claude_settings.plan import Refusal
from tests.unit.projection.claude_settings.helpers import Place, make_place
from ways.core.errors import REFUSED, WRITE_FAILED, UserError

THEIRS = '{"model": "opus", "permissions": {"allow": ["Bash(git:*)"]}}'


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = make_place(str(tmp_path))
    made.write(THEIRS)
    return made


def broken(change: Callable[[dict[str, Any]], object]) -> Callable[..., Merged]:
    """A merge that does its work and then something that it must not; the merge that checks the result,
    which comes with a base, is the real one."""

    def run(*args: Any, **more: Any) -> Merged:
        merged = merge(*args, **more)
        if args[2] is not None:
            return merged
        document = json.loads(merged.after or b"{}")
        change(document)
        return replace(merged, after=json.dumps(document).encode())

    return run


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda document: document.pop("model"), "not ours would change"),
        (lambda document: document["permissions"]["allow"].remove("Bash(git:*)"), "not ours would change"),
        (lambda document: document.update(model=None), "not ours would change"),
        (lambda document: document.update(hooks=[]), "expects an object"),
        (lambda document: document["hooks"].pop("PreToolUse"), "second run"),
    ],
)
def test_a_merge_that_would_do_harm_is_never_written(
    place: Place, monkeypatch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], object], word: str
) -> None:
    monkeypatch.setattr(planning, "merge", broken(change))
    plan = place.plan()
    assert plan.action == "refused"
    assert plan.refusal
    assert plan.refusal.exit_code == REFUSED
    assert word in plan.refusal.what
    with pytest.raises(UserError):
        place.apply()
    assert place.read() == THEIRS.encode()


def test_a_file_that_holds_more_is_never_removed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        planning, "merge", lambda *args, **more: replace(merge(*args, **more), after=None, base=None)
    )
    assert place.plan().action == "refused"
    with pytest.raises(UserError):
        place.withdraw()
    assert place.read() == THEIRS.encode()


def test_a_lock_folder_that_cannot_be_made_costs_exit_5_and_changes_nothing(place: Place) -> None:
    os.makedirs(os.path.dirname(place.context.locks))
    Path(place.context.locks).write_text("in the way")
    with pytest.raises(UserError) as found:
        place.apply()
    assert found.value.exit_code == WRITE_FAILED
    assert place.read() == THEIRS.encode()


def test_case_u10_a_file_system_that_cannot_lock_costs_a_warning(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No such file system is at hand, so the library's answer to one is played."""

    def acquire(lock: portalocker.Lock[Any]) -> None:
        raise portalocker.LockException(OSError(95, "Operation not supported"), "Operation not supported")

    monkeypatch.setattr(portalocker.Lock, "acquire", acquire)
    outcome = place.apply()
    assert outcome.action == "write"
    assert any("Operation not supported" in line for line in outcome.warnings)


def test_messages_carry_no_terminal_codes() -> None:
    refusal = Refusal("/home/\x1b[31mx/settings.json", "hooks.\x1b[2J is a list\n", 3, 4)
    assert refusal.message == "/home/?[31mx/settings.json:3:4: hooks.?[2J is a list?"
    assert refusal.error().exit_code == REFUSED
