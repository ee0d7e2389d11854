"""`ways author graph|permissions|reflow` on real files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ways.authoring import permissions, reflow
from ways.authoring.graph import build, written
from ways.catalogue.way import Catalogue
from ways.cli import author_graph, author_permissions, author_reflow
from ways.core.errors import UserError

Writer = Callable[..., Path]


def run(command: click.Command, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return int(result.return_value or 0), result.stdout


def test_graph_as_dot_mermaid_and_json(way: Writer, catalogue: Callable[[], Catalogue]) -> None:
    way("a", 'description: "Say \\"hi\\" \\\\ now"\nvocabulary: y')
    way("a/b/c")
    way("a/d")
    assert run(author_graph.command)[1].startswith("digraph ways {")
    document = json.loads(run(author_graph.command, "--format", "json")[1])
    assert [(node["id"], node["is_way"]) for node in document["nodes"]] == [
        ("a", True),
        ("a/b", False),
        ("a/b/c", True),
        ("a/d", True),
    ]
    ways = catalogue().ways
    ids = sorted(one.corpus_id for one in ways)
    made = build(ways, {(ids[0], ids[1]): 0.95, (ids[0], ids[2]): 0.75, (ids[1], ids[2]): 0.1}, 0.7, 0.92)
    assert [(edge.kind, edge.cosine) for edge in made.edges if edge.cosine] == [
        ("duplicate", 0.95),
        ("near", 0.75),
    ]
    dot = written(made, "dot")
    assert 'tooltip="Say \\"hi\\" \\\\ now"' in dot and "color=red" in dot and '"a/b" -> "a/b/c";' in dot
    mermaid = written(made, "mermaid")
    assert mermaid.startswith("flowchart LR\n") and "n0 --> n1" in mermaid and "== 0.95 ===" in mermaid
    with pytest.raises(UserError):
        run(author_graph.command, "--domain", "nothing")


def test_a_hostile_name_stays_a_label(way: Writer) -> None:
    way("a/x\"];evil -> y[label='")
    out = run(author_graph.command, "--format", "mermaid")[1]
    assert "evil -> y" not in out and '"]' not in out.replace('"]\n', "\n")


@pytest.mark.parametrize(
    ("rule", "permission", "covered"),
    [
        ("Bash", "Bash(git status)", True),
        ("Bash(*)", "Bash(git status)", True),
        ("Bash(git:*)", "Bash(git status:*)", True),
        ("Bash(git:*)", "Bash(git)", True),
        ("Bash(git *)", "Bash(git status)", True),
        ("Bash(git *)", "Bash(git:*)", True),
        ("Bash(git:*)", "Bash(gitk)", False),
        ("Bash(git status)", "Bash(git status:*)", False),
        ("Bash(git status:*)", "Bash(git:*)", False),
        ("Bash(git status)", "Bash", False),
        ("Read(src/**)", "Read(src/a/b)", True),
        ("Read(src/**)", "Edit(src/a)", False),
        ("mcp__ways", "mcp__ways__ways_read", True),
        ("mcp__way", "mcp__ways__ways_read", False),
        ("WebFetch(domain:a.example)", "WebFetch(domain:a.example)", True),
    ],
)
def test_what_a_rule_covers(rule: str, permission: str, covered: bool) -> None:
    assert permissions.covers(rule, permission) is covered


def test_permissions_against_settings(way: Writer, project: Path, tmp_path: Path) -> None:
    way("a", "description: x\nvocabulary: y\nrequires: ['Bash(git:*)', 'Bash(make deploy)']")
    way("b", "description: z\nvocabulary: y\nrequires: [WebFetch, 'Bash(git:*)', 'Bash(rm:*)', Read]")
    (tmp_path / "claude").mkdir()
    settings = {
        "permissions": {"allow": ["Bash(git:*)", "Read"], "ask": ["WebFetch"], "deny": ["Bash(git push:*)"]}
    }
    (tmp_path / "claude" / "settings.json").write_text("\ufeff" + json.dumps(settings), "utf-8")
    local = project / ".claude" / "settings.local.json"
    local.write_text(json.dumps({"permissions": {"deny": ["Bash(rm:*)"], "allow": 5}}))
    rows: list[dict[str, Any]] = json.loads(run(author_permissions.command, "--json")[1])
    assert [(row["permission"], row["state"]) for row in rows] == [
        ("Bash(git:*)", "partly denied"),
        ("Bash(make deploy)", "missing"),
        ("Bash(rm:*)", "denied"),
        ("Read", "allowed"),
        ("WebFetch", "asked"),
    ]
    assert rows[0]["ways"] == ["a", "b"]
    code, out = run(author_permissions.command, "--check", "a")
    assert code == 1 and '"Bash(make deploy)"' in out and "Bash(rm" not in out
    local.write_text("{")
    with pytest.raises(UserError) as caught:
        run(author_permissions.command)
    assert caught.value.exit_code == 3 and "settings.local.json" in str(caught.value)


BREAK = "  "
BODY = f"""\
# A heading that is quite a bit longer than the width that is asked for here

