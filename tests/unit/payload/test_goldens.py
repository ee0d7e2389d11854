"""The golden prompts of the shipped ways: each way that is matched by meaning has both, and they are its own.

Whether they show their way is tried on the real model in tests/e2e/test_accuracy.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ways.matching
from projection import payload_manifest
from tests.unit.payload import shipped
from ways.authoring import goldens
from ways.catalogue.cache import load
from ways.catalogue.way import CORE, Way, WayRoots
from ways.embedding import sources

PROBES = Path(ways.matching.__file__).parent / "calibration_probes.jsonl"


@pytest.mark.parametrize("way", [way for way in shipped.ways() if way.embeddable], ids=lambda way: way.id)
def test_both_prompts_are_there_and_the_situation_does_not_name_the_subject(way: Way) -> None:
    assert list(goldens.examine(way, asked=True, trial=None)) == []


def prompts() -> list[str]:
    found = []
    for path in shipped.files():
        if path.name.endswith(goldens.ENDING):
            found += [json.loads(line)["prompt"] for line in path.read_text("utf-8").splitlines()]
    return found


def test_golden_prompts_are_used_nowhere_else() -> None:
    """What fits the thresholds or judges the matcher cannot be what each way is proven with."""
    known: set[str] = {json.loads(line)["text"] for line in PROBES.read_text("utf-8").splitlines()}
    for name, field in (("suite.jsonl", "prompt"), ("commands.jsonl", "text"), ("quiet.jsonl", "text")):
        lines = (shipped.PROMPTS / name).read_text("utf-8").splitlines()
        known |= {json.loads(line)[field] for line in lines}
    assert known & set(prompts()) == set()
    assert len(set(prompts())) == len(prompts())


def test_a_golden_file_stands_beside_its_way() -> None:
    beside = {path for path in shipped.files() if path.name.endswith(goldens.ENDING)}
    assert beside == {Path(goldens.path_of(way)) for way in shipped.ways() if way.embeddable}


def test_golden_files_are_shipped_and_are_neither_ways_nor_embedded(tmp_path: Path) -> None:
    listed = {file.path for file in payload_manifest.compute(str(shipped.PAYLOAD)).files}
    names = {
        path.relative_to(shipped.PAYLOAD).as_posix()
        for path in shipped.files()
        if path.name.endswith(goldens.ENDING)
    }
    assert names <= listed
    catalogue = load(WayRoots(core=str(shipped.WAYS)), str(tmp_path))
    assert {way.id for way in catalogue.ways} == {way.id for way in shipped.ways()}
    assert catalogue.broken == ()
    place = sources.Root(CORE, "core", str(shipped.WAYS))
    embedded = " ".join(f"{text.alias} {text.body}" for text in sources.texts((place,)))
    assert [prompt for prompt in prompts() if prompt in embedded] == []
