"""Engine, model or corpus missing, damaged or behind: what the prompt hook does, and what `ways status` says.

Patterns fail open, meaning is silent, one notice a session when it is the engine (case h22).
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.session_home import Home, Session, write_way
from tests.unit.embedding import parts

pytestmark = [pytest.mark.model, pytest.mark.slow]

NOTICE = "(ways: matching by meaning is off"
# Its pattern matches a word in another sense: with a sound engine the floor takes that out.
BAKING = """description: Baking sourdough bread at home
vocabulary: flour oven dough yeast
pattern: \\bproof
refire: 0"""
OTHER_SENSE = "Is there a mathematical proof that the square root of two is irrational?"
BY_MEANING = "my dough does not rise, is the yeast too old for the bread?"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with its own copies of the engine's parts, a corpus, and no shipped way in the way."""
    top = tmp_path_factory.mktemp("degraded")
    home = Home(top / "home", engine=True)
    home.extra |= {
        "WAYS_ENGINE_LIB": str(top / "lib" / "ways_native.so"),
        "WAYS_MODELS_DIR": str(top / "models"),
    }
    (top / "lib").mkdir()
    (top / "models").mkdir()
    shutil.copy(parts.library(), library(home))
    shutil.copy(parts.model_path(), model(home))
    home.ways("target", "add", str(home.claude))
    config = home.path / ".config/agent-ways/config.yaml"
    shipped = [path.name for path in (home.claude / "hooks/ways").iterdir() if path.is_dir()]
    config.write_text(config.read_text("utf-8") + f"disabled_domains: [{', '.join(shipped)}]\n", "utf-8")
    write_way(config.parent / "ways", "home/baking", BAKING, "BAKING-BODY")
    home.ways("corpus")
    yield home
    home.stop_residents()


def library(home: Home) -> Path:
    return Path(home.extra["WAYS_ENGINE_LIB"])


def model(home: Home) -> Path:
    return Path(home.extra["WAYS_MODELS_DIR"]) / "en.gguf"


def cache(home: Home) -> Path:
    return home.path / ".cache/agent-ways/user"


@pytest.fixture
def sound(home: Home) -> Iterator[Home]:
    """The home with no resident that would still know the sound files; mended after the test."""
    home.stop_residents()
    kept = home.path / "kept"
    shutil.copytree(cache(home), kept)
    yield home
    home.stop_residents()
    for place, source in ((library(home), parts.library()), (model(home), parts.model_path())):
        place.rmdir() if place.is_dir() else place.unlink(missing_ok=True)
        shutil.copy(source, place)
    shutil.rmtree(cache(home))
    kept.rename(cache(home))


@pytest.fixture
def session(sound: Home, request: pytest.FixtureRequest) -> Session:
    project = sound.path / "work" / request.node.name.replace("[", "_").replace("]", "")
    (project / ".git").mkdir(parents=True)
    return begun(sound, project)


def begun(home: Home, project: Path) -> Session:
    """A session after its start; `clear`, because a startup brings the corpus up to date."""
    session = Session(home, project)
    session.notices = True
    session.start("clear")
    return session


def state(home: Home, part: str) -> dict[str, str]:
    found = json.loads(home.ways("status", "--json"))["parts"][part]
    assert isinstance(found, dict)
    return found


def flip(path: Path, first: int, count: int = 64) -> None:
    data = bytearray(path.read_bytes())
    for at in range(first, first + count):
        data[at] ^= 0xFF
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


def triggers(home: Home, session: Session) -> list[tuple[str, str]]:
    rows = home.log("way_fired", "way_redisclosed")
    return [(row["way"], row["trigger"]) for row in rows if row["session"] == session.id]


def test_a_sound_engine_judges_both_channels_and_one_resident_serves_all(
    session: Session, sound: Home
) -> None:
    assert session.prompt(OTHER_SENSE) == "", "the floor vetoes another sense"
    assert [row["way"] for row in sound.log("way_keyword_gated") if row["session"] == session.id] == [
        "home/baking"
    ]
    assert session.prompt(BY_MEANING) == "BAKING-BODY"
    assert [trigger.split(":")[0] for _, trigger in triggers(sound, session)] == ["semantic"]
    for part in ("engine", "corpus"):
        assert state(sound, part)["problem"] == ""
    others = [Session(sound, session.project) for _ in range(4)]
    for other in others:
        other.prompt(BY_MEANING)
    assert len(sound.residents()) == 1


