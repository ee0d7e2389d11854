"""Regexes: what they match, that none can hang a scan, and that nothing of the process is left changed."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from ways.catalogue import patterns
from ways.catalogue.literals import (
    EXPONENTIAL,
    LINEAR,
    POLYNOMIAL,
    QUADRATIC,
    analyse,
    code,
)
from ways.catalogue.patterns import Book, Deadline, DeadlinePassed, Searcher, pack, problem, unpack
from ways.catalogue.sieve import fold

posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
HOSTILE = r"(a+)+$"
BAIT = "a" * 60 + "b"


def search(source: str, text: str) -> tuple[int, int] | None:
    with Searcher() as searcher:
        return searcher.search(source, text)


def test_case_h15_patterns_ignore_case_unless_a_group_opts_back() -> None:
    assert search(r"\bssh\b", "over SSH please") == (5, 8)
    assert search(r"(?-i:SSH)", "over ssh") is None
    assert search(r"(?-i:SSH)", "over SSH") == (5, 8)


def test_case_h28_a_hostile_pattern_is_bounded() -> None:
    with Searcher(seconds=0.05) as searcher:
        assert searcher.search(HOSTILE, BAIT) is None
        assert searcher.slow == HOSTILE
        assert searcher.search("b", BAIT) is None, "what comes after the deadline is not matched"
        assert searcher.skipped == 2
    assert search("b", BAIT) == (60, 61)


@pytest.mark.parametrize(
    "source",
    [HOSTILE, r"(a|a)*$", r"(a|aa)+$", r"([a-z]+)*\d", r"(a?){25}a{25}x", r"(?:a*)*(?:a*)*c", r"^(.*a){20}$"],
)
def test_case_h28_every_kind_of_blow_up_is_interrupted(source: str) -> None:
    with Searcher(seconds=0.05) as searcher:
        searcher.search(source, "a" * 5000 + "!")
    # The assertion is that we get here at all; each of these would run for years.
    assert searcher.slow in {"", source}


@posix
def test_the_former_handler_and_timer_are_restored() -> None:
    rang = []
    former = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 30.0, 7.0)
        with Searcher(seconds=0.05) as searcher:
            searcher.search(HOSTILE, BAIT)
        left, interval = signal.getitimer(signal.ITIMER_REAL)
        assert 20.0 < left <= 30.0 and interval == 7.0
        signal.raise_signal(signal.SIGALRM)
        assert rang == [1]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, former)


@posix
def test_no_timer_is_armed_when_no_regex_runs() -> None:
    book = Book({"needle": (("needle",), LINEAR, None, 0, 0)})
    with Searcher(book) as searcher:
        assert searcher.search("needle", "haystack") is None
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert searcher.search("needle", "a Needle") == (2, 8)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0.0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@posix
def test_an_alarm_outside_a_search_raises_nothing() -> None:
    with Deadline(0.01) as deadline:
        end = time.monotonic() + 0.1
        while time.monotonic() < end:
            pass
        assert deadline.passed
        with pytest.raises(DeadlinePassed):
            deadline.call(str.upper, "x")


def test_outside_the_main_thread_risky_patterns_are_left_out_on_long_texts() -> None:
    found: dict[str, object] = {}

    def work() -> None:
        with Searcher() as searcher:
            found["hostile"] = searcher.search(HOSTILE, BAIT)
            found["slow"] = searcher.slow
            found["short"] = searcher.search(HOSTILE, "aaa")
            found["plain"] = searcher.search("b", BAIT)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == {"hostile": None, "slow": HOSTILE, "short": (0, 3), "plain": (60, 61)}


@pytest.mark.parametrize(
    ("source", "risk"),
    [
        ("commit", LINEAR),
        ("a{3}b?", LINEAR),
        (r"\bgit\s+commit", QUADRATIC),
        (".*a.*b", POLYNOMIAL),
        (HOSTILE, EXPONENTIAL),
        ("(ab|c)*d", EXPONENTIAL),
        ("(?:x?){30}", EXPONENTIAL),
        (r"(\w+\s?)+", EXPONENTIAL),
        ("a?" * 20, EXPONENTIAL),
    ],
)
def test_risk(source: str, risk: int) -> None:
    assert analyse(source)[1] == risk


@pytest.mark.parametrize(
    ("source", "literals"),
    [
        ("commit", ("commit",)),
        ("Commit", ("commit",)),
        (r"\bgit (commit|push)\b", ("git ",)),
        ("commit|push", ("commit", "push")),
        ("commit|p.*h", None),
        (r"x*", None),
        (r"(?:deploy)?", None),
        (r"(?:deploy)+", ("deploy",)),
        (r"ab(?!cde)", ("ab",)),
        (r"[ab]cdef", ("cdef",)),
        ("a", None),
        ("naïve", ("ve",)),
        (r"(?x) dep loy # note", ("deploy",)),
    ],
)
def test_required_literals(source: str, literals: tuple[str, ...] | None) -> None:
    assert analyse(source)[0] == literals


@pytest.mark.parametrize(
    ("source", "starts"),
    [
        ("commit", (("commit", 0),)),
        (r"\bgit\s+commit", (("git", 0),)),
        (r"(re)?deploy", (("deploy", 2),)),
        (r"a{2,5}bcd|x?yz", (("bcd", 5), ("yz", 1))),
        (r"\w+ing\b", None),
        (r".{0,80}deploy", None),
        (r"(\S+ )*commit", None),
    ],
)
def test_where_a_match_can_begin(source: str, starts: tuple[tuple[str, int], ...] | None) -> None:
    assert analyse(source)[2] == starts


def test_a_long_text_gives_the_same_first_match() -> None:
    text = "The deployment is done. " * 200 + "Please RE-deploy it now. " + "Deploy later. " * 50
    for source in (
        r"(re-?)?deploy\b",
        r"\bdeploy (it|later)",
        r"please\s+(\S+)",
        "(?<=done. )please",
        "absent",
    ):
        import re

        wanted = re.search(source, text, re.IGNORECASE)
        assert search(source, text) == (wanted.span() if wanted else None)


@pytest.mark.parametrize("text", ["ſsh", "SſH", "\u212aiosk", "K\u0130OSK", "kıosk"])
def test_letters_that_match_ascii_ones_when_case_is_ignored_are_folded(text: str) -> None:
    import re

    for source in ("ssh", "kiosk"):
        if re.search(source, text, re.IGNORECASE):
            assert source in fold(text)


def test_compiled_code_is_rebuilt_and_damage_falls_back_to_the_source() -> None:
    source = r"(?P<what>commit|push)\s+(\w+)"
    arguments = code(source)
    assert arguments is not None
    packed = pack(arguments)
    ready = unpack(packed)
    assert ready is not None and ready[0] == source
    row = (None, LINEAR, None, 0, len(packed))
    compiled = Book({source: row}, packed).compiled(source, Book({source: row}).row(source))
    match = compiled.search("please PUSH it")
    assert match is not None and match.group("what") == "PUSH" and match.span() == (7, 14)
    damaged = packed[:-1] + bytes([packed[-1] ^ 1])
    assert unpack(damaged) is None
    for data in (damaged, b"", b"\0\0\0\0"):
        with Searcher(Book({source: row}, data)) as searcher:
            assert searcher.search(source, "please PUSH it") == (7, 14)


def test_code_of_another_source_is_not_used() -> None:
    packed = pack(code("other") or ())
    with Searcher(Book({"mine": (None, LINEAR, None, 0, len(packed))}, packed)) as searcher:
        assert searcher.search("mine", "other") is None
        assert searcher.search("mine", "mine") == (0, 4)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("(", "position 0"),
        ("a**", "multiple repeat"),
        ("x{99999999999999999999}", "does not compile"),
        ("(" * 5000 + ")" * 5000, "does not compile"),
        ("a(?i)b", "does not compile"),
        ("[" + "".join(rf"\u{low:04x}-\uffff" for low in range(900)) + "]", "within"),
    ],
)
def test_a_source_that_cannot_be_used_says_why(source: str, words: str, monkeypatch) -> None:
    monkeypatch.setattr(patterns, "COMPILE_SECONDS", 0.03)
    why = problem(source)
    assert why.startswith("does not compile") and words in why
    assert search(source, "anything") is None


def test_a_usable_source_has_no_problem() -> None:
    assert problem(r"\bgit\s+commit\b") == ""


def test_a_warning_about_a_regex_is_not_printed(capfd) -> None:
    assert problem("[[a]]") == ""
    assert search("[[a]x", "[x") is not None
    assert capfd.readouterr() == ("", "")


def test_only_the_beginning_of_an_enormous_text_is_searched(monkeypatch) -> None:
    monkeypatch.setattr(patterns, "MAX_TEXT", 10)
    assert search("end", "0123456789 end") is None
    assert search("012", "0123456789 end") == (0, 3)


@posix
def test_the_windows_timer_declines_elsewhere() -> None:
    from windows import regex_timer

    former = signal.getsignal(signal.SIGTERM)
    assert regex_timer.arm(1.0, lambda *_: None) is None
    assert signal.getsignal(signal.SIGTERM) is former
