"""Which repository a project belongs to, from git's files alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ways.core.roots import Roots
from ways.issues import linking, repository

HOSTS = {"github.com"}


def make(folder: Path, config: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git/config").write_text(config, "utf-8")
    return folder


def roots(tmp_path: Path) -> Roots:
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    return Roots(*(str(tmp_path / "roots" / name) for name in names))


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/rocket",
        "https://github.com/acme/rocket.git",
        "https://github.com/acme/rocket/",
        "https://user:secret@github.com/acme/rocket.git",
        "git@github.com:acme/rocket.git",
        "ssh://git@github.com/acme/rocket.git",
        "ssh://git@ssh.github.com:443/acme/rocket.git",
        "git://GitHub.com/acme/rocket",
    ],
)
def test_the_spellings_of_a_remote(url: str) -> None:
    assert repository.repository_of(url, HOSTS) == "acme/rocket"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/acme/rocket.git",
        "../acme/rocket",
        "file:///srv/acme/rocket",
        "https://gitlab.com/acme/rocket",
        "https://github.com.evil.example/acme/rocket",
        "https://evil.example/github.com/acme/rocket",
        "https://github.com/acme",
        "https://github.com/acme/rocket/issues",
        "https://github.com/acme/..",
        "https://github.com/-acme/rocket",
        "https://github.com/ac me/rocket",
        "git@github.com:acme/ro\x1bcket",
        "https://github.com/acme/../../x",
        "ext::sh -c touch% /tmp/x",
    ],
)
def test_what_is_no_repository_on_github(url: str) -> None:
    assert repository.repository_of(url, HOSTS) == ""


def test_the_remote_is_chosen_as_gh_does(tmp_path: Path) -> None:
    fork = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:me/rocket.git\n'
    base = '[remote "upstream"]\n\turl = https://github.com/acme/rocket\n'
    assert repository.from_git(str(make(tmp_path / "a", fork + base))) == "me/rocket"
    chosen = make(tmp_path / "b", fork + base + "\tgh-resolved = base\n")
    assert repository.from_git(str(chosen)) == "acme/rocket"
    assert repository.from_git(str(make(tmp_path / "c", base))) == "acme/rocket"
    several = base + '[remote "x"]\nurl = https://github.com/x/y\n'
    assert repository.from_git(str(make(tmp_path / "d", several))) == ""


@pytest.mark.parametrize("config", ["", "[remote", '[remote "origin"]\nurl', "\0\xff", "x" * 400_000])
def test_an_odd_config_is_no_repository(tmp_path: Path, config: str) -> None:
    assert repository.from_git(str(make(tmp_path / "p", config))) == ""


def test_a_folder_below_a_worktree_and_a_submodule(tmp_path: Path) -> None:
    main = make(tmp_path / "main", '[remote "origin"]\nurl = https://github.com/acme/rocket\n')
    tree = tmp_path / "tree"
    inside = main / ".git/worktrees/tree"
    inside.mkdir(parents=True)
    (inside / "commondir").write_text("../..\n")
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {inside}\n")
    assert repository.top_of(str(tree / "src")) == str(tree)
    assert repository.of(str(tree / "src"), roots(tmp_path)) == "acme/rocket"
    (tree / ".git").write_text("gitdir: /nonexistent\n")
    assert repository.of(str(tree / "src"), roots(tmp_path)) == ""


def test_another_host_needs_the_users_word(tmp_path: Path) -> None:
    project = str(make(tmp_path / "p", '[remote "origin"]\nurl = https://git.corp.example/a/b\n'))
    assert repository.of(project, roots(tmp_path)) == ""
    assert repository.of(project, roots(tmp_path), "https://git.corp.example/api/v3") == "a/b"


def test_a_link_of_the_user_comes_first(tmp_path: Path) -> None:
    where = roots(tmp_path)
    project = str(make(tmp_path / "p", '[remote "origin"]\nurl = https://github.com/a/b\n'))
    linking.save(where, project, "acme/rocket")
    assert repository.of(project, where) == "acme/rocket"
    assert repository.of(project + "/src", where) == "acme/rocket"
    linking.save(where, project, repository.OFF)
    assert repository.of(project, where) == ""
    linking.save(where, project, "")
    assert repository.of(project, where) == "a/b"
    assert Path(repository.links_file(where)).stat().st_mode & 0o777 == 0o600


def test_a_damaged_links_file_is_not_overwritten(tmp_path: Path) -> None:
    from ways.core.errors import UserError

    where = roots(tmp_path)
    path = Path(repository.links_file(where))
    path.parent.mkdir(parents=True)
    path.write_text("[1, 2")
    assert repository.links(where) == {}
    with pytest.raises(UserError, match="not a JSON object"):
        linking.save(where, "/p", "a/b")
    assert path.read_text() == "[1, 2"
