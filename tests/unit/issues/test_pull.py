"""Asking GitHub: paging, rate limits, errors, being offline; the server speaks the documented API."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.github_server import TOKEN, GitHub, issue
from ways.agent import keys
from ways.core import clock
from ways.core.locking import Lock, LockTimeout
from ways.core.roots import Roots
from ways.issues import github, mirror
from ways.issues.pull import pull

NAME = "acme/rocket"


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    monkeypatch.setenv("PATH", "/nonexistent")
    names = ("app", "projection", "config", "state", "cache", "sessions", "home")
    roots = Roots(*(str(tmp_path / name) for name in names))
    keys.store(roots, "github", TOKEN)
    (tmp_path / "home").mkdir()
    return roots


@pytest.fixture
def server() -> Iterator[GitHub]:
    with GitHub(
        [issue(12, "Fix the parser"), issue(9, "A pull request", pull_request={"url": "x"})]
    ) as running:
        yield running


def test_open_issues_without_pull_requests(where: Roots, server: GitHub) -> None:
    found = pull(where, NAME, server.url, 600.0)
    assert found.issues == (mirror.Issue(12, "Fix the parser", ("bug",), ("hubot",)),)
    assert (found.problem, found.source, found.complete) == ("", "rest", True)
    assert mirror.load(where, NAME) == found
    headers = server.seen[0][1]
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert headers["user-agent"].startswith("agent-ways/")
    path = Path(mirror.path_of(where, NAME))
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert TOKEN not in path.read_text()


def test_all_pages_are_read(where: Roots, server: GitHub) -> None:
    server.issues = [issue(number, f"Issue {number}") for number in range(1, 251)]
    found = pull(where, NAME, server.url, 600.0)
    assert [one.number for one in found.issues] == list(range(250, 0, -1))
    assert len(server.seen) == 3 and found.etag == ""


def test_a_list_too_long_says_so(where: Roots, server: GitHub) -> None:
    server.issues = [issue(number, f"Issue {number}") for number in range(1, 30)]
    server.per_page = 2
    found = pull(where, NAME, server.url, 600.0)
    assert len(found.issues) == 20 and not found.complete
    assert len(server.seen) == github.MAX_PAGES


def test_it_is_not_asked_more_often_than_it_helps(where: Roots, server: GitHub) -> None:
    pull(where, NAME, server.url, 600.0)
    pull(where, NAME, server.url, 600.0)
    assert len(server.seen) == 1
    pull(where, NAME, server.url, 0.0)
    assert len(server.seen) == 2


def test_an_unchanged_list_costs_no_page(where: Roots, server: GitHub) -> None:
    first = pull(where, NAME, server.url, 0.0)
    again = pull(where, NAME, server.url, 0.0)
    assert server.seen[1][1]["if-none-match"] == first.etag != ""
    assert again.issues == first.issues and again.fetched > first.fetched
    server.issues = []
    assert pull(where, NAME, server.url, 0.0).issues == ()


FAULTS = {
    "primary limit": ("rate limit", 1700, 1900),
    "secondary limit": ("rate limit", 110, 130),
    "not json": ("not JSON", 500, 700),
    "not a list": ("not a list", 500, 700),
    "moved elsewhere": ("another server", 3500, 3700),
    "next elsewhere": ("another server", 3500, 3700),
    "circle": ("circles", 3500, 3700),
    "hang up": ("not reached", 500, 700),
    500: ("answered 500", 500, 700),
    502: ("answered 502", 500, 700),
    404: ("no such repository", 3500, 3700),
    403: ("no access", 3500, 3700),
    410: ("switched off", 86000, 87000),
    401: ("does not accept the token", 3500, 3700),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_keeps_what_is_known_and_waits(where: Roots, server: GitHub, fault: str | int) -> None:
    before = pull(where, NAME, server.url, 0.0)
    server.issues = [issue(number, f"New {number}") for number in range(1, 5)]
    with GitHub() as thief:
        server.fault, server.elsewhere = fault, thief.url
        found = pull(where, NAME, server.url, 0.0)
        assert thief.seen == [], "the token goes nowhere else"
    words, least, most = FAULTS[fault]
    assert words in found.problem and TOKEN not in found.problem
    assert found.issues == before.issues and found.fetched == before.fetched
    assert least < found.retry_at - clock.now() < most
    asked = len(server.seen)
    assert pull(where, NAME, server.url, 600.0).problem == found.problem
    assert len(server.seen) == asked, "nobody asks while it waits"


def test_a_failure_on_a_later_page_keeps_the_old_list_whole(where: Roots, server: GitHub) -> None:
    before = pull(where, NAME, server.url, 0.0)
    server.issues = [issue(number, f"New {number}") for number in range(1, 250)]
    server.fault, server.fault_page = 500, 2
    assert pull(where, NAME, server.url, 0.0).issues == before.issues


def test_a_rate_limit_holds_for_a_person_too(where: Roots, server: GitHub) -> None:
    server.fault = "primary limit"
    pull(where, NAME, server.url, 0.0)
    pull(where, NAME, server.url, 0.0)
    assert len(server.seen) == 1


def test_failures_in_a_row_wait_longer(where: Roots, server: GitHub) -> None:
    server.fault = 500
    waits = [pull(where, NAME, server.url, 0.0).retry_at - clock.now() for _ in range(6)]
    assert [round(wait / 600) for wait in waits] == [1, 2, 4, 8, 12, 12]
    server.fault = ""
    assert pull(where, NAME, server.url, 0.0).failures == 0


def test_a_moved_repository_is_followed_on_the_same_server(where: Roots, server: GitHub) -> None:
    server.fault = "moved"
    assert [one.number for one in pull(where, NAME, server.url, 0.0).issues] == [12]


def test_rows_that_are_no_issues_are_passed_over(where: Roots, server: GitHub) -> None:
    server.fault = "odd rows"
    assert [one.number for one in pull(where, NAME, server.url, 0.0).issues] == [9]


def test_offline(where: Roots) -> None:
    found = pull(where, NAME, "http://127.0.0.1:9", 600.0)
    assert "not reached" in found.problem and found.issues == ()


@pytest.mark.parametrize("url", ["http://example.com", "ftp://x", "https://a@b", "https://", "nonsense"])
def test_an_address_that_would_show_the_token_is_refused(where: Roots, url: str) -> None:
    assert "must be https" in pull(where, NAME, url, 600.0).problem


def test_a_token_that_others_can_read_is_not_used(where: Roots, server: GitHub) -> None:
    path = Path(where.config) / "keys/github"
    path.chmod(0o644)
    assert "0644" in pull(where, NAME, server.url, 600.0).problem
    path.unlink()
    assert "neither gh nor a token" in pull(where, NAME, server.url, 0.0).problem
    assert server.seen == []


def test_titles_come_as_one_printable_line(where: Roots, server: GitHub) -> None:
    server.issues = [issue(1, "a\nb\x1b[31m\u202ec" + "x" * 999), issue(2, " "), issue(3, "é猫")]
    found = {one.number: one.title for one in pull(where, NAME, server.url, 0.0).issues}
    assert set(found) == {1, 3} and found[3] == "é猫"
    assert found[1].startswith("a b[31mc") and len(found[1]) == mirror.MAX_TITLE


def test_one_process_at_a_time(where: Roots, server: GitHub) -> None:
    with Lock(mirror.path_of(where, NAME) + ".lock", 1.0), pytest.raises(LockTimeout):
        pull(where, NAME, server.url, 600.0)
    assert server.seen == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format": 1}', b'{"format": 99}', b"\xff" * 9])
def test_a_damaged_mirror_is_an_empty_one(where: Roots, server: GitHub, damage: bytes) -> None:
    pull(where, NAME, server.url, 0.0)
    Path(mirror.path_of(where, NAME)).write_bytes(damage)
    assert mirror.load(where, NAME) == mirror.Mirror(NAME)
    assert [one.number for one in pull(where, NAME, server.url, 600.0).issues] == [12]


# gh


def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A stand-in for the `gh` program: the network's outside end."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "gh"
    program.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/asked"; pwd >> "{tmp_path}/asked"\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{folder}:/usr/bin:/bin")
    return tmp_path / "asked"


def test_gh_is_asked_first(where: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = '[{"number":12,"title":"Fix","labels":[{"name":"bug"}],"assignees":[{"login":"a"}]}]'
    asked = gh(tmp_path, monkeypatch, f"echo '{rows}'")
    found = pull(where, NAME, "https://api.github.com", 600.0)
    assert found.issues == (mirror.Issue(12, "Fix", ("bug",), ("a",)),) and found.source == "gh"
    arguments, folder = asked.read_text().splitlines()
    assert arguments.startswith(f"issue list --repo {NAME} --state open") and folder == where.home


GH_FAULTS = {
    "echo 'To get started with GitHub CLI, please run:  gh auth login' >&2; exit 4": "neither|not logged in",
    "echo 'GraphQL: API rate limit exceeded' >&2; exit 1": "rate limit",
    "echo 'GraphQL: Could not resolve to a Repository' >&2; exit 1": "no such repository",
    "echo 'the repository has disabled issues' >&2; exit 1": "switched off",
    "echo boom >&2; exit 3": r"gh failed \(3\)",
    "echo '<html>'": "not JSON",
    "echo '{}'": "not a list",
}


@pytest.mark.parametrize("script", GH_FAULTS)
def test_gh_fails(where: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    import re

    gh(tmp_path, monkeypatch, script)
    (Path(where.config) / "keys/github").unlink()
    found = pull(where, NAME, "https://api.github.com", 600.0)
    assert re.search(GH_FAULTS[script], found.problem) and found.retry_at > time.time()


def test_gh_without_a_log_in_leaves_it_to_the_token(
    where: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: GitHub
) -> None:
    from ways.issues import repository

    gh(tmp_path, monkeypatch, "echo 'gh auth login' >&2; exit 4")
    monkeypatch.setattr(repository, "DEFAULT_API", server.url)
    found = pull(where, NAME, server.url, 600.0)
    assert found.source == "rest" and len(found.issues) == 1


def test_with_another_address_gh_is_not_asked(
    where: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: GitHub
) -> None:
    asked = gh(tmp_path, monkeypatch, "echo '[]'")
    assert pull(where, NAME, server.url, 600.0).source == "rest"
    assert not asked.exists()
