"""The receipt: read as it was written, damaged ones refused, the history bounded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from installer import receipt
from installer.receipt import FOLDER, LINES, LINK, Edit, Receipt
from projection.system import RealSystem
from tests.unit.installer.release_world import World
from ways.core.errors import REFUSED, UserError

EDITS = (
    Edit(FOLDER, "/h/.local/bin"),
    Edit(LINK, "/h/.local/bin/ways", "/h/app/bin/ways"),
    Edit(LINES, "/h/.bashrc", "\nPATH=é\n", created=True),
)


def test_it_is_read_as_it_was_written(world: World) -> None:
    written = Receipt("1.0.0", "install.sh", "2026-01-01", "https://releases.example/", EDITS)
    receipt.save(RealSystem(), world.roots, written)
    assert receipt.load(RealSystem(), world.roots) == written
    assert Path(receipt.path(world.roots)).stat().st_mode & 0o777 == 0o600


def test_without_one_it_is_empty(world: World) -> None:
    assert receipt.load(RealSystem(), world.roots) == Receipt()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": 99}',
        '{"schema": 1, "edits": [{"kind": "link"}]}',
        '{"schema": 1, "edits": [{"kind": "link", "path": "relative"}]}',
    ],
)
def test_a_damaged_one_is_refused_and_left(world: World, text: str) -> None:
    path = Path(receipt.path(world.roots))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(UserError, match=r"receipt\.json is damaged") as caught:
        receipt.load(RealSystem(), world.roots)
    assert caught.value.exit_code == REFUSED
    receipt.note(RealSystem(), world.roots, "update", "1", "2")
    assert path.read_text() == text


def test_changes_are_noted_once_and_not_without_end(world: World) -> None:
    receipt.save(RealSystem(), world.roots, Receipt("1.0.0", edits=EDITS))
    for _ in range(2):
        receipt.note(RealSystem(), world.roots, "update", "1.0.0", "1.1.0")
    found = receipt.load(RealSystem(), world.roots)
    assert (found.version, found.edits, len(found.history)) == ("1.1.0", EDITS, 1)
    for number in range(receipt.MOST_HISTORY + 5):
        receipt.note(RealSystem(), world.roots, "update", "x", f"2.0.{number}")
    rows = json.loads(Path(receipt.path(world.roots)).read_text())["history"]
    assert len(rows) == receipt.MOST_HISTORY
    assert rows[-1]["after"] == f"2.0.{receipt.MOST_HISTORY + 4}"
