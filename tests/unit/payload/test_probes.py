"""The committed probe corpus and the prompt suite name real ways and are large and mixed enough."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import ways.matching
from tests.unit.payload import shipped

PROBES = Path(ways.matching.__file__).parent / "calibration_probes.jsonl"
SUITE = shipped.PROMPTS / "suite.jsonl"
EMBEDDED = {way.id for way in shipped.ways() if way.description}
IDS = {way.id for way in shipped.ways()}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_probes_are_enough_and_balanced() -> None:
    probes = rows(PROBES)
    assert len(probes) >= 500
    relevant = sum(probe["relevant"] for probe in probes)
    assert 0.4 <= relevant / len(probes) <= 0.6


def test_every_probe_is_well_formed_and_there_once() -> None:
    probes = rows(PROBES)
    for probe in probes:
        assert set(probe) == {"text", "way", "relevant"}
        assert probe["text"].strip()
        assert probe["way"] in EMBEDDED
        assert isinstance(probe["relevant"], bool)
    assert len({(probe["text"], probe["way"]) for probe in probes}) == len(probes)


def test_every_embedded_way_has_probes_of_both_kinds() -> None:
    for relevant in (True, False):
        counted = Counter(probe["way"] for probe in rows(PROBES) if probe["relevant"] is relevant)
        assert {way for way in EMBEDDED if counted[way] < 2} == set()


def test_the_suite_is_well_formed_and_mixed() -> None:
    prompts = rows(SUITE)
    assert len(prompts) >= 200
    for row in prompts:
        assert set(row) == {"prompt", "expect", "allow", "kind", "split"}
        assert row["prompt"].strip()
        assert set(row["expect"]) | set(row["allow"]) <= IDS
        assert not set(row["expect"]) & set(row["allow"])
        assert (row["expect"] == []) == (row["kind"] == "negative")
    assert len({row["prompt"] for row in prompts}) == len(prompts)
    kinds = Counter(row["kind"] for row in prompts)
    assert set(kinds) == {"single", "multi", "short", "negative"}
    assert kinds["negative"] >= len(prompts) // 3
    assert set(Counter((row["kind"], row["split"]) for row in prompts)) == {
        (kind, split) for kind in kinds for split in ("tune", "validate")
    }


def test_suite_and_probes_share_no_text() -> None:
    shared = {row["prompt"] for row in rows(SUITE)} & {probe["text"] for probe in rows(PROBES)}
    assert shared == set()


def test_the_suite_asks_for_most_ways() -> None:
    asked = {way for row in rows(SUITE) for way in row["expect"]}
    assert len(asked & EMBEDDED) >= 0.9 * len(EMBEDDED)
