"""Fresh processes in rounds, with the floors beside them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from benchmarks.measure import Block, Call, Measure, Spawner, Unexpected, run, shown, silent
from benchmarks.texts import of_length, sentences

SH = shutil.which("sh") or "/bin/sh"
ENVIRONMENT = {"PATH": os.environ["PATH"]}
TRUE = Call((SH, "-c", "true"), ENVIRONMENT, "/")


def shell(script: str, stdin: bytes = b"") -> Call:
    return Call((SH, "-c", script), ENVIRONMENT, "/", stdin)


def test_a_process_gets_its_input_and_its_output_comes_back() -> None:
    with Spawner() as spawner:
        [sample] = spawner.run([shell("cat; echo wrong >&2; exit 3", b"payload " * 2_000)])
    assert sample.stdout == b"payload " * 2_000
    assert (sample.stderr, sample.code) == (b"wrong\n", 3)
    assert sample.wall_ms > 0
    assert sample.peak_kib > 0


def test_a_process_that_leaves_its_input_unread_is_measured_all_the_same() -> None:
    with Spawner() as spawner:
        assert spawner.run([shell("exit 0", b"x" * 60_000)])[0].code == 0


def test_processes_of_one_request_run_at_the_same_time(tmp_path: Path) -> None:
    # Each of the two waits until the other one has begun: one after the other they would wait for ever.
    script = f"touch {tmp_path}/$0; while ! test -e {tmp_path}/$1; do sleep 0.01; done"
    calls = [Call((SH, "-c", script, mine, its), ENVIRONMENT, "/") for mine, its in (("a", "b"), ("b", "a"))]
    with Spawner() as spawner:
        assert [sample.code for sample in spawner.run(calls)] == [0, 0]


def test_every_round_has_the_floors_and_every_call_its_own_number() -> None:
    numbers: list[int] = []
    prepared: list[int] = []

    def call(number: int) -> Call:
        numbers.append(number)
        return TRUE

    measures = (
        Measure("twice", call, copies=2),
        Measure("once", lambda number: TRUE, prepare=lambda: prepared.append(1), rounds_at_most=1),
    )
    with Spawner() as spawner:
        found = run(spawner, [Block("block", measures)], {"P": TRUE}, rounds=3, warm_up=1)
    assert len(found.rounds["twice"]) == 3
    assert len(found.rounds["once"]) == 1
    assert len(prepared) == 1
    assert len(numbers) == len(set(numbers)) == 2 * 4
    assert all(set(one.floors) == {"P"} for one in found.rounds["twice"])


def test_a_run_that_does_something_else_ends_the_measuring() -> None:
    loud = Measure("quiet", lambda number: shell("echo shown"))
    with Spawner() as spawner, pytest.raises(Unexpected, match=r"quiet: .* printed b'shown"):
        run(spawner, [Block("block", (loud,))], {}, rounds=1, warm_up=0)


def test_what_was_measured_before_ctrl_c_counts() -> None:
    def call(number: int) -> Call:
        if number >= 102 * 64:  # the third round
            raise KeyboardInterrupt
        return TRUE

    block = Block("block", (Measure("one", call),))
    with Spawner() as spawner:
        assert run(spawner, [block], {}, rounds=20, warm_up=0).count == 2
        with pytest.raises(KeyboardInterrupt):
            run(spawner, [Block("block", (Measure("one", _interrupted),))], {}, rounds=20, warm_up=0)


def _interrupted(number: int) -> Call:
    raise KeyboardInterrupt


def test_a_run_is_checked_for_what_its_name_says() -> None:
    with Spawner() as spawner:
        [quiet, failed, told] = spawner.run(
            [shell("true"), shell("exit 1"), shell("echo '{\"additionalContext\": 1}'")]
        )
    assert silent(quiet) == ""
    assert "exited with 1" in silent(failed)
    assert "printed" in silent(told)
    assert shown(told) == ""
    assert shown(quiet) == "showed nothing"


def test_the_texts_of_two_rounds_differ_and_eight_sentences_stay_within_what_is_embedded() -> None:
    for number in range(6_300, 6_400):
        eight = sentences(number, 8)
        assert eight.count(".") == 8
        assert len(eight) <= 400
        assert not set(eight.split(". ")) & set(sentences(number + 1, 8).split(". "))
    assert len(of_length(1, 20_000)) == 20_000
