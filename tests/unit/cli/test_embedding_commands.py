"""`ways corpus`, `ways author match|siblings|suggest`, `ways tune language` in process, on real files."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil

import pytest
from click.testing import CliRunner

from tests.unit.embedding.hashing import HashingEngine, model_of
from tests.unit.embedding.test_sources import core_folder, write_way
from ways.cli import author_match, author_siblings, author_suggest, place, tune_language
from ways.cli import corpus as corpus_command
from ways.core.errors import UNVERIFIED, USAGE, WRITE_FAILED, UserError
from ways.core.roots import resolve
from ways.embedding import corpus, modelfile, multilingual, paths, projects, sidecar, sources

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
WAYS = {
    "dev/commits": (
        "Making git commits",
        "commit message amend",
        "Write the commit message in the imperative.",
    ),
    "dev/branches": ("Naming git branches", "branch message name", "A branch is named after the issue."),
    "home/cooking": ("Cooking dinner", "recipe oven vegetables", "Heat the oven before you begin to chop."),
}


@pytest.fixture
def roots(tmp_path, monkeypatch):
    for name in (
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_CONFIG_DIR",
        "XDG_CACHE_HOME",
        "XDG_STATE_HOME",
        "XDG_DATA_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in (
        "XDG_CONFIG_HOME",
        "WAYS_APP_ROOT",
        "WAYS_CONFIG_ROOT",
        "WAYS_STATE_ROOT",
        "WAYS_CACHE_ROOT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("WAYS_ENGINE_LIB", "/nonexistent/engine")
    monkeypatch.setenv("WAYS_MODELS_DIR", "/nonexistent")
    project = tmp_path / "project"
    (project / ".claude" / "ways").mkdir(parents=True)
    monkeypatch.chdir(project)
    made = resolve()
    for way_id, (description, vocabulary, body) in WAYS.items():
        path = write_way(core_folder(made), way_id, description, vocabulary, body)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if way_id == "dev/commits":
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace("vocabulary:", "pattern: '\\bcommit\\b'\nvocabulary:", 1))
    return made


@pytest.fixture
def engine_files(monkeypatch):
    """The real engine and English model, where they are built."""
    library = os.path.join(TOP, "build", "out", "lib", paths.library_name())
    models = os.path.join(TOP, "build", "out", "models")
    if not os.path.isfile(library) or not os.path.isfile(os.path.join(models, "en.gguf")):
        pytest.skip("engine and model are not built")
    monkeypatch.setenv("WAYS_ENGINE_LIB", library)
    monkeypatch.setenv("WAYS_MODELS_DIR", models)


def run(command, *arguments, **options):
    result = CliRunner().invoke(command, list(arguments), **options)
    if isinstance(result.exception, UserError):
        raise result.exception
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def hashed_corpus(roots):
    found = sources.sources_of(roots)
    plan = corpus.Sources(found.signature, found.read, os.path.join(roots.cache, "none"))
    corpus.build(roots.cache, plan, {"en": model_of(HashingEngine())})


# --- ways corpus ---


def test_corpus_without_an_engine_says_what_is_missing(roots):
    with pytest.raises(UserError) as caught:
        run(corpus_command.command)
    assert "not there" in caught.value.message
    assert caught.value.next_command
    result = CliRunner().invoke(corpus_command.command, ["--if-stale", "--quiet"])
    assert (result.output, result.exit_code) == ("", 1)
    with open(os.path.join(roots.state, "debug.log"), encoding="utf-8") as file:
        assert "not there" in file.read()


def test_corpus_records_the_project_that_it_runs_in(roots, tmp_path):
    inside = tmp_path / "project" / "src" / "deep"
    inside.mkdir(parents=True)
    os.chdir(inside)
    CliRunner().invoke(corpus_command.command, ["--quiet"])
    assert [entry.path for entry in projects.known(roots)] == [os.path.realpath(tmp_path / "project")]


def test_the_project_is_the_named_one_or_the_nearest_with_ways(roots, tmp_path):
    home = str(tmp_path)
    assert place.current_project({"CLAUDE_PROJECT_DIR": "/named"}, home) == "/named"
    assert place.current_project(
        {"CLAUDE_PROJECT_DIR": "relative"}, str(tmp_path / "project")
    ) == os.path.realpath(tmp_path / "project")
    (tmp_path / ".claude" / "ways").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    assert place.current_project({}, str(tmp_path / "plain")) == ""
    assert place.current_project({}, "") == ""


@pytest.mark.model
def test_corpus_builds_and_then_has_nothing_to_do(roots, engine_files, monkeypatch):
    monkeypatch.setattr(sources.calibrate, "PROBES_FILE", "/nonexistent")
    first = json.loads(run(corpus_command.command, "--json").output)
    assert first["outcome"] == "built"
    assert first["lanes"]["en"]["ids"] == 3
    assert json.loads(run(corpus_command.command, "--if-stale", "--json").output)["outcome"] == "current"
    assert run(corpus_command.command, "--if-stale", "--quiet").output == ""
    assert run(corpus_command.command, "--if-stale").output == "The corpus is up to date.\n"
    verbose = run(corpus_command.command, "--verbose").output
    assert "3 ways and checks, 0 texts embedded" in verbose


@pytest.mark.model
@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_cannot_be_written_is_exit_5(roots, engine_files):
    os.makedirs(roots.cache)
    os.chmod(roots.cache, 0o500)
    with pytest.raises(UserError) as caught:
        run(corpus_command.command)
    assert caught.value.exit_code == WRITE_FAILED


# --- ways author match ---


def test_match_needs_one_text(roots):
    for arguments in ([], ["text", "--file", "x"]):
        with pytest.raises(UserError) as caught:
            run(author_match.command, *arguments)
        assert caught.value.exit_code == USAGE


def test_match_without_an_engine_shows_the_keyword_channel(roots):
    hashed_corpus(roots)
    found = json.loads(run(author_match.command, "please commit this", "--json").output)
    assert found["decides"] == "none"
    assert "engine" in found["reasons"][0]
    first = found["rows"][0]
    assert (first["way"], first["outcome"], first["trigger"], first["span"]) == (
        "dev/commits",
        "fires",
        "keyword",
        "commit",
    )


def test_match_reads_standard_input_and_files(roots, tmp_path):
    (tmp_path / "prompt.txt").write_bytes("\ufeffplease commit ü".encode())
    for arguments, options in (
        (["-"], {"input": "please commit"}),
        (["--file", str(tmp_path / "prompt.txt")], {}),
    ):
        found = json.loads(run(author_match.command, *arguments, "--json", **options).output)
        assert found["rows"][0]["way"] == "dev/commits"
    with pytest.raises(UserError, match="No such file"):
        run(author_match.command, "--file", str(tmp_path / "none"))


def test_match_names_what_holds_a_way_back(roots):
    path = write_way(core_folder(roots), "dev/elsewhere", "Elsewhere", "x", "y")
    with open(path, "w", encoding="utf-8") as file:
        file.write("---\npattern: commit\nwhen:\n  os: [solaris]\n---\nbody\n")
    path = write_way(core_folder(roots), "dev/helper", "Helper", "x", "y")
    with open(path, "w", encoding="utf-8") as file:
        file.write("---\npattern: commit\nscope: subagent\n---\nbody\n")
    found = json.loads(run(author_match.command, "commit this", "--json").output)
    held = {row["way"]: row["why"] for row in found["rows"] if row["outcome"] == "held back"}
    assert "dev/helper" in held
    assert "scope is subagent" in held["dev/helper"]


def test_match_prints_a_table_without_terminal_escapes(roots):
    path = write_way(core_folder(roots), "dev/evil", "Evil", "x", "y")
    with open(path, "w", encoding="utf-8") as file:
        file.write("---\npattern: commit.*\n---\nbody\n")
    text = run(author_match.command, "commit \x1b[31mred").output
    assert "dev/evil" in text
    assert "\x1b[31m" not in text


@pytest.mark.model
def test_match_explains_both_semantic_channels(roots, engine_files, monkeypatch):
    monkeypatch.setattr(sources.calibrate, "PROBES_FILE", "/nonexistent")
    run(corpus_command.command, "--quiet")
    single = json.loads(run(author_match.command, "roast some vegetables", "--json").output)
    assert single["decides"] == "single vector"
    assert single["rows"][0]["way"] == "home/cooking"
    assert single["rows"][0]["cosine_en"] > 0.3
    text = "Please heat the oven for the vegetables. Then name the git branch after the issue."
    late = json.loads(run(author_match.command, text, "--json").output)
    assert late["decides"] == "late interaction"
    assert len(late["chunks"]) == 2
    fired = {row["way"]: row for row in late["rows"] if row["outcome"] == "fires"}
    assert {"home/cooking", "dev/branches"} <= set(fired)
    assert fired["home/cooking"]["share"] > 0.15
    assert fired["home/cooking"]["body"] >= 0.35


def test_match_says_that_a_way_newer_than_the_corpus_needs_its_pattern_alone(
    roots, engine_files, monkeypatch
):
    monkeypatch.setattr(sources.calibrate, "PROBES_FILE", "/nonexistent")
    run(corpus_command.command, "--quiet")
    monkeypatch.setattr(sidecar, "load", calibrated_load(sidecar.load))
    before = json.loads(run(author_match.command, "commit a crime in a novel", "--json").output)
    assert [row["outcome"] for row in before["rows"] if row["way"] == "dev/commits"] == [
        "below the keyword floor"
    ]
    way = os.path.join(core_folder(roots), "dev/commits/commits.md")
    with open(way, encoding="utf-8") as file:
        text = file.read()
    with open(way, "w", encoding="utf-8") as file:
        file.write(re.sub("(?m)^description: .*", "description: Writing crime fiction", text))
    after = json.loads(run(author_match.command, "commit a crime in a novel", "--json").output)
    row = next(row for row in after["rows"] if row["way"] == "dev/commits")
    assert (row["outcome"], row["trigger"]) == ("fires", "keyword")
    assert "changed since the corpus was built" in row["why"]


def calibrated_load(load):
    """`sidecar.load` of a corpus without probes, as if its lane were calibrated."""

    def loaded(*arguments, **options):
        found = load(*arguments, **options)
        if isinstance(found, sidecar.Sidecar):
            found.fit = (10.0, -8.0)
        return found

    return loaded


# --- ways author siblings, suggest ---


def test_siblings_are_the_ways_with_near_aliases(roots):
    hashed_corpus(roots)
    found = json.loads(run(author_siblings.command, "dev/commits", "--threshold", "-1", "--json").output)
    assert found["siblings"][0]["way"] == "dev/branches"
    cosines = [row["cosine"] for row in found["siblings"]]
    assert cosines == sorted(cosines, reverse=True)
    assert len(cosines) == 2
    assert run(author_siblings.command, "dev/commits", "--threshold", "1").output.startswith(
        "No way is nearer"
    )


def test_siblings_of_an_unknown_way_names_near_ids(roots):
    with pytest.raises(UserError, match="dev/commits") as caught:
        run(author_siblings.command, "dev/comits")
    assert caught.value.exit_code == USAGE


def test_siblings_without_a_corpus_says_how_to_get_one(roots):
    with pytest.raises(UserError) as caught:
        run(author_siblings.command, "dev/commits")
    assert caught.value.next_command == "ways corpus"


def test_siblings_of_a_way_that_is_newer_than_the_corpus(roots):
    hashed_corpus(roots)
    write_way(roots.user_ways, "dev/new", "New", "words", "body")
    with pytest.raises(UserError, match="not in the corpus yet"):
        run(author_siblings.command, "dev/new")


def test_advice_gains_are_what_they_say(roots):
    hashed_corpus(roots)
    here = place.here(roots)
    advice = author_suggest.advise(here, here.way("dev/commits"), HashingEngine())
    assert {name for name, _ in advice.near} == {"dev/branches", "home/cooking"}
    assert advice.add
    for each in (*advice.add, *advice.drop):
        assert each.gain == pytest.approx(each.own - each.others)
        assert each.gain > 0
    assert {each.word for each in advice.add} <= {"write", "imperative"}
    assert {each.word for each in advice.drop} <= {"commit", "message", "amend"}


@pytest.mark.model
def test_suggest_takes_an_id_or_a_file(roots, engine_files, monkeypatch, tmp_path):
    monkeypatch.setattr(sources.calibrate, "PROBES_FILE", "/nonexistent")
    run(corpus_command.command, "--quiet")
    by_id = json.loads(run(author_suggest.command, "home/cooking", "--json").output)
    assert by_id["way"] == "home/cooking"
    shutil.copy(os.path.join(core_folder(roots), "home", "cooking", "cooking.md"), tmp_path / "draft.md")
    by_file = json.loads(run(author_suggest.command, str(tmp_path / "draft.md"), "--json").output)
    assert by_file["way"] == "draft"
    assert by_file["near"][0][0] == "home/cooking"
    (tmp_path / "bad.md").write_text("---\n- a\n---\n")
    with pytest.raises(UserError, match=r"bad\.md:\d+"):
        run(author_suggest.command, str(tmp_path / "bad.md"))


# --- ways tune language ---


def test_language_off_needs_nothing(roots):
    facts = json.loads(run(tune_language.command, "--json").output)
    assert (facts["language"], facts["localized"], facts["state"], facts["next"]) == (
        "en",
        False,
        "absent",
        "",
    )


def test_language_without_the_model_says_what_is_next(roots):
    os.makedirs(roots.config)
    with open(os.path.join(roots.config, "config.yaml"), "w", encoding="utf-8") as file:
        file.write("language: de\n")
    text = run(tune_language.command).output
    assert "is off" in text
    assert "Next: ways tune language --install" in text


def test_install_without_a_file_says_exactly_what_to_do(roots):
    with pytest.raises(UserError) as caught:
        run(tune_language.command, "--install")
    assert "build/model.py multi" in caught.value.message
    assert "--from" in caught.value.next_command
    assert caught.value.exit_code == UNVERIFIED


def test_from_belongs_to_install(roots):
    with pytest.raises(UserError) as caught:
        run(tune_language.command, "--from", "x")
    assert caught.value.exit_code == USAGE


def test_a_file_of_another_hash_is_refused_and_nothing_is_left(roots, tmp_path, monkeypatch):
    monkeypatch.delenv("WAYS_MODELS_DIR")
    (tmp_path / "other.gguf").write_bytes(b"GGUF" + bytes(1000))
    digest = hashlib.sha256(b"GGUF" + bytes(1000)).hexdigest()
    with pytest.raises(UserError, match=digest) as caught:
        run(tune_language.command, "--install", "--from", str(tmp_path / "other.gguf"))
    assert caught.value.exit_code == UNVERIFIED
    assert f"--accept-hash {digest}" in caught.value.next_command
    with pytest.raises(UserError, match="not a model of this program") as caught:
        run(
            tune_language.command,
            "--install",
            "--from",
            str(tmp_path / "other.gguf"),
            "--accept-hash",
            digest,
        )
    assert caught.value.exit_code == UNVERIFIED
    with pytest.raises(UserError, match="the accepted hash"):
        run(
            tune_language.command,
            "--install",
            "--from",
            str(tmp_path / "other.gguf"),
            "--accept-hash",
            "0" * 64,
        )
    with pytest.raises(UserError, match="64 hex"):
        run(
            tune_language.command, "--install", "--from", str(tmp_path / "other.gguf"), "--accept-hash", "abc"
        )
    with pytest.raises(UserError, match="No such file"):
        run(tune_language.command, "--install", "--from", str(tmp_path / "none.gguf"))
    assert os.listdir(os.path.join(roots.cache, "models")) == []


@pytest.mark.model
def test_an_accepted_model_is_installed_and_remembered(roots, engine_files, monkeypatch, tmp_path):
    english = os.path.join(os.environ["WAYS_MODELS_DIR"], "en.gguf")
    monkeypatch.delenv("WAYS_MODELS_DIR")
    with open(english, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    run(tune_language.command, "--install", "--from", english, "--accept-hash", digest.upper())
    found = multilingual.state(roots)
    assert (found.verdict, found.sha256, found.problem) == (multilingual.ACCEPTED, digest, "")
    assert found.path == os.path.join(roots.cache, "models", "multi.gguf")
    os.makedirs(roots.config)
    with open(os.path.join(roots.config, "config.yaml"), "w", encoding="utf-8") as file:
        file.write("language: ja\n")
    facts = json.loads(run(tune_language.command, "--json").output)
    assert (facts["localized"], facts["state"], facts["next"]) == (True, "accepted", "ways corpus")
    with open(found.path, "r+b") as file:
        file.seek(5000)
        file.write(b"\xff\xff\xff")
    assert multilingual.state(roots).verdict == multilingual.DAMAGED
    os.unlink(os.path.join(roots.state, "models.json"))
    shutil.copy(english, found.path)
    assert multilingual.state(roots).verdict == multilingual.UNKNOWN


def test_the_pinned_model_is_named_by_a_sha256():
    entry = multilingual.pinned()
    assert len(entry["sha256"]) == 64
    assert isinstance(modelfile.load("/nonexistent"), modelfile.Problem)