ENGINE: dict[str, tuple[Callable[[Home], object], str]] = {
    "no library": (lambda home: library(home).unlink(), "the embedding engine is not there"),
    "library cut short": (lambda home: cut(library(home)), "ways_native.so"),
    "library of something else": (lambda home: library(home).write_bytes(b"x" * 5000), "ways_native.so"),
    "no model": (lambda home: model(home).unlink(), "the English model is not there"),
    "model cut short": (lambda home: cut(model(home)), "en.gguf"),
    "model with a damaged header": (lambda home: flip(model(home), 0), "en.gguf"),
    "model is a folder": (lambda home: folder_instead(model(home)), "the English model"),
}


@pytest.mark.parametrize("built", [True, False], ids=["with corpus", "without"])
@pytest.mark.parametrize("name", ENGINE)
def test_case_h22_a_damaged_engine_is_one_notice_and_patterns_fail_open(
    session: Session, sound: Home, name: str, built: bool
) -> None:
    damage, why = ENGINE[name]
    damage(sound)
    if not built:
        for path in cache(sound).glob("ways-corpus-*"):
            path.unlink()
    shown = [session.prompt(text) for text in (OTHER_SENSE, BY_MEANING, OTHER_SENSE)]
    assert shown[0].startswith(f"BAKING-BODY\n\n{NOTICE}")
    assert shown[1:] == ["", "BAKING-BODY"]
    assert {trigger for _, trigger in triggers(sound, session)} == {"keyword"}
    assert sound.residents() == []
    engine = state(sound, "engine")
    assert why in engine["problem"]
    assert engine["fix"]
    assert why in sound.ways("status")
    assert NOTICE in begun(sound, session.project).prompt("hello there"), "the next session is told too"


def foreign(home: Home) -> None:
    """A sidecar of another model, sound in itself."""
    from array import array

    from ways.embedding import sidecar

    path = cache(home) / "ways-corpus-en.bin"
    entry = sidecar.Entry("core:x", False, bytes(16))
    row = array("f", [1.0, 0.0]).tobytes()
    data = sidecar.encode([entry], row, 2, model_hash="ab" * 32, corpus_hash="00" * 32, fit=(9.0, -3.0))
    path.write_bytes(data)


def bin_(home: Home) -> Path:
    return cache(home) / "ways-corpus-en.bin"


