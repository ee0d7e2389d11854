"""Properties of matching that hold for any text, any scores and any set of ways."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.matching.helpers import way
from ways.catalogue.patterns import Searcher
from ways.matching.candidates import Switches, is_enabled
from ways.matching.chunks import chunks
from ways.matching.envelopes import is_envelope
from ways.matching.keyword import find, keyword_surface
from ways.matching.mask import mask
from ways.matching.match import match
from ways.matching.order import order_hits
from ways.matching.reduce import budget, reduce_for_embed
from ways.matching.sentences import split
from ways.matching.types import (
    COMMAND,
    FILE,
    PROMPT,
    QUEUED,
    TASK,
    Candidate,
    Hit,
    KeywordHit,
    LaneScores,
    Scores,
    Tuning,
)

SURFACES = [PROMPT, QUEUED, TASK, COMMAND, FILE]
# Any code point, lone surrogates and NUL included, and pieces that parsers trip over.
ANY_TEXT = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=30),
        st.sampled_from(
            [
                "```",
                "~~~",
                "````\n",
                "\n```",
                "http://x",
                "https://",
                "://",
                ". ",
                "e.g. ",
                "1. ",
                "。",
                "\r\n",
            ]
        ),
    ),
    max_size=40,
).map("".join)
SEGMENT = st.sampled_from(["a", "b", "c", "d"])
WAY_ID = st.lists(SEGMENT, min_size=1, max_size=4).map("/".join)
NUMBER = st.one_of(st.floats(-1, 1), st.sampled_from([float("nan"), float("inf"), float("-inf")]))


@given(ANY_TEXT)
def test_mask_keeps_every_position_and_the_rest(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert all(after in (before, " ") for before, after in zip(text, masked, strict=True))
    assert masked.count("\n") == text.count("\n")
    if "```" not in text and "~~~" not in text and "://" not in text:
        assert masked == text


@given(ANY_TEXT)
def test_sentences_keep_every_word_in_order(text: str) -> None:
    assert "".join("".join(split(text)).split()) == "".join(text.split())
    assert all(sentence and sentence == sentence.strip() for sentence in split(text))


@given(st.one_of(ANY_TEXT, ANY_TEXT.map(lambda text: text * 30)), st.sampled_from(SURFACES))
def test_reduction_is_within_budget_and_in_order(text: str, surface: str) -> None:
    reduced = reduce_for_embed(text, surface)
    assert len(reduced) <= max(budget(surface), 0)
    assert reduce_for_embed(text, surface) == reduced
    if len(text) <= budget(surface):
        assert reduced == text
        return
    assert bool(reduced.strip()) == bool(text.strip())
    letters = iter("".join(text.split()))
    assert all(letter in letters for letter in "".join(reduced.split())), "not a subsequence of the text"


@given(ANY_TEXT)
def test_chunks_are_few_and_long_enough(text: str) -> None:
    found = chunks(text)
    assert len(found) <= 12
    assert all(len(chunk) >= 12 for chunk in found)


@given(ANY_TEXT)
def test_no_text_makes_the_keyword_channel_raise(text: str) -> None:
    is_envelope(text)
    ways = [
        way("a", pattern=r"\bgit\b", commands="^git", files="/x"),
        way("b", pattern=".", pattern_strict=True),
        way("c", pattern="(", commands="["),
    ]
    with Searcher() as searcher:
        for surface in SURFACES:
            for hit in find(keyword_surface(surface, text, text), ways, searcher.search):
                assert hit.span in text or surface == FILE or hit.span in mask(text)


@st.composite
def scans(draw):
    ids = sorted(draw(st.sets(WAY_ID, max_size=10)), key=lambda way_id: way_id.split("/"))
    ways = [way(way_id, description=draw(st.sampled_from(["x", ""]))) for way_id in ids]
    candidates = [Candidate(each, draw(st.booleans())) for each in ways if draw(st.booleans())]
    hits = [KeywordHit(each, "keyword", "s", draw(st.booleans())) for each in ways if draw(st.booleans())]
    row = st.dictionaries(st.sampled_from([f"core:{way_id}" for way_id in ids] or ["core:a"]), NUMBER)
    fit = st.one_of(st.none(), st.tuples(st.floats(0.1, 50), st.floats(-20, 20)))

    def lane():
        count = draw(st.integers(0, 4))
        return LaneScores(
            draw(fit), draw(row), [draw(row) for _ in range(count)], [draw(row) for _ in range(count)]
        )

    scores = Scores(*(lane() if draw(st.booleans()) else None for _ in range(2)))
    return draw(st.sampled_from(SURFACES)), hits, candidates, scores


@settings(max_examples=300)
@given(scans(), st.booleans())
def test_a_verdict_is_consistent(scan, with_rescore: bool) -> None:
    surface, hits, candidates, scores = scan
    calls = []

    def rescore() -> Scores:
        calls.append(1)
        return scores

    verdict = match(surface, hits, candidates, scores, Tuning(), rescore if with_rescore else None)
    allowed = {candidate.way.id for candidate in candidates}
    fired = [hit.way.id for hit in verdict.hits]
    gated = {each.way.id for each in verdict.gated}
    missed = {each.way.id for each in verdict.near_misses}
    assert len(calls) <= 1
    assert len(fired) == len(set(fired))
    assert set(fired) | gated | missed <= allowed
    assert not set(fired) & gated and not set(fired) & missed
    asked = {hit.way.id for hit in hits} & allowed
    assert {hit.way.id for hit in verdict.hits if hit.explicit} | gated >= asked - set(fired)
    assert all(hit.boosted_by in {"", *fired} for hit in verdict.hits)
    assert verdict.hits == order_hits(verdict.hits)
    assert match(surface, hits, candidates, scores, Tuning(), rescore if with_rescore else None) == verdict


@given(
    st.dictionaries(
        WAY_ID, st.tuples(st.booleans(), st.one_of(NUMBER, st.sampled_from([0.5, 0.25]))), max_size=12
    ),
    st.randoms(),
)
def test_the_order_is_total_and_deterministic(chosen, random) -> None:
    hits = [Hit(way(way_id), "t", explicit, score) for way_id, (explicit, score) in chosen.items()]
    ordered = order_hits(hits)
    assert sorted(hit.way.id for hit in ordered) == sorted(chosen)
    random.shuffle(hits)
    assert [hit.way.id for hit in order_hits(hits)] == [hit.way.id for hit in ordered]
    explicit = [hit.explicit for hit in ordered]
    assert explicit == sorted(explicit, reverse=True)
    place = {(hit.way.id, hit.explicit): index for index, hit in enumerate(ordered)}
    for hit in ordered:
        for parent in hit.way.parent_ids:
            assert place.get((parent, hit.explicit), -1) < place[(hit.way.id, hit.explicit)]


@given(WAY_ID, st.dictionaries(st.one_of(WAY_ID, WAY_ID.map(lambda way_id: way_id + "/*")), st.booleans()))
def test_the_entry_for_the_way_itself_wins(way_id: str, project: dict[str, bool]) -> None:
    answer = is_enabled(way_id, Switches(frozenset(), project))
    if way_id in project:
        assert answer is project[way_id]
    elif not any(key.endswith("/*") and way_id.startswith(key[:-1]) for key in project):
        assert answer
