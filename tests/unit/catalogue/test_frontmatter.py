"""Frontmatter: what becomes of the bytes of a way or check file."""

from __future__ import annotations

import os

import pytest

from ways.catalogue.body import body, check_sections
from ways.catalogue.fields import WAY_FIELDS, nearest
from ways.catalogue.frontmatter import parse_check, parse_way
from ways.catalogue.way import Broken, Check, Way


def way_of(text: str | bytes, siblings: tuple[str, ...] = ()) -> Way:
    data = text if isinstance(text, bytes) else text.encode()
    parsed = parse_way(data, "a/b", "/x/b.md", "core", siblings=siblings)
    assert isinstance(parsed, Way), parsed
    return parsed


def broken_of(data: bytes) -> Broken:
    parsed = parse_way(data, "a/b", "/x/b.md", "core")
    assert isinstance(parsed, Broken), parsed
    return parsed


FULL = """---
description: Making commits
vocabulary: [commit, amend]
pattern: '\\bcommit\\b'
pattern_strict: yes
commands: ^git commit
files: \\.env$
trigger: context-threshold
threshold: 75
path: "*.toml"
scope: [agent, subagent]
refire: 0.15
when:
  project: ~/work/*
  file_exists: [.git, "src/*.py"]
  command_exists: git
  os: [linux, macos]
  env: HOME
  model: claude-*
macro: append
scan_exclude: node_modules
requires: ["Bash(git commit:*)"]
---
# Body
"""


def test_every_field_is_read() -> None:
    way = way_of(FULL, siblings=("macro.sh", "macro.py", "postcheck.py"))
    assert way.problems == ()
    assert way.unknown_fields == ()
    assert (way.description, way.vocabulary) == ("Making commits", "commit amend")
    assert (way.pattern, way.pattern_strict) == (r"\bcommit\b", True)
    assert (way.commands, way.files) == ("^git commit", r"\.env$")
    assert (way.trigger, way.threshold, way.trigger_path) == ("context-threshold", 75.0, "*.toml")
    assert (way.scope, way.refire) == (("agent", "subagent"), "0.15")
    assert way.when.project == "~/work/*"
    assert way.when.file_exists == (".git", "src/*.py")
    assert way.when.command_exists == ("git",)
    assert way.when.os == ("linux", "macos")
    assert way.when.env == ("HOME",)
    assert way.when.model == "claude-*"
    assert way.macro == "append"
    assert way.macro_file == ("macro.py" if os.name == "nt" else "macro.sh")
    assert way.postcheck_file == "postcheck.py"
    assert way.scan_exclude == "node_modules"
    assert way.requires == ("Bash(git commit:*)",)


def test_case_h09_crlf_bom_rules_in_the_body_and_folded_scalars(tmp_path) -> None:
    text = (
        "---\ndescription: >\n  one\n  two\npattern: |\n  a b\n---\n# T\n\n---\n\nafter the rule\n---\nend\n"
    )
    data = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()
    way = way_of(data)
    assert way.description == "one two"
    assert way.pattern == "a b"
    path = tmp_path / "b.md"
    path.write_bytes(data)
    assert body(str(path)) == "# T\n\n---\n\nafter the rule\n---\nend\n"


def test_a_body_is_unchanged_apart_from_line_endings(tmp_path) -> None:
    content = "  indented\r\nold mac\rtabs\t\r\n\r\n  trailing  \n\n"
    path = tmp_path / "b.md"
    path.write_bytes(b"---\r\ndescription: x\r\n---\r\n" + content.encode())
    assert body(str(path)) == "  indented\nold mac\ntabs\t\n\n  trailing  \n\n"


def test_a_file_without_frontmatter_is_all_body_but_no_way(tmp_path) -> None:
    path = tmp_path / "b.md"
    path.write_text("# just text\n---\n")
    assert body(str(path)) == "# just text\n---\n"
    assert broken_of(path.read_bytes()).line == 1


@pytest.mark.parametrize(
    ("data", "line", "column", "words"),
    [
        (b"---\ndescription: a: b\n---\n", 2, 15, "not valid YAML"),
        (b"---\na: 1\nb: 'x\n---\n", 3, 4, "not valid YAML"),
        (b"---\na: 1\n\tb: 2\n---\n", 3, 1, "not valid YAML"),
        (b"---\n- a\n---\n", 2, 1, "not a mapping"),
        (b"---\na: 1\n", 1, 1, "not closed"),
        (b"---\na: 1\n--- \x01\n", 1, 1, "not closed"),
        (b"---\na: x\x01\n---\n", 2, 5, "not valid YAML"),
        (b"", 1, 1, "no frontmatter"),
        (b"---", 1, 1, "not closed"),
        ("---\na: 1\n---\n".encode("utf-16"), 1, 1, "UTF-16"),
        (b"---\na: [[[[1]]]]\n---\n", 2, 6, "nest"),
        (b"---\na: " + b"[" * 30_000 + b"\n---\n", 2, 6, "nest"),
        (b"---\na: " + b"[" * 60_000 + b"\n---\n", 1, 1, "frontmatter is longer than 32 KiB"),
        (b"---\ndescription: x\n---\n" + b"x" * (257 * 1024), 1, 1, "longer than 256 KiB"),
    ],
)
def test_a_file_that_does_not_parse_is_broken_with_line_and_column(data, line, column, words) -> None:
    broken = broken_of(data)
    assert words in broken.message
    assert broken.line == line
    if words != "nest":
        assert broken.column == column


