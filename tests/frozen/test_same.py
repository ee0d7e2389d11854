"""The frozen program's hooks leave what hooks from source leave: its own way of loading modules changes
nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e import played_payloads, session_home
from tests.e2e.test_quick_path import runner
from tests.frozen.conftest import FrozenHome

pytestmark = pytest.mark.frozen


def test_every_payload_leaves_the_same_frozen_and_from_source(home: FrozenHome) -> None:
    project = home.path / "work" / "same"
    (project / "docs/adr").mkdir(parents=True)
    (project / "docs/adr/0001-first.md").write_text("first")
    played_payloads.write_ways(home.path / ".config/agent-ways/ways")
    frozen = played(home, project, home.program)
    assert "BODY OF deploy" in "".join(frozen.answers)
    source = played(home, project, session_home.PROGRAM)
    given = played_payloads.payloads(project, home.path / "transcript.jsonl")
    for (lane, data), one, other in zip(given, frozen.answers, source.answers, strict=True):
        assert one == other, (lane, data[:300])
    assert frozen == source


def played(home: FrozenHome, project: Path, program: Path) -> played_payloads.Left:
    return played_payloads.play(runner(home, project, [str(program), "hook"]), home.path, project)