CORPUS: dict[str, tuple[Callable[[Home], object], str]] = {
    "deleted": (lambda home: bin_(home).unlink(), "not built yet"),
    "cut short": (lambda home: cut(bin_(home)), "cut short"),
    "empty": (lambda home: bin_(home).write_bytes(b""), "cut short"),
    "damaged header": (lambda home: flip(bin_(home), 16), "header"),
    "damaged tables": (lambda home: flip(bin_(home), 200), "tables"),
    "another model's": (foreign, "another build"),
    "whole cache deleted": (lambda home: shutil.rmtree(cache(home)), "not built yet"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_damaged_corpus_fails_open_is_named_and_heals(session: Session, sound: Home, name: str) -> None:
    damage, why = CORPUS[name]
    probes = cache(sound) / "ways-probes-en.bin"
    kept = probes.read_bytes()
    damage(sound)
    probes.parent.mkdir(exist_ok=True)
    probes.write_bytes(kept)  # only to spare the time of embedding them again
    assert session.prompt(OTHER_SENSE) == "BAKING-BODY", "no notice: the next session start builds it again"
    assert session.prompt(BY_MEANING) == ""
    corpus = state(sound, "corpus")
    assert why in corpus["problem"] and corpus["fix"] == "ways corpus"
    sound.ways("corpus", "--if-stale", "--quiet")  # what a session start runs
    assert state(sound, "corpus")["problem"] == ""
    assert session.prompt(OTHER_SENSE) == ""
    assert session.prompt(BY_MEANING) == "BAKING-BODY"


def test_damaged_vectors_are_named_and_healed(session: Session, sound: Home) -> None:
    flip(bin_(sound), bin_(sound).stat().st_size - 4000, 2000)
    session.prompt(BY_MEANING)  # whatever it finds, it does not fail
    assert "vectors do not match" in state(sound, "corpus")["problem"]
    sound.ways("corpus")
    assert state(sound, "corpus")["problem"] == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not JSON {", "not JSON"),
        ('{"version": 99, "lanes": {}}', "not a manifest of version"),
        ('{"version": 1, "lanes": {"en": []}}', "lanes.en"),
    ],
)
def test_a_foreign_manifest_is_named_and_matching_goes_on(
    session: Session, sound: Home, text: str, why: str
) -> None:
    (cache(sound) / "embed-manifest.json").write_text(text)
    assert session.prompt(OTHER_SENSE) == ""
    assert session.prompt(BY_MEANING) == "BAKING-BODY", "a hook reads the sidecar alone"
    assert why in state(sound, "corpus")["problem"]
    sound.ways("corpus", "--if-stale", "--quiet")
    assert state(sound, "corpus")["problem"] == ""


# Between two builds of the corpus

SAILING = """description: Sailing a dinghy in strong wind
vocabulary: sail mast tiller gusts capsize
pattern: \\bmain\\b
refire: 0"""
MAIN = "explain what the main function of a Python script does"
GUSTS = "how do I keep the dinghy from capsizing when the wind gusts?"


def test_a_new_way_fires_on_its_pattern_before_the_corpus_knows_it(session: Session, sound: Home) -> None:
    """A project whose ways no build has seen: patterns fail open, meaning comes with the build."""
    write_way(session.project / ".claude/ways", "club/sailing", SAILING, "SAILING-BODY")
    assert session.prompt(MAIN) == "SAILING-BODY"
    assert session.prompt(GUSTS) == ""
    sound.ways("corpus", "--if-stale", "--quiet", cwd=session.project)
    assert session.prompt(GUSTS) == "SAILING-BODY"
    assert session.prompt(MAIN) == "", "now it has a score"


def test_an_edited_way_is_not_vetoed_by_its_old_text(session: Session, sound: Home) -> None:
    ways = session.project / ".claude/ways"
    write_way(ways, "club/sailing", SAILING, "SAILING-BODY")
    sound.ways("corpus", "--if-stale", "--quiet", cwd=session.project)
    about = "please plan the beehive inspection"
    assert session.prompt(about) == ""
    front = "description: Keeping bees\nvocabulary: hive honey queen\npattern: \\bbeehive\nrefire: 0"
    write_way(ways, "club/sailing", front, "BEES-BODY")
    assert session.prompt(about) == "BEES-BODY"
    assert triggers(sound, session) == [("club/sailing", "keyword")]
    write_way(ways, "club/sailing", SAILING, "NEW-BODY")
    assert session.prompt(GUSTS) == "NEW-BODY", "a changed body needs no build"


def test_a_way_that_shadows_another_is_scored_by_its_own_text(session: Session, sound: Home) -> None:
    front = "description: Tuning a piano\nvocabulary: strings pitch hammers\npattern: \\bproof\nrefire: 0"
    write_way(session.project / ".claude/ways", "home/baking", front, "PIANO-BODY")
    assert session.prompt(OTHER_SENSE) == "PIANO-BODY", "not embedded yet: the pattern fails open"
    assert session.prompt(BY_MEANING) == "", "the way below is hidden, and so are its vectors"
    sound.ways("corpus", "--if-stale", "--quiet", cwd=session.project)
    assert session.prompt(OTHER_SENSE) == ""
    assert session.prompt("the piano strings are out of pitch, how are they tuned?") == "PIANO-BODY"
    assert session.prompt(BY_MEANING) == ""
    assert begun(sound, sound.path).prompt(BY_MEANING) == "BAKING-BODY"