A paragraph that
is broken in odd places and should be one that runs over the full width of the lines instead.

- a list item that is longer than the width and stays exactly as it was written by its author
  with this line

| a | table that is wider than anything that was asked for in the call of the command |
|---|---|
| 1 | 2 |

```sh
a command that is longer than the width and must not be broken because it would be another
```

    indented code that is longer than the width and must not be broken at any of its spaces

> a quote that is longer than the width, of somebody who may have wanted it to be like that

Hard break here{BREAK}
stays, whatever the length of the lines around it may be, because somebody wanted it there.
"""
WRAPPED = """\
A paragraph that is broken in odd places and should be one
that runs over the full width of the lines instead.
"""


def test_reflow_wraps_paragraphs_only() -> None:
    found = reflow.wrapped(BODY, 60)
    begin = BODY.index("A paragraph")
    before = BODY[begin : BODY.index("\n\n", begin) + 1]
    assert found == BODY.replace(before, WRAPPED)
    assert reflow.wrapped(found, 60) == found


@pytest.mark.parametrize(
    "body",
    [
        "some words and then the number\n2026. A year that must not begin a list at the start of a line\n",
        "some text of about this length - and a dash that must not begin a line of the paragraph here\n",
        "some `code  with two` spaces that count, and more words behind it to make it long enough for two\n",
        "one <b>word</b> and another word and so on until it is long enough to be wrapped # not a heading\n",
        "[a link with a long text](https://example.com/a 'and a title with spaces in it') and more text\n",
    ],
)
def test_reflow_keeps_the_meaning(body: str) -> None:
    from markdown_it import MarkdownIt

    for width in (40, 44, 48, 60, 80):
        after = reflow.wrapped(body, width)
        html = [MarkdownIt("commonmark").render(text).replace("\n", " ") for text in (body, after)]
        assert html[0] == html[1]


def test_the_reflow_command(way: Writer, project: Path) -> None:
    long = "word " * 60
    front = "description: x   # comment\nvocabulary: y"
    path = way("a", front, long.strip() + "\n")
    other = way("b", front, long.strip() + "\r\n")
    other.write_bytes(b"\xef\xbb\xbf" + other.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    mixed = way("c", front, "one\r\ntwo\n" + long)
    before = {file: file.read_bytes() for file in (path, other, mixed)}
    code, out = run(author_reflow.command, "--check")
    assert code == 1 and out.count("Would re-wrap") == 2
    assert all(file.read_bytes() == data for file, data in before.items())
    assert run(author_reflow.command, "--width", "80")[0] == 0
    assert path.read_text("utf-8").startswith(f"---\n{front}\n---\nword word")
    assert max(map(len, path.read_text("utf-8").splitlines())) <= 80
    data = other.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf---\r\n") and data.count(b"\n") == data.count(b"\r\n")
    assert mixed.read_bytes() == before[mixed]
    assert run(author_reflow.command, "--width", "80", "--check") == (0, "")


def test_shipped_ways_are_left_alone(project: Path, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "hooks" / "ways" / "core-way"
    folder.mkdir(parents=True)
    text = "---\ndescription: x\nvocabulary: y\n---\n" + "word " * 60 + "\n"
    (folder / "core-way.md").write_text(text)
    with pytest.raises(UserError) as caught:
        run(author_reflow.command, "core-way")
    assert caught.value.exit_code == 3
    assert run(author_reflow.command) == (0, "")
    assert (folder / "core-way.md").read_text() == text
