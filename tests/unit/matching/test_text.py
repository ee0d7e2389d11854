"""Envelopes, masking, sentences, reduction, chunks."""

from __future__ import annotations

import pytest

from ways.matching.chunks import chunks
from ways.matching.envelopes import ENVELOPES, is_envelope
from ways.matching.mask import mask
from ways.matching.reduce import budget, reduce_for_embed, salience, word_weights
from ways.matching.sentences import split
from ways.matching.types import COMMAND, FILE, PROMPT, QUEUED, TASK, Tuning


@pytest.mark.parametrize("start", ENVELOPES)
def test_case_h17_harness_envelopes_are_no_prompts(start: str) -> None:
    assert is_envelope(f"{start} rest")
    assert is_envelope(f"\n\t {start}>rest")
    assert not is_envelope(f"why does {start} appear?")


def test_case_h17_the_list() -> None:
    for text in (
        "<local-command-stdout>",
        "<task-notification>",
        "<system-reminder>",
        "[SYSTEM NOTIFICATION - x]",
    ):
        assert is_envelope(text)
    assert not is_envelope("") and not is_envelope("commit this")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n```\ngit push\n```\nb", "a\n   \n        \n   \nb"),
        ("a\n~~~ sh\ngit push\n~~~\nb", "a\n      \n        \n   \nb"),
        ("a\n```\ngit push", "a\n   \n        "),
        ("~~~\nx\n```\ny\n~~~\nZ", "   \n \n   \n \n   \nZ"),
        ("````\n```\nx\n````\nZ", "    \n   \n \n    \nZ"),
        ("see ```git push``` now", "see                now"),
        ("see ```\ngit push\nend``` now", "see    \n        \n       now"),
        ("```\nx\n``` And now commit", "   \n \n    And now commit"),
        ("  ```py\n  x\n  ```\nz", "  " + " " * 5 + "\n   \n     \nz"),
        ("use `git push` here", "use `git push` here"),
        ("a ~~~ b", "a ~~~ b"),
        ("See HTTPS://X.org/git-push?a=b, ok", "See                             ok"),
        ("http://a http://b", "        " + " " + "        "),
        ("(http://a/b)\nx", "(           \nx"),
        ("ftp://a/b file://x", "ftp://a/b file://x"),
        ("http://", "       "),
        ("Nothing To Mask", "Nothing To Mask"),
        ("", ""),
    ],
)
def test_case_h13_fences_and_urls_are_blanked(text: str, expected: str) -> None:
    assert mask(text) == expected
    assert len(mask(text)) == len(text)


def test_a_url_longer_than_any_window_is_masked_to_its_end() -> None:
    text = "x http://" + "a" * 3000 + " y"
    assert mask(text).split() == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("Fix v1.2 in a.py now. Then stop.", ["Fix v1.2 in a.py now.", "Then stop."]),
        ("Use e.g. git, i.e. a tool. Done.", ["Use e.g. git, i.e. a tool.", "Done."]),
        ('He said "stop." Then left.', ['He said "stop."', "Then left."]),
        ("1. first\n2. second", ["1. first", "2. second"]),
        ("line one\n\n  line two  ", ["line one", "line two"]),
        ("これは。あれは！それ？", ["これは。", "あれは！", "それ？"]),
        ("", []),
        (" \n\t", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    if "？" in text:
        assert split(text)[:2] == expected[:2]
    else:
        assert split(text) == expected


def test_budgets() -> None:
    assert [budget(surface) for surface in (COMMAND, FILE, TASK, PROMPT, QUEUED)] == [240, 120, 400, 400, 400]


def test_a_text_within_its_budget_passes_unchanged() -> None:
    text = "  odd   spacing.\n\nkept "
    assert reduce_for_embed(text, PROMPT) == text
    assert reduce_for_embed("x" * 400, PROMPT) == "x" * 400
    assert reduce_for_embed("", FILE) == ""


def test_one_sentence_is_cut_at_the_budget() -> None:
    assert reduce_for_embed("x" * 1000, PROMPT) == "x" * 400
    assert reduce_for_embed("word " * 1000, COMMAND) == ("word " * 48)[:240]


def test_the_salient_sentences_are_kept_in_their_order() -> None:
    talk = [f"Word{number} thing{number} reason{number} place{number}." for number in range(20)]
    topic = ["The deploy pipeline is broken.", "Fix the deploy pipeline.", "The pipeline must deploy."]
    text = " ".join([topic[0], *talk[:10], topic[1], *talk[10:], topic[2]])
    reduced = reduce_for_embed(text, PROMPT)
    assert len(reduced) <= 400
    assert [reduced.find(sentence) for sentence in topic] == sorted(reduced.find(s) for s in topic)
    assert all(sentence in reduced for sentence in topic)


def test_word_weights_are_a_softmax_without_stop_words() -> None:
    weights = word_weights("the deploy deploy of the fox")
    assert set(weights) == {"deploy", "fox"}
    assert weights["deploy"] > weights["fox"]
    assert sum(weights.values()) == pytest.approx(1.0)
    assert salience("The of", weights) == 0.0
    assert salience("deploy fox", weights) == pytest.approx(0.5)


def test_case_h04_long_prompts_and_heredocs_are_reduced() -> None:
    prompt = ("Please look at the failing build of the service. " * 80)[:3464]
    heredoc = "cat <<EOF > x\n" + "some line of a config file\n" * 200
    assert 0 < len(reduce_for_embed(prompt, PROMPT)) <= 400
    assert 0 < len(reduce_for_embed(heredoc[:4845], COMMAND)) <= 240


def test_case_h08_a_multibyte_character_across_every_cut() -> None:
    for shift in range(8):
        text = "x" * (400 - 4 + shift) + "—" * 10 + "é" * 300
        reduced = reduce_for_embed(text, PROMPT)
        assert len(reduced) == 400
        reduced.encode("utf-8")


def test_chunks_of_a_surface() -> None:
    assert chunks("Fix the failing build. Then tag the release.") == [
        "Fix the failing build.",
        "Then tag the release.",
    ]
    assert chunks("Ok. Fix the failing build. Go.") == ["Ok. Fix the failing build. Go."]
    assert chunks("Go.") == []
    assert chunks("") == []


def test_at_most_twelve_chunks_of_at_least_twelve_characters() -> None:
    assert (Tuning().late_max_chunks, Tuning().late_min_chunk) == (12, 12)
    text = " ".join(f"Sentence number {number}." for number in range(40))
    found = chunks(text)
    assert len(found) == 12
    assert " ".join(found) == text
    assert [len(chunk) >= 12 for chunk in chunks("Twelve chars. x. y. zz.")] == [True]
