"""`ways author template` and `ways author tree` in process, on real files."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tests.unit.embedding.test_sources import core_folder, write_way
from ways.catalogue.frontmatter import parse_way
from ways.catalogue.way import Way
from ways.cli import author, author_template, author_tree
from ways.core.errors import REFUSED, USAGE, UserError
from ways.core.roots import resolve


@pytest.fixture
def project(tmp_path, monkeypatch):
    for name in ("CLAUDE_PROJECT_DIR", "CLAUDE_CONFIG_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "WAYS_APP_ROOT", "WAYS_CONFIG_ROOT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("WAYS_STATE_ROOT", "WAYS_CACHE_ROOT"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    folder = tmp_path / "project"
    (folder / ".claude" / "ways").mkdir(parents=True)
    monkeypatch.chdir(folder)
    roots = resolve()
    write_way(core_folder(roots), "dev/commits", "Making commits", "commit", "One change each.")
    write_way(core_folder(roots), "dev/commits/fixups", "Folding fixups", "fixup", "Squash before review.")
    return folder


def run(command, *arguments):
    result = CliRunner().invoke(command, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_every_command_of_the_group_can_be_loaded():
    for name in author.COMMANDS:
        assert run(author.command, name, "--help").output.startswith("Usage:")


def test_the_template_is_a_way_without_problems(project):
    found = parse_way(run(author_template.command).output.encode(), "a/b", "/a/b/b.md", "project")
    assert isinstance(found, Way)
    assert (found.problems, found.unknown_fields) == ((), ())
    assert found.embeddable


def test_a_template_lands_in_the_project_and_shows_in_the_tree(project):
    path = project / ".claude" / "ways" / "ops" / "deploy" / "deploy.md"
    assert run(author_template.command, "ops/deploy").output.strip() == str(path)
    assert path.read_text() == run(author_template.command).output
    assert "ops/\n  deploy [project] (meaning)" in run(author_tree.command).output


def test_a_template_never_overwrites(project):
    path = project / ".claude" / "ways" / "ops" / "deploy" / "deploy.md"
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UserError) as caught:
        run(author_template.command, "ops/deploy")
    assert caught.value.exit_code == REFUSED
    assert path.read_text() == "mine"


@pytest.mark.parametrize("way_id", ["single", "../up/x", "a/_b", "/abs/x", "a//b", "a/.b"])
def test_what_is_no_id_is_refused(project, way_id):
    with pytest.raises(UserError) as caught:
        run(author_template.command, "--", way_id)
    assert caught.value.exit_code == USAGE


def test_the_users_own_ways(project):
    path = run(author_template.command, "ops/deploy", "--user").output.strip()
    assert path.startswith(resolve().user_ways)
    assert "deploy [user]" in run(author_tree.command).output


def test_the_tree_nests_and_narrows(project):
    assert run(author_tree.command).output.splitlines() == [
        "dev/",
        "  commits (meaning)  Making commits",
        "    fixups (meaning)  Folding fixups",
    ]
    rows = json.loads(run(author_tree.command, "dev/commits/fixups", "--json").output)
    assert [(row["way"], row["root"], row["triggers"]) for row in rows] == [
        ("dev/commits/fixups", "core", ["meaning"])
    ]
    with pytest.raises(UserError):
        run(author_tree.command, "nothing")
