"""The short cuts of a hook that shows nothing change nothing: the same payloads, with and without them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e import played_payloads
from tests.e2e.played_payloads import Left, Run
from tests.e2e.session_home import Home

ROOT = Path(__file__).resolve().parents[2]
# The hook without its short cuts: no sieve, no look at heads, every way made and asked.
LONG_WAY = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from ways.catalogue import cache, way

ways_of, Catalogue = cache.load, way.Catalogue

def load(roots, folder):
    found = ways_of(roots, folder)
    Catalogue.book = found.book  # the same compiled regexes: their time is short on a busy machine
    return Catalogue(tuple(found.ways), tuple(found.checks), found.broken, found.shadowed)

def with_trigger(self, wanted):
    return [w for w in self.ways if w.trigger and (w.trigger == way.SESSION_START or wanted(w.id, w.trigger))]

cache.load = load
Catalogue.may_match = lambda self, field, text, in_scope=None: [w for w in self.ways if getattr(w, field)]
Catalogue.with_trigger = with_trigger
from ways.lanes.dispatch import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def place(home: Home) -> Iterator[Path]:
    """The home's project, with a decision that a trigger looks for; and the ways."""
    project = home.path / "work" / "quick"
    (project / "docs/adr").mkdir(parents=True)
    (project / "docs/adr/0001-first.md").write_text("first")
    played_payloads.write_ways(home.path / ".config/agent-ways/ways")
    config = home.path / ".config/agent-ways/config.yaml"
    before = config.read_text("utf-8")
    config.write_text(before.replace("disabled_domains: [", "disabled_domains: [silent, "), "utf-8")
    yield project
    config.write_text(before, "utf-8")


def runner(home: Home, project: Path, command: list[str]) -> Run:
    """Runs a hook with this command before the lane's name."""
    environment = home.environment | {"CLAUDE_PROJECT_DIR": str(project), "WAYS_TARGET": str(home.claude)}

    def run(lane: str, data: bytes) -> bytes:
        done = subprocess.run(
            [*command, lane],
            input=data,
            env=environment,
            cwd=project,
            capture_output=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0 and not done.stderr, (lane, data[:200], done.stderr)
        return done.stdout

    return run


def played(home: Home, project: Path, command: list[str]) -> Left:
    return played_payloads.play(runner(home, project, command), home.path, project)


def test_every_payload_leaves_the_same_with_and_without_the_short_cuts(home: Home, place: Path) -> None:
    quick = played(home, place, [str(home.program), "hook"])
    shown = "".join(quick.answers)
    for way_id in ("deploy/strict", "helpers", "team", "start", "full", "adopted", "after", "always"):
        assert f"BODY OF {way_id}" in shown, way_id
    assert "BODY OF silent" not in shown and "BODY OF start/elsewhere" not in shown and "LOOK" in shown
    assert sum(not answer for answer in quick.answers) > len(quick.answers) // 2
    assert any("unknown event" in line for line in quick.debug)
    long = played(home, place, [sys.executable, "-c", LONG_WAY, str(ROOT)])
    given = played_payloads.payloads(place, home.path / "transcript.jsonl")
    for (lane, data), one, other in zip(given, quick.answers, long.answers, strict=True):
        assert one == other, (lane, data[:300])
    assert quick == long