def test_wrong_types_are_dropped_and_named_with_their_line() -> None:
    way = way_of(
        "---\ndescription: [a, b]\npattern: {x: 1}\npattern_strict: maybe\nthreshold: lots\n"
        "trigger: sometimes\nscope: [agent, boss]\nrefire: 11\nmacro: both\nfiles: '(['\n---\n"
    )
    assert way.description == way.pattern == way.trigger == way.refire == way.macro == way.files == ""
    assert way.scope == ("agent",)
    assert way.threshold == 0.0
    assert not way.pattern_strict
    for line, field in enumerate(
        [
            "description",
            "pattern",
            "pattern_strict",
            "threshold",
            "trigger",
            "scope",
            "refire",
            "macro",
            "files",
        ],
        2,
    ):
        mine = [problem for problem in way.problems if f": {field}: " in problem]
        assert len(mine) == 1, (field, way.problems)
        assert mine[0].startswith(f"line {line}, column ")


def test_a_pattern_that_does_not_compile_disables_only_itself() -> None:
    way = way_of("---\npattern: '(unclosed'\ncommands: ^git\n---\n")
    assert way.pattern == ""
    assert way.commands == "^git"
    assert "pattern: does not compile" in way.problems[0]


def test_unknown_fields_are_collected_with_the_nearest_known_name() -> None:
    way = way_of("---\ndescription: x\nvocabluary: y\nzzzzqq: 1\n---\n")
    assert way.unknown_fields == (("vocabluary", 3), ("zzzzqq", 4))
    assert nearest("vocabluary", WAY_FIELDS) == "vocabulary"
    assert nearest("zzzzqq", WAY_FIELDS) == ""


def test_an_unknown_or_mistyped_precondition_makes_the_way_not_fire() -> None:
    assert way_of("---\nwhen: {phase: moon}\n---\n").when.unknown == ("phase",)
    assert way_of("---\nwhen: {env: {a: b}}\n---\n").when.unknown == ("env",)
    assert way_of("---\nwhen: always\n---\n").when.unknown == ("when",)
    assert "phase" in way_of("---\nwhen: {phase: moon}\n---\n").problems[0]


def test_scalars_keep_the_text_that_was_written() -> None:
    way = way_of("---\ndescription: no\nvocabulary: 007\nrefire: normal\n---\n")
    assert (way.description, way.vocabulary, way.refire) == ("no", "007", "normal")
    empty = way_of("---\ndescription:\nvocabulary: ~\npattern: null\n---\n")
    assert (empty.description, empty.vocabulary, empty.pattern) == ("", "", "")


def test_a_field_given_twice_counts_once_and_is_named() -> None:
    way = way_of("---\ndescription: a\ndescription: b\n---\n")
    assert way.description == "a"
    assert "second time" in way.problems[0] and "line 3" in way.problems[0]


def test_tags_construct_nothing_and_aliases_expand_nothing(tmp_path) -> None:
    marker = tmp_path / "made"
    way = way_of(
        f"---\ndescription: !!python/object/apply:os.system ['touch {marker}']\n"
        "vocabulary: &a [x, x]\npattern: *a\n---\n"
    )
    assert not marker.exists()
    assert way.description == way.pattern == ""
    assert way.vocabulary == "x x"
    assert len(way.problems) == 2


def test_a_parser_without_limits_of_its_own_is_bounded_too(monkeypatch) -> None:
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    assert way_of(FULL).description == "Making commits"
    assert "nest" in broken_of(b"---\na: " + b"[" * 30_000 + b"\n---\n").message
    assert "nest" in broken_of(b"---\n" + b"- " * 15_000 + b"\n---\n").message


def test_an_alias_bomb_costs_nothing() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]" for n in range(1, 30)]
    lines += ["m0: &m0 {k: v}", *(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, 40))]
    way = way_of("---\n" + "\n".join(lines) + "\ndescription: still here\n---\n")
    assert way.description == "still here"


def test_too_many_fields_are_refused() -> None:
    many = "\n".join(f"f{n}: 1" for n in range(1000))
    assert "more than 200 fields" in broken_of(f"---\n{many}\n---\n".encode()).message


def test_a_check_has_its_own_fields() -> None:
    check = parse_check(b"---\ncommands: ^git push\nthreshold: 2.5\npattern: x\n---\n", "a/b", "/x", "core")
    assert isinstance(check, Check)
    assert (check.commands, check.threshold) == ("^git push", 2.5)
    assert check.unknown_fields == (("pattern", 4),)


def test_check_sections() -> None:
    text = "intro\n## anchor\n\nremember\n\n## check\n\n```\n## anchor\n```\nverify\n"
    assert check_sections(text) == ("remember", "```\n## anchor\n```\nverify")
    assert check_sections("only text\n") == ("", "only text")


def test_case_h08_undecodable_bytes_and_surrogates_do_not_break_a_way(tmp_path) -> None:
    path = tmp_path / "b.md"
    path.write_bytes(b"---\ndescription: a \xe2\x80 b\n---\nbody \xff \x00 \xed\xa0\x80 end")
    way = way_of(path.read_bytes())
    way.description.encode("utf-8")
    text = body(str(path))
    text.encode("utf-8")
    assert "\0" not in text and text.endswith("end")
