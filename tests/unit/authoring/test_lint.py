"""Every rule of lint, on real files; the formats; the repairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ways.authoring import findings, fixes, regexes
from ways.authoring.findings import ERROR, NOTE, WARNING, Finding
from ways.authoring.lint import Knowledge, lint
from ways.catalogue.way import Catalogue

Writer = Callable[..., Path]
Loader = Callable[[], Catalogue]
GOOD = "description: Deploying to production\nvocabulary: ship rollout\nrefire: normal"


PLAIN = Knowledge()


def rules(catalogue: Catalogue, knowledge: Knowledge = PLAIN) -> list[tuple[str, str, int]]:
    return [(one.rule, one.level, one.line) for one in lint(catalogue, knowledge)]


def test_a_good_way_has_no_findings(way: Writer, catalogue: Loader) -> None:
    way("team/deploy", f"{GOOD}\npattern: '\\bdeploy\\b'\nfiles: '(^|/)deploy/'\ncommands: '^make deploy'")
    assert rules(catalogue()) == []


@pytest.mark.parametrize(
    ("front", "found"),
    [
        ("description: [", ("broken", ERROR, 3)),
        (f"{GOOD}\npattern: '('", ("field", ERROR, 5)),
        (f"{GOOD}\nscop: agent", ("unknown-field", WARNING, 5)),
        (f"{GOOD}\nwhen:\n  projct: x", ("unknown-when", ERROR, 6)),
        ("refire: once", ("no-trigger", ERROR, 1)),
        (f"{GOOD}\ntrigger: context-threshold", ("no-trigger", ERROR, 5)),
        (f"{GOOD}\ntrigger: file-exists", ("no-trigger", ERROR, 5)),
        (f"{GOOD}\nthreshold: 5", ("no-trigger", WARNING, 5)),
        (f"{GOOD}\npath: x", ("no-trigger", WARNING, 5)),
        (f"{GOOD}\npattern_strict: true", ("no-trigger", WARNING, 5)),
        (f"{GOOD}\npattern: 'a$b'", ("matches-nothing", ERROR, 5)),
        (f"{GOOD}\nfiles: '^src/'", ("matches-nothing", ERROR, 5)),
        (f"{GOOD}\npattern: '.*'", ("matches-everything", ERROR, 5)),
        (f"{GOOD}\npattern: '\\S'\npattern_strict: true", ("matches-everything", NOTE, 5)),
        (f"{GOOD}\ncommands: '\\w'", ("matches-everything", ERROR, 5)),
        (f"{GOOD}\npattern: '(foo+)+bar'", ("slow-pattern", WARNING, 5)),
        (f"{GOOD}\npattern: 'pull request|pr'", ("short-word", WARNING, 5)),
        ("description: Something\nrefire: once", ("no-vocabulary", WARNING, 2)),
        ("description: x\nvocabulary: y", ("no-refire", NOTE, 1)),
        ("description: x\nvocabulary: y\nrefire: sometimes", ("unknown-refire", ERROR, 4)),
        (f"{GOOD}\nmacro: append", ("macro", ERROR, 5)),
        (f"{GOOD}\npostcheck_on: Bash", ("macro", WARNING, 5)),
    ],
)
def test_each_fault(way: Writer, catalogue: Loader, front: str, found: tuple[str, str, int]) -> None:
    way("team", front)
    assert rules(catalogue()) == [found]


def test_a_preset_of_the_settings_is_known(way: Writer, catalogue: Loader) -> None:
    way("team", "description: x\nvocabulary: y\nrefire: daily")
    assert rules(catalogue(), Knowledge(presets=("daily",))) == []


def test_bodies(way: Writer, catalogue: Loader) -> None:
    way("empty", GOOD, "\n")
    way("long", GOOD.replace("Deploying", "Renting boats"), "x" * 10_001)
    assert rules(catalogue()) == [("empty-body", ERROR, 1), ("too-long", ERROR, 1)]


def test_a_macro_that_is_never_run(way: Writer, catalogue: Loader) -> None:
    (way("team", GOOD).parent / "macro.py").write_text("")
    assert rules(catalogue()) == [("macro", WARNING, 1)]


def test_a_gap_in_the_tree(way: Writer, catalogue: Loader) -> None:
    way("a", GOOD)
    way("a/b/c", "description: Baking bread\nvocabulary: oven\nrefire: once")
    way("x/y/z", "description: Sailing boats\nvocabulary: wind\nrefire: once")
    assert rules(catalogue()) == [("missing-parent", WARNING, 1)], (
        "x has no way above at all, and that is fine"
    )


def test_checks(way: Writer, catalogue: Loader) -> None:
    way("team", GOOD)
    way("team", "threshold: 1", "## anchor\nA\n", "team.check.md")
    assert rules(catalogue()) == [("check", ERROR, 1), ("check", ERROR, 1)]
    way("team", "commands: '^make'", "## check\nC\n", "team.check.md")
    assert rules(catalogue()) == [("check", WARNING, 1)]


def test_locale_files(way: Writer, catalogue: Loader) -> None:
    beside = way("team", GOOD).parent / "team.locales.jsonl"
    beside.write_text('{"lang": "de", "description": "Ausliefern"}\n\nnonsense\n{"lang": "fr"}\n', "utf-8")
    assert rules(catalogue()) == [("locale", ERROR, 3), ("locale", ERROR, 4)]


def test_near_duplicates_by_words_and_by_meaning(way: Writer, catalogue: Loader) -> None:
    way("a", GOOD)
    way("b", GOOD)
    way("c", "description: Baking bread\nvocabulary: oven\nrefire: once")
    found = catalogue()
    assert [(one.way, one.rule) for one in lint(found, Knowledge())] == [("b", "near-duplicate")]
    ids = sorted(one.corpus_id for one in found.ways)
    pairs = {(first, other): 0.1 for first in ids for other in ids if first < other}
    assert lint(found, Knowledge(cosines=pairs)) == [], "the corpus knows better than the words"
    one, other = (next(w.corpus_id for w in found.ways if w.id == name) for name in ("a", "c"))
    pairs[(min(one, other), max(one, other))] = 0.95
    (only,) = lint(found, Knowledge(cosines=pairs))
    assert (only.way, only.line) == ("c", 2) and "cosine 0.95" in only.message
    assert [f.way for f in lint(found, Knowledge(), only=["a"])] == ["a"], "found from either side"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("pr", ["pr"]),
        (r"\bpr\b", []),
        ("(?:pr|ci)", ["pr", "ci"]),
        ("(pr)|request", ["pr"]),
        (r"\b(pr|ci)\b", []),
        ("a|[|]x|(b|c)d", ["a"]),
        (r"\||ab", ["ab"]),
        ("[]|]x|go", ["go"]),
        ("(?i:go)", []),
        ("(a)|(b)", ["a", "b"]),
        ("database", []),
    ],
)
def test_short_words(source: str, words: list[str]) -> None:
    assert list(regexes.short_words(source)) == words


@pytest.mark.parametrize(
    ("field", "source", "impossible"),
    [
        ("pattern", "a$b", True),
        ("pattern", "(?m)a$\\nb", False),
        ("pattern", "a^b", True),
        ("pattern", "x?^b", False),
        ("pattern", "(?!)a", True),
        ("pattern", "a$|b", False),
        ("pattern", "(a$)b", False),
        ("files", "^src/x", True),
        ("files", "(^|/)src/", False),
        ("files", "^/home", False),
        ("files", r"^docs\/", True),
        ("files", r"src\\main", True),
    ],
)
def test_what_can_match_nothing(field: str, source: str, impossible: bool) -> None:
    assert bool(regexes.never(field, source)) is impossible


FOUND = [
    Finding("field", ERROR, "/p/ways/a b/x.md", 3, 5, "a b", "50% wrong:\nsee, here"),
    Finding("broken", WARNING, "/else/y.md", 0, 0, "", "unreadable"),
]


def test_text_and_github_and_json() -> None:
    assert findings.written(FOUND, "text", "/p", "1") == (
        "ways/a b/x.md:3:5: error: 50% wrong:\nsee, here [field]\n/else/y.md: warning: unreadable [broken]\n"
    )
    assert findings.written(FOUND, "github", "/p", "1").splitlines() == [
        "::error file=ways/a b/x.md,line=3,col=5,title=ways author lint (field)::50%25 wrong:%0Asee, here",
        "::warning file=/else/y.md,title=ways author lint (broken)::unreadable",
    ]
    assert json.loads(findings.written(FOUND, "json", "/p", "1"))[1]["path"] == "/else/y.md"
    assert findings.github(Finding("field", NOTE, "/p/a,b:c", 0, 0, "", "m"), "/p").startswith(
        "::notice file=a%2Cb%3Ac,"
    )


def test_sarif_has_what_readers_need() -> None:
    document = json.loads(findings.written(FOUND, "sarif", "/p", "9.9"))
    assert document["version"] == "2.1.0" and document["$schema"].endswith("sarif-2.1.0.json")
    (run,) = document["runs"]
    driver = run["tool"]["driver"]
    assert driver["version"] == "9.9"
    first, second = run["results"]
    assert driver["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "field"
    place = first["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "ways/a%20b/x.md"},
        "region": {"startLine": 3, "startColumn": 5},
    }
    assert "region" not in second["locations"][0]["physicalLocation"]
    assert second["level"] == "warning"


def test_every_rule_is_registered_and_ordered() -> None:
    shuffled = findings.ordered(reversed(FOUND))
    assert [one.path for one in shuffled] == ["/else/y.md", "/p/ways/a b/x.md"]
    assert findings.is_wrong(FOUND, strict=False)
    assert not findings.is_wrong(FOUND[1:], strict=False) and findings.is_wrong(FOUND[1:], strict=True)


def test_a_misspelt_field_is_repaired_and_nothing_else(way: Writer, catalogue: Loader) -> None:
    path = way(
        "team",
        "# a comment\r\ndescripton: x   # keep\r\nvocabluary: y\r\nrefire:   once\r\ncolour: red",
        "B\r\n",
    )
    before = path.read_bytes()
    path.chmod(0o640)
    (item,) = catalogue().ways
    planned = fixes.plan(item)
    assert [(one.line, one.wrong, one.right) for one in planned] == [
        (3, "descripton", "description"),
        (4, "vocabluary", "vocabulary"),
    ]
    assert fixes.apply(planned) == planned
    after = path.read_bytes()
    assert after == before.replace(b"descripton", b"description").replace(b"vocabluary", b"vocabulary")
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_is_not_certain_is_not_repaired(way: Writer, catalogue: Loader) -> None:
    way("a", f"{GOOD}\ndescripton: two of them")
    way("b", f"{GOOD}\npriority: 5")
    path = way("c", "'descripton': quoted\nvocabulary: y")
    found = catalogue()
    assert [fixes.plan(item) for item in found.ways[:2]] == [[], []]
    before = path.read_bytes()
    planned = fixes.plan(found.ways[2])
    assert planned and fixes.apply(planned) == []
    assert path.read_bytes() == before
